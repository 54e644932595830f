"""`dp.scan`: starts the process that runs other people's code, and gathers what it finds."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import require
from dpassay.core.version import __version__
from dpassay.runs.parallel import processors
from dpassay.scanning.candidates import shown_place
from dpassay.scanning.libraries import LIBRARIES, PARTIAL
from dpassay.scanning.targets import Module, Target, target, version

DEFAULT_TIME_LIMIT = 45.0  # seconds
DEFAULT_FAILURE_PROBABILITY = 0.001
IMPORTING = 60.0  # seconds, at most, in which the package must be imported
GRACE = 15.0
_WORKERS = 2
_LOOK = 0.05


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

    Raises:
        InvalidInput: no such package, or no Python source in it; or Hypothesis is missing.
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
        "workers": min(_WORKERS, processors()),
    }
    gathered = _gathered(request, progress)
    if gathered["plan"] is None and len(found.modules) > 1 and not request["library"]:
        progress("the package ended its process when it was imported: its modules are tried one by one")
        request["unusable"] = _unusable(found.modules, request, progress)
        gathered = _gathered(request, progress)
    judged, not_judged = gathered["judged"], gathered["not_judged"]
    if gathered["plan"] is None:
        not_judged = [{"name": found.package, "where": "", "reason": gathered["reason"]}]
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
        tuple(gathered["shares"]),
        time_limit,
        seed,
        time.monotonic() - begin,
        command,
    )


def _gathered(request: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """What one run of the worker leaves: its plan (None if it did not come so far), results, and how it ended."""
    with tempfile.TemporaryDirectory(prefix="dpassay-scan-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        reason = _run(folder, request["seconds"], progress)
        plan_file = folder / "plan.json"
        if not plan_file.exists():
            nothing: dict[str, Any] = {"plan": None, "judged": [], "not_judged": [], "shares": []}
            return nothing | {"reason": f"nothing was listed: {reason}"}
        plan = json.loads(plan_file.read_text(encoding="utf-8"))
        judged: list[dict[str, Any]] = []
        not_judged = list(plan["not_judged"])
        for number, (candidate, where) in enumerate(plan["planned"]):
            file = folder / f"result-{number:05}.json"
            if not file.exists():
                not_judged.append({"name": candidate, "where": where, "reason": reason or "it left no result"})
                continue
            result = json.loads(file.read_text(encoding="utf-8"))
            (judged if result["kind"] == "judged" else not_judged).append(result["content"])
        return {"plan": plan, "judged": judged, "not_judged": not_judged, "shares": _shares(folder), "reason": reason}


def _run(folder: Path, seconds: float, progress: Callable[[str], None]) -> str:
    """Runs the worker until it is done; how it ended where it did not come to its end, else "".

    It leads a group of processes, which ends with it: what the package started ends, too.
    """
    paths = [str(Path(each).resolve()) for each in sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "dpassay.scanning.worker", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    begin = time.monotonic()
    planned: int | None = None
    try:
        while process.poll() is None:
            time.sleep(_LOOK)
            waited = time.monotonic() - begin
            if planned is None and (folder / "plan.json").exists():
                planned = len(json.loads((folder / "plan.json").read_text(encoding="utf-8"))["planned"])
            if planned is not None:
                rounds = len(_shares(folder))
                again = f", round {rounds}" if rounds > 1 else ""
                progress(f"{len(list(folder.glob('result-*.json')))} of {planned} judged{again}")
            if planned is None and waited > IMPORTING:
                return f"its process took more than {IMPORTING:g} seconds to import the package"
            if waited > IMPORTING + seconds + GRACE:
                return "its process hangs"
        if (folder / "done.json").exists():
            return ""
        code = process.returncode
        how = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
        return f"the package ended the process that imported it, with {how}"
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def _shares(folder: Path) -> list[float]:
    """Of each mechanism, in every round that was begun."""
    file = folder / "shares.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else []


def _unusable(modules: tuple[Module, ...], request: dict[str, Any], progress: Callable[[str], None]) -> dict[str, str]:
    """File -> how the process ended that imported that module alone."""
    found = {}
    for module in modules:
        alone = {**request, "modules": [[module.name, module.file]], "seconds": 0.0, "probing": True}
        with tempfile.TemporaryDirectory(prefix="dpassay-scan-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / "request.json").write_text(json.dumps(alone), encoding="utf-8")
            reason = _run(folder, 0.0, lambda _: None)
            if not (folder / "plan.json").exists():
                found[module.file] = reason
    return found


def _hints(found: Target) -> list[dict[str, Any]]:
    from dpassay.prover.lint import lint

    hints = []
    for module in found.modules:
        with contextlib.suppress(InvalidInput):
            hints += [hint.to_json() for hint in lint(module.file)[0]]
    return hints
