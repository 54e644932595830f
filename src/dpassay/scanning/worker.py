"""The process of a scan that runs other people's code: `python -m dpassay.scanning.worker FOLDER`.

It imports the package and lists candidates. Then it judges those that it is told to, a line of its input each, in a
fork of itself each, with limits of time and memory. It writes what it finds to files in the folder as it goes, so
whatever the package does to this process (it exits, crashes, hangs), the process that started it
(`dpassay.scanning.package`) has all that was finished. All of it runs in an empty folder.
"""

import contextlib
import dataclasses
import importlib
import json
import math
import os
import queue
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import one_line
from dpassay.runs.own_process import Limits, NoResult, can_fork, in_own_process
from dpassay.scanning.candidates import READ, Candidate, NotJudged
from dpassay.scanning.judging import Found, judge_round
from dpassay.scanning.schedule import EXACT, LEAST, Turn

MEGABYTES = 4096.0
GRACE = 10.0  # seconds beyond its time, after which a candidate's process is ended
LAST = 5.0  # seconds beyond the scan's
PER_SECOND = 1.0  # candidates at most, for every second of the scan and process


def main(folder: Path) -> None:
    """Does what `request.json` in the folder asks for."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    told: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_hear, args=[os.dup(0), told], daemon=True).start()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # what is told is not the package's to read
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    os.chdir(empty)
    if request["path"]:
        sys.path.insert(0, request["path"])
    if not request["probing"]:
        _import_engines()
    found = _listed(request)
    planned, late = _planned([each for each in found if isinstance(each, Candidate)], request)
    _write(
        folder / "plan.json",
        {
            "planned": [[each.name, each.where, each.kind] for each in planned],
            "not_judged": [dataclasses.asdict(each) for each in found if isinstance(each, NotJudged)]
            + [
                {"name": each.name, "where": each.where, "reason": "there was no time for it; give --time-limit"}
                for each in late
            ],
        },
    )
    named = {each.name: each for each in planned}
    while True:
        task = json.loads(told.get())
        threading.Thread(target=_judge, args=[task, named, folder], daemon=True).start()


def _hear(source: int, told: "queue.SimpleQueue[str]") -> None:
    """What is told ends with the process that tells it, and so does this process."""
    with contextlib.suppress(OSError), open(source, encoding="utf-8") as lines:
        for line in lines:
            told.put(line)
    os._exit(1)


def _import_engines() -> None:
    """What the forks need, before they are made: modules, and what first calls keep. None of it computes with JAX."""
    for name in (
        *("auditors.audit", "auditors.strategy_search", "auditors.findings", "auditors.anytime", "auditors.one_shot"),
        *("auditors.outputs", "auditors.learners", "auditors.stability", "accounting.checking", "report.audit_text"),
    ):
        importlib.import_module(f"dpassay.{name}")
    from hypothesis import strategies as st

    from dpassay.accounting.checking import check_noise
    from dpassay.auditors.drawing import first_draws

    first_draws(st.lists(st.integers(0, 1)), "", 2)  # Hypothesis reads all modules once, for constants
    check_noise("laplace", epsilon=1.0, scale=1.0)


def _listed(request: dict[str, Any]) -> list[Candidate | NotJudged]:
    """All candidates, each name once."""
    from dpassay.scanning import libraries, signatures

    found: list[Candidate | NotJudged] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if request["library"]:
            with _said(found, request["package"]):
                found += libraries.candidates(request["library"])
        for name, file in request["modules"]:
            if file in request["unusable"]:
                found.append(NotJudged(name, file, f"it cannot be imported: {request['unusable'][file]}"))
                continue
            with _said(found, name):
                found += signatures.candidates(importlib.import_module(name))
    names: set[str] = set()
    return [each for each in found if not (each.name in names or names.add(each.name))]  # type: ignore[func-returns-value]


@contextlib.contextmanager
def _said(found: list[Candidate | NotJudged], name: str) -> Any:
    """Whatever an import raises, SystemExit too, is the reason why nothing in the module is judged."""
    try:
        yield
    except (Exception, SystemExit) as error:
        reason = f"it cannot be imported: {type(error).__name__}: {one_line(error)}"  # type: ignore[arg-type]
        found.append(NotJudged(name, "", reason))


def _planned(candidates: list[Candidate], request: dict[str, Any]) -> tuple[list[Candidate], list[Candidate]]:
    """Those that there is time for, in the order in which they are judged, and the others.

    How many is settled here, before any sample is drawn: the failure probability is split among them. Maps and
    mechanisms have half of the room each, and what the others leave of theirs.
    """
    candidates = sorted(candidates, key=lambda each: each.source == READ)
    few = [each for each in candidates if each.kind in EXACT]
    maps, mechanisms = ([each for each in candidates if each.kind == kind] for kind in ("map", "mechanism"))
    room = max(1, int(request["seconds"] * request["workers"] * PER_SECOND / LEAST))
    mechanisms_room = max(room - len(maps), math.ceil(room / 2))
    maps_room = room - min(mechanisms_room, len(mechanisms))
    return (
        [*few[: 4 * room], *maps[:maps_room], *mechanisms[:mechanisms_room]],
        [*few[4 * room :], *maps[maps_room:], *mechanisms[mechanisms_room:]],
    )


def _judge(task: dict[str, Any], named: dict[str, Candidate], folder: Path) -> None:
    """Writes what is found in one turn."""
    found = _judged(named.get(task["name"]), task, folder)
    _write(folder / f"found-{task['number']}.json", found.to_json())


def _judged(candidate: Candidate | None, task: dict[str, Any], folder: Path) -> Found:
    """What is known of a candidate after its turn: at least what was known before."""
    turn, left = Turn(**task["turn"]), task["left"]
    before = None if task["before"] is None else Found.from_json(task["before"])
    if candidate is None:
        problem = "this process does not find it in the package"
    elif left <= LEAST / 2:
        problem = "the time was over before its turn"
    elif not can_fork():
        problem = "this system cannot fork processes, or the package starts JAX when it is imported"
    else:
        limits = Limits(min(turn.seconds + GRACE, left + LAST), MEGABYTES)
        judging = partial(judge_round, candidate, turn, before)
        found = _in_fork(judging, folder / "empty" / str(task["number"]), limits)
        if not isinstance(found, str):
            return found
        problem = found
    if before is not None:
        return Found(before.result)
    return Found(NotJudged(task["name"], task["where"], problem))


def _in_fork(judging: Callable[[], Found], place: Path, limits: Limits) -> Found | str:
    """What is found in a process of its own, in a folder of its own; or why nothing is."""

    def work() -> Found:
        place.mkdir()
        os.chdir(place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return judging()

    try:
        return in_own_process(work, limits)
    except NoResult as end:
        return str(end).partition("; allow more")[0].replace("the mechanism's process", "its process")
    except InvalidInput as error:
        return str(error)
    except Exception as error:
        return f"judging it failed: {type(error).__name__}: {one_line(error)}"


def _write(path: Path, content: Any) -> None:
    """All of it or nothing: who reads may come at any time."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content), encoding="utf-8")
    part.rename(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
