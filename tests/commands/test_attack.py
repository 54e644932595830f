"""`dpassay attack`: options from signatures, exit codes, files, and one clear line for whatever cannot be used."""

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
import pytest

from dpassay.commands import attack as attack_commands
from dpassay.commands.attack import MODULES, _Module, _option, _read, _settings, _Source, attack
from dpassay.commands.main import main
from dpassay.report.attack_text import ATTACKS
from dpassay.report.schema import validate_attack

MODULE = '''
import math
import time
from collections.abc import Callable
from typing import Literal, get_args

import jax  # as a real attack does: help must not pay for it

from dpassay.attacks.outcomes import AttackReport, Metric, Privacy, ThreatModel
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings

Choice = Literal["popular", "rare"]
Method = Literal["plain", "noisy"]
METHODS: tuple[Method, ...] = get_args(Method)
WORKERS = {"plain": Metric, "noisy": Privacy}
METRICS = ("advantage", "unseen")
FAKES = 4 * 10
seen = {}

def _ignore(text):
    pass

def run(
    ratings: Ratings,
    *,
    method: Method = "plain",
    seed: int = 0,
    progress: Callable[[str], None] = _ignore,
    num_fakes: int = FAKES,
    share: float = 0.5,
    choice: Choice = "popular",
    level: Literal[1, 2] | None = None,
    limit: float | None = None,
    shuffled: bool = True,
    note: str = "",
) -> AttackReport:
    """Attacks nobody.

    Args:
        ratings: anything.
        method: plain, or noisy.
        seed: of nothing.
        progress: told.
        num_fakes: accounts, which
            may be many.
        share: of the items.
        choice: which items.
        level: how deep;
            none if None.
        limit: at most, nats.
        shuffled: whether the order is random.
        note: "interrupt" or "fail".

    Raises:
        InvalidInput: never.
    """
    if note == "interrupt":
        raise KeyboardInterrupt
    if note == "fail":
        raise InvalidInput("num_fakes is 0; make at least one")
    seen.update(locals())
    progress("working")
    return AttackReport(
        attack="presence",
        title="Is a user there?",
        mechanism="kdpp/paper",
        parameters={},
        threat_model=ThreatModel("all", "nothing", "one set"),
        summary=[f"{num_fakes} accounts were made."],
        settings={"method": method, "num_fakes": num_fakes},
        metrics=[
            Metric("advantage", 0.25, "Better than guessing.", 0.2, 0.3, 100),
            Metric("unseen", math.nan, "Nothing to see."),
        ],
        dataset=ratings,
        seed=seed,
        seconds=0.5,
    )
'''
OTHER = MODULE.replace('Literal["plain", "noisy"]', 'Literal["item"]').replace('= "plain",', '= "item",')
OTHER = (
    OTHER.replace("how deep;", "how far;")
    .replace("4 * 10", "7")
    .replace('    note: str = "",\n', "    deep: bool = False,\n")
)
OTHER = OTHER.replace('        note: "interrupt" or "fail".', "        deep: further.").replace(
    'if note == "', 'if "" == "'
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two modules that attack, both behind `presence`."""
    (tmp_path / "fake_attack.py").write_text(MODULE)
    (tmp_path / "fake_attack_items.py").write_text(OTHER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(attack_commands, "MODULES", {"presence": ("fake_attack", "fake_attack_items")})
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


def test_settings_reach_the_attack_as_their_types_and_others_stay_its_own(capsys, folder):
    values = ("--share", 0.25, "--choice", "rare", "--level", 2, "--limit", 1, "--no-shuffled", "--note", "x")
    assert run(capsys, "presence", "--method", "noisy", *values)[0] == 0
    seen = importlib.import_module("fake_attack").seen
    assert [seen[name] for name in ("method", "num_fakes", "share", "choice")] == ["noisy", 40, 0.25, "rare"]
    assert [seen[name] for name in ("level", "limit", "shuffled", "note")] == [2, 1.0, False, "x"]
    assert type(seen["level"]) is int
    run(capsys, "presence")
    assert [seen[name] for name in ("level", "limit", "shuffled", "choice")] == [None, None, True, "popular"]


def test_the_method_chooses_the_module_its_defaults_and_its_settings(capsys, folder):
    assert run(capsys, "presence", "--method", "item", "--deep", "--json", "out.json")[0] == 0
    seen = importlib.import_module("fake_attack_items").seen
    assert (seen["method"], seen["num_fakes"], seen["deep"]) == ("item", 7, True)
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


def test_the_source_is_read_without_running_it(folder):
    found = _read("fake_attack")
    assert found.methods == ("plain", "noisy")
    assert found.metrics == ("advantage", "unseen")
    assert set(_Source("fake_attack")["WORKERS"]) == {"plain", "noisy"}
    assert "fake_attack" not in sys.modules
    real = inspect.signature(importlib.import_module("fake_attack").run).parameters
    assert found.settings == {name: one for name, one in real.items() if name not in attack_commands.COMMON}
    assert len(found.settings) == 7


def test_what_must_be_computed_is_read_from_the_module_itself(folder):
    (folder / "fake_attack_items.py").write_text(
        MODULE.replace("get_args(Method)", "tuple(one for one in _all())").replace(
            "FAKES =", 'def _all():\n    return ["plain"]\n\nFAKES ='
        ).replace("METHODS: tuple[Method, ...] = tuple(one for one in _all())\n", "")
        + "\nMETHODS = tuple(one for one in _all())\n"
    )  # fmt: skip
    assert _read("fake_attack_items").methods == ("plain",)


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


def test_settings_without_an_argument_of_ones_own_are_no_options():
    def bare(ratings: Any, *, method: str = "a", seed: int = 0, progress: Any = None) -> None:
        """Nothing.

        Args:
            method: the one.
        """

    assert _settings([_Module("x", bare, ("a",), ())]) == []


def test_help_lists_every_attack_and_needs_no_jax():
    code = (
        "import sys; from dpassay.commands.main import main; main(['--help']); main(['attack', '--help']); "
        "assert not {'jax', 'scipy'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "\n  attack " in done.stdout
    assert all(name in done.stdout for name in MODULES)
    assert MODULES.keys() == ATTACKS.keys()
    assert isinstance(attack, click.Group)


@pytest.mark.parametrize("name", MODULES)
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


@pytest.mark.parametrize("module", [module for modules in MODULES.values() for module in modules])
def test_what_is_read_of_an_attack_is_what_its_module_has(module):
    found, real = _read(module), importlib.import_module(module)
    assert found.methods == tuple(real.METHODS)
    assert found.metrics == real.METRICS
    parameters = inspect.signature(real.run).parameters
    assert found.settings == {key: one for key, one in parameters.items() if key not in attack_commands.COMMON}
    assert found.run.__doc__ == real.run.__doc__
    assert {"method", "seed", "progress"} <= parameters.keys()
    assert set(found.settings) <= set(found.explained), "an argument without a line in Args"


@pytest.mark.parametrize("name", MODULES)
def test_a_misspelled_metric_is_refused_before_the_run_with_those_there_are(capsys, name):
    for module in MODULES[name]:
        found = _read(module)
        said = refused(capsys, name, "--method", found.methods[0], "--fail-above", "advantag=0.1", "--data", "absent")
        assert f"no metric is called 'advantag'; choose from {', '.join(found.metrics)}" in said


def test_a_metric_that_this_attack_cannot_measure_does_not_pass(capsys):
    small = ("beta-knn", "--method", "item_knn", "--targets", 2, "--num-known", 4)
    code, out, _ = run(capsys, *small, "--fail-above", "exact-value=0.9")  # lists of similar items show no ratings
    assert code == 1
    assert "exact-value could not be measured, which does not pass the limit 0.900" in " ".join(out.split())


def test_no_attack_has_the_methods_of_another_module():
    for modules in MODULES.values():
        methods = [method for module in modules for method in _read(module).methods]
        assert len(set(methods)) == len(methods)
