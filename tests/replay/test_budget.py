"""Files of strangers: each gets its answer within its limits, and the next one is checked."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpassay.commands.main import main
from dpassay.commands.output import LINE
from dpassay.core.certificate import FIELDS, FORMAT, VERSION, Certificate, checksum, read
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import find_claim
from dpassay.proofs.rating_collection.accuracy import union_proof
from dpassay.replay import replay, seal
from dpassay.replay.budget import BudgetedReplay, Limits
from dpassay.replay.worker import Ended, Worker

CLAIM = "PP-L2"  # any registered claim that is not about one mechanism


def written(folder: Path, name: str, kind: str, inputs: Any) -> Path:
    claim = find_claim(CLAIM)
    assert claim is not None
    path = folder / name
    path.write_text(json.dumps(Certificate(CLAIM, claim.statement, kind, inputs, {}).to_json()))
    return path


def instance(formula: Any, **values: Any) -> dict[str, Any]:
    return {"values": values, "formulas": [formula]}


def good(folder: Path) -> Path:
    claim = find_claim("RC-UNION")
    assert claim is not None
    path = folder / "good.json"
    seal(claim.id, claim.statement, "proof", union_proof()["inputs"]).write(path)
    return path


def nested(depth: int) -> Any:
    formula: Any = ["<", 0, 1]
    for _ in range(depth):
        formula = ["not", formula]
    return formula


def one_step(**step: Any) -> dict[str, Any]:
    return {"argument": "", "steps": [{"name": "a", **step}]}


REFUSED: dict[str, tuple[str, Any, str]] = {
    "power": ("formula", instance(["<", 1, ["^", 2, 10000000000]]), "beyond 1000"),
    "trials": (
        "statistics",
        {
            "successes": 3 * 10**17,
            "trials": 10**18,
            "failure_probability": "1/100",
            "condition": ["<", "lower", 1],
        },
        "not among the evidence",
    ),
    "depth": ("formula", instance(nested(120)), "at most 100 deep"),
    "escape": ("formula", instance(["<", "x\x1b[31mred", 1]), "x1b[31mred"),
    "long": ("formula", instance(["<", ["+", *range(5000)], 1]), "not among the evidence"),
    "arity": ("formula", instance(["=", ["/", 8, 2, 2], 4]), "operands"),
    "kind": ("\x1b]0;title\x07\n", {}, "not among the evidence"),
    "shape": ("proof", one_step(engine="smt"), "lacks"),
}


def plain(text: str) -> Callable[[Path], Any]:
    return lambda path: path.write_text(text)


UNUSABLE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "list": (plain("[1]"), "not a dpassay certificate"),
    "text": (plain('"text"'), "not a dpassay certificate"),
    "nan": (plain('{"a": NaN}'), "number NaN"),
    "infinite": (plain('{"a": -Infinity}'), "number -Infinity"),
    "beyond": (plain('{"a": 1e999}'), "number 1e999"),
    "digits": (plain(f'{{"a": {"9" * 5000}}}'), "5000 digits"),
    "twice": (plain('{"format": 1, "format": 2}'), "'format' twice"),
    "deep": (plain("[" * 100_000 + "]" * 100_000), "deeper than"),
    "rather deep": (plain("[" * 300 + "]" * 300), "deeper than"),
    "no utf-8": (lambda path: path.write_bytes(b"\xff\xfe{}"), "not JSON"),
    "empty": (plain(""), "not JSON"),
    "large": (lambda path: path.write_bytes(b" " * (2**24 + 1)), "larger than 16 megabytes"),
    "folder": (Path.mkdir, "not an ordinary file"),
    "pipe": (os.mkfifo, "not an ordinary file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "not an ordinary file"),
    "inputs": (plain(json.dumps({**dict.fromkeys(FIELDS, ""), "format": FORMAT, "version": VERSION})), "must be"),
    "absent": (lambda path: None, "cannot read"),
    "na\x1b[2Jme\n": (plain("{}"), "na\\x1b[2Jme\\n"),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_every_file_gets_one_short_line(tmp_path: Path, capsys: Any) -> None:
    paths = [written(tmp_path, f"{name}.json", kind, inputs) for name, (kind, inputs, _) in REFUSED.items()]
    for name, (make, _) in UNUSABLE.items():
        make(tmp_path / name)
        paths.append(tmp_path / name)
    paths.append(good(tmp_path))
    assert main(["replay", *map(str, paths)]) == 1
    shown = capsys.readouterr()
    refused, unusable = shown.out.splitlines(), shown.err.splitlines()
    assert len(refused) == len(REFUSED) + 2
    assert len(unusable) == len(UNUSABLE)
    told = [said for _, _, said in REFUSED.values()]
    for line, said in zip(
        [*refused, *unusable], [*told, "neither fails", "1 of", *(s for _, s in UNUSABLE.values())], strict=True
    ):
        assert said in line
        assert line.isprintable()
        assert len(line) <= LINE
    assert refused[-2].startswith("checks")
    assert refused[-1] == f"1 of {len(paths)} certificates check"


def test_exit_codes(tmp_path: Path, capsys: Any) -> None:
    right, wrong, none = good(tmp_path), written(tmp_path, "wrong.json", "formula", {}), tmp_path / "absent"
    for paths, code in (([right], 0), ([right, none], 2), ([wrong, none, right], 1), ([none], 2)):
        assert main(["replay", *map(str, paths)]) == code
    assert "absent" in capsys.readouterr().err
    assert main(["replay", "--time-limit", "0", str(right)]) == 2


@pytest.fixture(scope="module")
def limited() -> Iterator[BudgetedReplay]:
    with BudgetedReplay(Limits(seconds=60)) as recheck:
        yield recheck


def test_time_is_limited(tmp_path: Path, limited: BudgetedReplay) -> None:
    with BudgetedReplay(Limits(seconds=0.01)) as hurried, pytest.raises(InvalidInput, match=r"more than 0\.01 seconds"):
        hurried(good(tmp_path))
    assert limited(good(tmp_path)).checks


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited on Linux")
def test_memory_is_limited(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_text("[" + "[]," * 5_000_000 + "[]]")
    with BudgetedReplay(Limits(megabytes=256)) as limited:
        with pytest.raises(InvalidInput, match="more than 256 megabytes"):
            limited(large)
        assert limited(good(tmp_path)).checks


def test_the_same_answers_as_without_limits(tmp_path: Path, limited: BudgetedReplay) -> None:
    for path in (good(tmp_path), written(tmp_path, "wrong.json", "formula", {})):
        assert limited(path) == replay(path)


def test_a_process_that_ends_is_replaced() -> None:
    doubled = "from dpassay.replay.worker import serve; serve(lambda number: print('noise') or {})"
    worker = Worker(doubled.format("2 * number if number else __import__('os')._exit(1)"), own_group=True)
    assert worker.ask(3, 60) == 6
    with pytest.raises(Ended) as died:
        worker.ask(0, 60)
    assert not died.value.timed_out
    assert worker.ask(4, 60) == 8
    worker.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the process table")
def test_a_stopped_process_takes_its_own_with_it() -> None:
    start = "__import__('subprocess').Popen(['sleep', '600']).pid"
    worker = Worker(f"from dpassay.replay.worker import serve; serve(lambda _: {start})", own_group=True)
    child = worker.ask(None, 60)
    worker.stop()
    stat = Path(f"/proc/{child}/stat")
    deadline = time.monotonic() + 60
    while stat.exists() and stat.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_a_certificate_may_be(tmp_path: Path) -> None:
    """Limits of `read` that no certificate comes near; one beside each limit is read."""
    path = good(tmp_path)
    content = json.loads(path.read_text())
    content["inputs"]["note"] = [int("9" * 1000), 1.5, [[]]]
    path.write_text(json.dumps({**content, "sha256": checksum(content)}))
    assert read(path).inputs["note"] == [int("9" * 1000), 1.5, [[]]]
