"""`dpassay attack`: options from settings, exit codes, files, and one clear line for whatever cannot be used."""

import importlib
import inspect
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import click
import numpy as np
import pytest

from dpassay.attacks.settings import AttackSettings, setting
from dpassay.commands import attack as attack_commands
from dpassay.commands.attack import SETTINGS, _option, _options, attack, kinds_of
from dpassay.commands.main import main
from dpassay.core.errors import InvalidInput
from dpassay.report.attack_text import ATTACKS
from dpassay.report.schema import validate_attack

WORK = """
import math
import time

import jax  # as a real attack does: help must not pay for it

from dpassay.attacks.attack_report import AttackReport, ThreatModel
from dpassay.attacks.metrics import Metric
from dpassay.core.errors import InvalidInput

seen = {}

def run(ratings, *, progress, **settings):
    if settings.get("note") == "interrupt":
        raise KeyboardInterrupt
    if settings.get("note") == "fail":
        raise InvalidInput("num_fakes is 0; make at least one")
    seen.update(settings)
    progress("working")
    return AttackReport(
        attack="presence",
        title="Is a user there?",
        mechanism="kdpp/paper",
        parameters={},
        threat_model=ThreatModel("all", "nothing", "one set"),
        summary=["Accounts were made."],
        settings=settings,
        metrics=[
            Metric("advantage", 0.25, "Better than guessing.", 0.2, 0.3, 100),
            Metric("unseen", math.nan, "Nothing to see."),
        ],
        dataset=ratings,
        seed=settings["seed"],
        seconds=0.5,
    )
"""


@dataclass(frozen=True, kw_only=True)
class Plain(AttackSettings):
    report: ClassVar = "fake_attack"
    metrics: ClassVar = {"advantage": "Better than guessing.", "unseen": "Nothing to see."}

    method: Literal["plain", "noisy"] = setting("plain", "Plain, or noisy.")
    num_fakes: int = setting(40, "Accounts, which may be many.")
    share: float = setting(0.5, "Of the items.")
    choice: Literal["popular", "rare"] = setting("popular", "Which items.")
    level: Literal[1, 2] | None = setting(None, "How deep; none if None.")
    limit: float | None = setting(None, "At most, nats.")
    shuffled: bool = setting(True, "Whether the order is random.")
    note: str = setting("", '"interrupt" or "fail".')


@dataclass(frozen=True, kw_only=True)
class Item(AttackSettings):
    report: ClassVar = "fake_attack_items"
    metrics: ClassVar = {"advantage": "Better than guessing.", "unseen": "Nothing to see."}

    method: Literal["item"] = setting("item", "Plain, or noisy.")
    num_fakes: int = setting(7, "Accounts, which may be many.")
    share: float = setting(0.5, "Of the items.")
    level: Literal[1, 2] | None = setting(None, "How far; none if None.")
    deep: bool = setting(False, "Further.")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two kinds of settings and the modules that attack, both behind `presence`."""
    for kind in (Plain, Item):
        (tmp_path / f"{kind.report}.py").write_text(WORK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(attack_commands, "kinds_of", lambda _: (Plain, Item))
    yield tmp_path
    for name in ("fake_attack", "fake_attack_items"):
        sys.modules.pop(name, None)


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    code = main(["attack", *(str(argument) for argument in arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys: Any, *arguments: Any) -> str:
    code, out, err = run(capsys, *arguments)
    assert code == 2, out
    lines = [line for line in err.splitlines() if line.startswith("dpassay: ")]
    assert len(lines) == 1, err
    assert "Traceback" not in err
    assert "error of its own" not in err
    return lines[0]


def test_every_file_has_the_numbers_of_the_run(capsys, folder):
    files = [part for kind in ("json", "sarif", "html") for part in (f"--{kind}", f"out.{kind}")]
    arguments = ("presence", "--num-fakes", 9, "--seed", 3, "--fail-above", "advantage=0.2", *files)
    code, out, err = run(capsys, *arguments)
    assert code == 1, err
    content = json.loads(Path("out.json").read_text())
    assert validate_attack(content) == content
    assert (content["seed"], content["settings"]["num_fakes"]) == (3, 9)
    assert content["command"] == " ".join(["dpassay", "attack", *map(str, arguments)])
    assert content["seconds"] > 0
    assert content["checks"] == [{"metric": "advantage", "limit": 0.2, "value": 0.25, "exceeded": True}]
    (result,) = json.loads(Path("out.sarif").read_text())["runs"][0]["results"]
    assert result["properties"]["metric"] == content["metrics"][0]
    assert "0.250" in Path("out.html").read_text()
    said = " ".join(out.split())
    for text in ("EXCEEDED advantage is 0.250", "Synthetic ratings", "in out.json", "in out.sarif", "in out.html"):
        assert text in said


def test_kept_limits_exit_0_and_equal_seeds_give_equal_files(capsys, folder):
    pages = []
    for _ in range(2):
        code, out, _ = run(capsys, "presence", "--fail-above", "advantage=0.25", "--json", "out.json")
        assert code == 0
        assert "KEPT" in out
        pages.append({**json.loads(Path("out.json").read_text()), "seconds": 0})
    assert pages[0] == pages[1]
    assert run(capsys, "presence")[0] == 0


def test_a_limit_that_cannot_be_measured_is_not_kept(capsys, folder):
    code, out, _ = run(capsys, "presence", "--fail-above", "unseen=1", "--json", "out.json")
    assert code == 1
    assert "unseen could not be measured, which does not pass the limit 1" in out
    assert json.loads(Path("out.json").read_text())["checks"][0]["value"] == "nan"


def test_given_ratings_are_attacked_and_not_called_synthetic(capsys, folder):
    np.save("ratings.npy", np.array([[5.0, 3], [4, np.nan]]))
    code, out, _ = run(capsys, "presence", "--data", "ratings.npy", "--json", "out.json")
    assert code == 0
    assert json.loads(Path("out.json").read_text())["dataset"]["ratings"] == 3
    assert "Synthetic" not in out


def test_options_say_how_ratings_are_read(capsys, folder):
    Path("ratings.csv").write_text("user,item,rating\n1,1,0.5\n1,1,4.5\n2,1,3\n")
    options = ("--scale", "0.5:5", "--duplicates", "last", "--json", "out.json")
    code, _, err = run(capsys, "presence", "--data", "ratings.csv", *options)
    assert code == 0, err
    assert "ratings.csv: 1 ratings repeat a pair: kept is the last" in err
    assert json.loads(Path("out.json").read_text())["dataset"]["ratings"] == 2
    for given, message in (
        (("--data", "ratings.csv"), "outside the scale 1 to 5"),
        (("--data", "ratings.csv", "--scale", "0.5:5"), "keep one rating per pair"),
        (("--scale", "0.5:5"), "say how --data is read"),
        (("--data", "ratings.csv", "--format", "table"), "--format"),
    ):
        assert message in refused(capsys, "presence", *given)


def test_settings_reach_the_attack_as_their_types_and_others_stay_its_own(capsys, folder):
    values = ("--share", 0.25, "--choice", "rare", "--level", 2, "--limit", 1, "--no-shuffled", "--note", "x")
    assert run(capsys, "presence", "--method", "noisy", *values)[0] == 0
    seen = importlib.import_module("fake_attack").seen
    assert [seen[name] for name in ("method", "share", "choice")] == ["noisy", 0.25, "rare"]
    assert [seen[name] for name in ("level", "limit", "shuffled", "note")] == [2, 1.0, False, "x"]
    assert type(seen["level"]) is int
    seen.clear()
    run(capsys, "presence")
    assert seen == {"method": "plain", "seed": 0}


def test_the_method_chooses_the_module_its_defaults_and_its_settings(capsys, folder):
    assert run(capsys, "presence", "--method", "item", "--deep", "--json", "out.json")[0] == 0
    seen = importlib.import_module("fake_attack_items").seen
    assert seen == {"method": "item", "deep": True, "seed": 0}
    assert importlib.import_module("fake_attack").seen == {}
    assert "--deep is not for --method plain" in refused(capsys, "presence", "--deep")
    assert "--note is not for --method item" in refused(capsys, "presence", "--method", "item", "--note", "x")
    _, out, _ = run(capsys, "presence", "--help")
    said = " ".join(out.split())
    assert "--method [plain|noisy|item]" in said
    assert "Accounts, which may be many. With method item: The default is 7. [default: 40]" in said
    assert "Further. Not with methods plain to noisy." in said
    assert "Of the items. [default: 0.5]" in said
    assert "How deep; none if None. With method item: How far; none if None." in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fail-above", "advantag=0.1"), "no metric is called 'advantag'; choose from advantage, unseen"),
        (("--fail-above", "advantage"), "write METRIC=VALUE"),
        (("--fail-above", "advantage=much"), "write METRIC=VALUE"),
        (("--fail-above", "advantage=nan"), "write METRIC=VALUE"),
        (("--fail-above", "=1"), "write METRIC=VALUE"),
        (("--fail-above", "advantage=1", "--fail-above", "advantage=2"), "given twice"),
        (("--method", "magic"), "'magic' is not one of"),
        (("--num-fakes", "many"), "--num-fakes"),
        (("--choice", "all"), "--choice"),
        (("--level", 3), "--level"),
        (("--nonsense",), "--nonsense"),
        (("--data", "absent.csv"), "absent.csv"),
        (("--json", "no/such/folder.json"), "no folder"),
        (("--html", "."), "it is a folder"),
    ],
)
def test_bad_arguments_are_refused_in_one_line_before_the_work(capsys, folder, arguments, message):
    assert message in refused(capsys, "presence", *arguments)
    assert "fake_attack" not in sys.modules


def test_an_attack_refuses_and_an_interruption_exits_3(capsys, folder):
    assert "num_fakes is 0; make at least one" in refused(capsys, "presence", "--note", "fail")
    code, _, err = run(capsys, "presence", "--note", "interrupt", "--json", "out.json")
    assert code == 3
    assert "interrupted; nothing was written" in err
    assert not Path("out.json").exists()


def test_unknown_attacks_are_refused(capsys, folder):
    assert "magic" in refused(capsys, "magic")


@pytest.mark.parametrize(
    ("annotation", "default", "given", "expected"),
    [
        (int, 1, "3", 3),
        (float, 1.0, "3", 3.0),
        (str, "a", "b", "b"),
        (float | None, None, "inf", float("inf")),
        (None | int, 4, "-2", -2),
        (Literal["a", "b"], "a", "b", "b"),
        (Literal[2, 4] | None, None, "4", 4),
        (int | float, 1.0, "0.5", 0.5),
    ],
)
def test_an_option_has_the_type_of_its_annotation(annotation, default, given, expected):
    option = _option("num_things", [annotation], default, "How many.")
    assert option.opts == ["--num-things"]
    command = click.Command("x", params=[option], callback=lambda **values: values)
    value = command.main(["--num-things", given], standalone_mode=False)["num_things"]
    assert (value, type(value)) == (expected, type(expected))
    assert command.main([], standalone_mode=False)["num_things"] == default
    assert ("default" in command.get_help(click.Context(command))) == (default is not None)


def test_a_flag_can_be_turned_off_and_choices_are_joined():
    flag = _option("with_ties", [bool], True, "")
    assert (flag.opts, flag.secondary_opts) == (["--with-ties"], ["--no-with-ties"])
    both = _option("ties", [Literal["a", "b"], Literal["b", "c"] | None], "a", "")
    assert isinstance(both.type, click.Choice)
    assert list(both.type.choices) == ["a", "b", "c"]
    with pytest.raises(TypeError, match="setting sizes is annotated"):
        _option("sizes", [list[int]], None, "")


def test_method_and_seed_are_no_options_of_their_own():
    @dataclass(frozen=True, kw_only=True)
    class Bare(AttackSettings):
        method: Literal["a"] = setting("a", "The one.")

    assert _options([Bare]) == []


def test_help_lists_every_attack_and_needs_no_jax():
    code = (
        "import sys; from dpassay.commands.main import main; main(['--help']); main(['attack', '--help']); "
        "assert not {'jax', 'scipy'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "\n  attack " in done.stdout
    assert all(name in done.stdout for name in SETTINGS)
    assert SETTINGS.keys() == ATTACKS.keys()
    assert isinstance(attack, click.Group)


@pytest.mark.parametrize("name", SETTINGS)
def test_help_of_an_attack_explains_every_option_and_needs_no_jax(name):
    code = (
        f"import sys; from dpassay.commands.main import main; assert main(['attack', {name!r}, '--help']) == 0; "
        "assert not {'jax', 'scipy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    command = attack.get_command(click.Context(attack), name)
    assert command is not None
    for option in command.params:
        assert isinstance(option, click.Option)
        assert len(option.help or "") > 3, option.name


@pytest.mark.parametrize("kind", [kind for name in SETTINGS for kind in kinds_of(name)])
def test_settings_name_the_module_that_takes_them(kind):
    parameters = inspect.signature(importlib.import_module(kind.report).run).parameters
    assert list(parameters) == ["ratings", "progress", "settings"]
    assert parameters["settings"].kind is inspect.Parameter.VAR_KEYWORD
    with pytest.raises(InvalidInput, match="method is 'magic'; use one of"):
        kind(method="magic")


@pytest.mark.parametrize("name", SETTINGS)
def test_a_misspelled_metric_is_refused_before_the_run_with_those_there_are(capsys, name):
    for kind in kinds_of(name):
        said = refused(capsys, name, "--method", kind.methods()[0], "--fail-above", "advantag=0.1", "--data", "absent")
        assert f"no metric is called 'advantag'; choose from {', '.join(kind.metrics)}" in said


def test_a_metric_that_this_attack_cannot_measure_does_not_pass(capsys):
    small = ("beta-knn", "--method", "item_knn", "--targets", 2, "--num-known", 4)
    code, out, _ = run(capsys, *small, "--fail-above", "exact-value=0.9")  # lists of similar items show no ratings
    assert code == 1
    assert "exact-value could not be measured, which does not pass the limit 0.900" in " ".join(out.split())


def test_no_method_is_of_two_kinds():
    for name in SETTINGS:
        methods = [method for kind in kinds_of(name) for method in kind.methods()]
        assert len(set(methods)) == len(methods)
