"""`dp.scan`: has processes that run other people's code judge it, round by round, and gathers what they find."""

import contextlib
import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import require
from dpassay.core.version import __version__
from dpassay.runs.parallel import PerWorker, processors, results_in_parallel, usable_executor, workers_of
from dpassay.scanning.candidates import NotJudged, shown_place
from dpassay.scanning.judging import Found, Judged
from dpassay.scanning.libraries import LIBRARIES, PARTIAL
from dpassay.scanning.package import Package, elsewhere
from dpassay.scanning.schedule import Schedule, Turn
from dpassay.scanning.targets import Module, Target, target, version

DEFAULT_TIME_LIMIT = 45.0  # seconds
DEFAULT_FAILURE_PROBABILITY = 0.001
_WORKERS = 2


@dataclass(frozen=True)
class Scan:
    """What a scan found; printed, it is what `dpassay scan` prints.

    Attributes:
        judged: mappings, as in `report/scan.schema.json`, those violated first.
        not_judged: the same, each with its reason.
        hints: of `dpassay lint`, about the same modules; no verdicts.
        shares: of the failure probability, of each mechanism judged in the first round, the second, ...
    """

    target: Target
    package_version: str
    judged: tuple[dict[str, Any], ...] = field(repr=False)
    not_judged: tuple[dict[str, str], ...] = field(repr=False)
    hints: tuple[dict[str, Any], ...] = field(repr=False)
    failure_probability: float = DEFAULT_FAILURE_PROBABILITY
    shares: tuple[float, ...] = ()
    time_limit: float = DEFAULT_TIME_LIMIT
    seed: int = 0
    seconds: float = 0.0
    command: str = ""

    def __str__(self) -> str:
        from dpassay.report.scan_text import plain_text

        return plain_text(self.to_json())

    @property
    def violated(self) -> tuple[dict[str, Any], ...]:
        """What breaks its claim under every usual reading."""
        return tuple(each for each in self.judged if each["outcome"] == "violated")

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping, described by `report/scan.schema.json`."""
        return {
            "format": "dpassay-scan",
            "version": 1,
            "program": f"dpassay {__version__}",
            "command": self.command,
            "target": self.target.name,
            "package": self.target.package,
            "package_version": self.package_version,
            "modules": [module.name for module in self.target.modules],
            "files": self.target.files,
            "judged": [dict(each) for each in self.judged],
            "not_judged": [dict(each) for each in self.not_judged],
            "hints": [dict(each) for each in self.hints],
            "failure_probability": self.failure_probability,
            "shares": list(self.shares),
            "time_limit": self.time_limit,
            "seed": self.seed,
            "seconds": self.seconds,
        }


def scan(
    package: str,
    *,
    time_limit: float = DEFAULT_TIME_LIMIT,
    failure_probability: float = DEFAULT_FAILURE_PROBABILITY,
    seed: int = 0,
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
    executor: Executor | None = None,
) -> Scan:
    """Judges what in an installed package claims privacy: mechanisms, stability maps, accountants, noise formulas.

    The package is imported, and what looks like a mechanism is called, in processes of their own, in an empty folder;
    nothing else of it is called. P(anything that keeps its claim is called violated) <= failure_probability.

    Args:
        package: an installed package or module, a distribution's name, or the path of a file or folder.
        time_limit: seconds, from when the package is imported.
        failure_probability: of any false accusation in the whole scan.
        seed: of everything random.
        command: that runs this again, for reports.
        progress: called with a short text when a step advances.
        executor: whose workers judge, each in a process of its own that imports the package, for which there is as much
            time again as it takes here; None for this machine, two at a time.

    Raises:
        InvalidInput: no such package, or no Python source in it; Hypothesis is missing; or no executor.
    """
    require("search")
    if not 0 < failure_probability < 1:
        raise InvalidInput(f"failure_probability is {failure_probability}; it must lie between 0 and 1")
    if not 0 < time_limit < float("inf"):
        raise InvalidInput(f"time_limit is {time_limit}; give a number of seconds above 0")
    if seed < 0:
        raise InvalidInput(f"seed is {seed}; give a whole number from 0 on")
    begin = time.monotonic()
    found = target(package)
    library = found.package if found.whole and found.package in LIBRARIES else ""
    request = {
        "package": found.package,
        "path": found.path,
        "library": library,
        "modules": [] if library and library not in PARTIAL else [[m.name, m.file] for m in found.modules],
        "unusable": {},
        "probing": False,
        "seconds": time_limit,
        "failure_probability": failure_probability,
        "seed": seed,
        "workers": min(_WORKERS, processors()) if executor is None else workers_of(usable_executor(executor)),
    }
    with contextlib.ExitStack() as ending:
        process = ending.enter_context(contextlib.closing(Package(request)))
        if process.plan is None and len(found.modules) > 1 and not request["library"]:
            progress("the package ended its process when it was imported: its modules are tried one by one")
            request["unusable"] = _unusable(found.modules, request)
            process = ending.enter_context(contextlib.closing(Package(request)))
        results, shares = _judged(process, request, executor, progress)
    plan = process.plan or {"not_judged": [{"name": found.package, "where": "", "reason": process.reason}]}
    judged = [each.to_json() for each in results if isinstance(each, Judged)]
    not_judged = [*plan["not_judged"], *(dataclasses.asdict(each) for each in results if isinstance(each, NotJudged))]
    for each in (*judged, *not_judged):
        each["where"] = shown_place(each["where"])
    order = ("violated", "depends on the reading", "not refuted", "holds")
    return Scan(
        found,
        version(found.package),
        tuple(sorted(judged, key=lambda each: order.index(each["outcome"]))),
        tuple(not_judged),
        tuple(_hints(found)),
        failure_probability,
        tuple(shares),
        time_limit,
        seed,
        time.monotonic() - begin,
        command,
    )


def _judged(
    process: Package, request: dict[str, Any], executor: Executor | None, progress: Callable[[str], None]
) -> tuple[list[Judged | NotJudged], list[float]]:
    """What is known in the end of each that is planned, judged round after round, and the shares of the rounds."""
    planned = [] if process.plan is None else process.plan["planned"]
    end = time.monotonic() + request["seconds"] + (0.0 if executor is None else process.importing)
    schedule = Schedule(
        [kind for *_, kind in planned], request["failure_probability"], request["seed"], request["workers"]
    )
    elsewhere_judged = PerWorker(elsewhere, request)
    found: dict[int, Found] = {}

    def left() -> float:
        return end - time.monotonic()

    def here(name: str, where: str, turn: Turn, before: Found | None, _: float) -> Found:
        return process.judge(name, where, turn, before, left())

    while turns := schedule.turns(left(), {place: each.hope for place, each in found.items()}):
        places, number = list(turns), len(schedule.shares)
        tasks = [(*planned[place][:2], turns[place], found.get(place), left()) for place in places]
        if executor is None:
            results = _in_threads(here, tasks, request["workers"])
        else:
            results = results_in_parallel(elsewhere_judged, tasks, executor)
        for task, result in results:
            found[places[task]] = result
            again = f", round {number}" if number > 1 else ""
            progress(f"{len(found)} of {len(planned)} judged{again}")
    return [found[place].result for place in range(len(planned))], schedule.shares


def _in_threads(judge: Callable[..., Found], tasks: list[tuple[Any, ...]], count: int) -> Iterator[tuple[int, Found]]:
    """The number and the result of every task, in the order in which they end.

    Ctrl-C may leave this at any moment: nobody waits for the threads then, as one would for an executor's.
    """
    waiting, results = deque(enumerate(tasks)), SimpleQueue[tuple[int, Found | Exception]]()

    def work() -> None:
        while True:
            try:
                number, task = waiting.popleft()
            except IndexError:
                return
            try:
                results.put((number, judge(*task)))
            except Exception as error:
                results.put((number, error))

    for _ in range(count):
        threading.Thread(target=work, daemon=True).start()
    for _ in tasks:
        number, result = results.get()
        if isinstance(result, Exception):
            raise result
        yield number, result


def _unusable(modules: tuple[Module, ...], request: dict[str, Any]) -> dict[str, str]:
    """File -> how the process ended that imported that module alone."""
    found = {}
    for module in modules:
        package = Package({**request, "modules": [[module.name, module.file]], "probing": True})
        package.close()
        if package.plan is None:
            found[module.file] = package.reason
    return found


def _hints(found: Target) -> list[dict[str, Any]]:
    from dpassay.prover.lint import lint

    hints = []
    for module in found.modules:
        with contextlib.suppress(InvalidInput):
            hints += [hint.to_json() for hint in lint(module.file)[0]]
    return hints
