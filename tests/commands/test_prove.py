"""`dpassay prove`: exit codes, files, and one clear line for what cannot be used."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import z3

from dpassay.commands import output
from dpassay.commands.main import main
from dpassay.prover import proving
from dpassay.replay.proof import asked
from dpassay.report.progress import Progress

MODULE = """
def total(rng, data, epsilon):
    return sum(data) + rng.laplace(0, 1 / epsilon)

def total_again(rng, data, epsilon):
    return sum(data) + rng.laplace(0, 1 / epsilon)

def half_the_noise(rng, data, epsilon):
    return sum(data) + rng.laplace(0, 0.5 / epsilon)

def in_order(rng, data, epsilon):
    return sorted((x + rng.laplace(0, 1 / epsilon) for x in data), key=abs)

made = lambda rng, data, epsilon: 1
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "proved_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(proving, "FIRST_LOOK", 0.2)
    monkeypatch.setattr(proving, "SECOND_LOOK", 0.4)


@pytest.mark.parametrize(("name", "code"), [("total", 0), ("half_the_noise", 1), ("in_order", 2)])
def test_exit_codes_and_files(name: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"{name}.{ending}" for ending in ("json", "html", "certificate")]
    outputs = [f"--{each.suffix[1:]}={each}" for each in files]
    arguments = [
        "prove",
        f"proved_module:{name}",
        "--relation",
        "one_query",
        f"--time-limit={10 if code < 2 else 1}",
        *outputs,
    ]
    assert main(arguments) == code
    assert [each.exists() for each in files] == [True, True, code != 2]
    assert ("no certificate" in capsys.readouterr().out) == (code == 2)


@pytest.mark.parametrize(
    ("names", "code"),
    [(("total", "total_again"), 0), (("total", "half_the_noise", "in_order"), 1), (("total", "in_order"), 2)],
)
def test_several_programs(
    names: tuple[str, ...], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / each for each in ("json", "html", "certificate")]
    outputs = [f"--{each.name}={each}" for each in folders]
    targets = [f"proved_module:{name}" for name in names]
    assert (
        main(["prove", *targets, "--relation", "one_query", f"--time-limit={10 if code == 0 else 2}", *outputs]) == code
    )
    heads = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines() if line.partition(":")[0] in names]
    assert heads == list(names)
    assert {each.name for each in folders[0].iterdir()} == {f"proved_module.{name}.json" for name in names}
    assert {each.name for each in folders[1].iterdir()} == {f"proved_module.{name}.html" for name in names}
    decided = [name for name in names if name != "in_order"]
    certificates = [folders[2] / f"proved_module.{name}.certificate.json" for name in decided]
    assert set(folders[2].iterdir()) == set(certificates)
    assert main(["replay", *map(str, certificates)]) == 0


def test_several_programs_by_other_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["proved_module:total", "proved_module:half_the_noise", "--relation", "one_query", "--time-limit=20"]
    assert main(["prove", *arguments, "--scheduler", "processes"]) == 1
    out = capsys.readouterr().out
    assert out.index("total: holds") < out.index("half_the_noise: refuted")


def test_one_of_several_that_cannot_be_used_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "proved_module:total", "proved_module:absent", "--relation", "one_query"]) == 2
    assert "absent" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Missing argument"),
        (["proved_module"], "write MODULE:NAME"),
        (["no_module_here:total"], "cannot import"),
        (["proved_module:nothing"], "check the spelling"),
        (["proved_module:made", "--relation", "one_query"], "is not a `def`"),
        (["proved_module:total"], "no relation is given"),
        (["proved_module:total", "--relation", "one_query", "--epsilon", "1", "--zcdp", "1"], "leave one out"),
        (["proved_module:total", "--relation", "one_query", "--bounds", "1"], "write LOW:HIGH"),
        (["proved_module:total", "--relation", "one_query", "--radius", "0"], "radius"),
        (["proved_module:total", "--relation", "one_query", "--epsilon", "1/0"], "has no value"),
        (["proved_module:total", "--relation", "one_query", "--json", "missing/a.json"], "cannot write"),
    ],
)
def test_what_cannot_be_used(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", *arguments]) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert len(said.strip().splitlines()) == 1


def _ctrl_c(seconds: float) -> None:
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_a_ctrl_c_is_heard_while_z3_works() -> None:
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    x, y, n = z3.Ints("x y n")
    solver.add(x**n + y**n == 33**n, n > 2, x > 0, y > 0)
    _ctrl_c(0.2)
    with pytest.raises(KeyboardInterrupt):
        asked(solver)


def test_a_ctrl_c_that_python_drops_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "REPEATED", 0.05)

    class Dropping:
        def __del__(self) -> None:
            _ctrl_c(0.05)
            with contextlib.suppress(KeyboardInterrupt):  # as Python does
                time.sleep(5)

    begin = time.monotonic()

    def work() -> None:
        with output.interruptible("nothing", insist=True):
            Dropping()
            time.sleep(5)

    with pytest.raises(output.Interrupted, match="nothing"):
        work()
    assert time.monotonic() - begin < 4
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    time.sleep(0.1)  # and not afterwards


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # where Python drops it, and it is repeated
@pytest.mark.parametrize("step", ["proof", "counterexample"])
def test_a_ctrl_c_ends_it_with_one_line(
    step: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def note(self: object, text: str) -> None:
        if step in text:
            _ctrl_c(0.1)

    monkeypatch.setattr(Progress, "note", note)
    assert main(["prove", "proved_module:in_order", "--relation", "one_query"]) == 3
    assert capsys.readouterr().err.strip().splitlines()[-1] == "dpassay: interrupted; nothing was written"
