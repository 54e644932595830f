"""The process of a scan that runs other people's code, seen from the process that starts it."""

import contextlib
import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpassay.scanning.candidates import NotJudged
from dpassay.scanning.judging import Found
from dpassay.scanning.schedule import Turn

IMPORTING = 60.0  # seconds, at most, in which the package must be imported
GRACE = 15.0
_LOOK = 0.05


class Package:
    """A process that imports a package, lists what can be judged, and judges what it is told to.

    It leads a group of processes, which ends with it: what the package started ends, too.

    Attributes:
        plan: `planned`, the name, place and kind of each candidate, and `not_judged`; None where it did not come so
            far.
        reason: why there is no plan.
        importing: seconds until there was one.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        """Starts the process and waits for its plan; `close` ends it."""
        begin = time.monotonic()
        self._numbers = itertools.count()
        self._folder = tempfile.TemporaryDirectory(prefix="dpassay-scan-", ignore_cleanup_errors=True)
        folder = self._folder.name
        Path(folder, "request.json").write_text(json.dumps(request), encoding="utf-8")
        paths = [str(Path(each).resolve()) for each in sys.path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dpassay.scanning.worker", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _kill, self._process, self._folder)
        problem = f"its process took more than {IMPORTING:g} seconds to import the package"
        try:
            content, self.reason = self._read("plan.json", IMPORTING, problem)
        except BaseException:
            self.close()
            raise
        self.plan: dict[str, Any] | None = content
        self.importing = time.monotonic() - begin

    def close(self) -> None:
        """Ends the process."""
        self._end()

    def judge(self, name: str, where: str, turn: Turn, before: Found | None, left: float) -> Found:
        """What is known of a candidate after its turn, whatever becomes of the process.

        Args:
            name: of the candidate, in the plan.
            where: it is, for what is said of it.
            turn: its time and share.
            before: what earlier turns found.
            left: seconds to the end of the scan.
        """
        number = next(self._numbers)
        told = {"number": number, "name": name, "where": where, "turn": dataclasses.asdict(turn), "left": left}
        line = json.dumps({**told, "before": None if before is None else before.to_json()}) + "\n"
        content, problem = None, self.reason
        if self.plan is not None:
            with contextlib.suppress(OSError):  # a process that has ended is told below
                self._process.stdin.write(line.encode())  # type: ignore[union-attr]
                self._process.stdin.flush()  # type: ignore[union-attr]
            content, problem = self._read(f"found-{number}.json", max(left, 0.0) + GRACE, "its process hangs")
        try:
            if content is not None:
                return Found.from_json(content)
        except (KeyError, TypeError):
            problem = "it left no result that can be read"
        return Found(NotJudged(name, where, problem) if before is None else before.result)

    def _read(self, name: str, seconds: float, late: str) -> tuple[Any, str]:
        """What the process wrote to a file; or None, and why it wrote nothing."""
        file, end = Path(self._folder.name, name), time.monotonic() + seconds
        while True:
            code = self._process.poll()  # before the file is looked for: nothing is written later
            if file.exists():
                try:
                    return json.loads(file.read_text(encoding="utf-8")), ""
                except ValueError:
                    return None, "it left no result that can be read"
            if code is not None:
                how = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
                return None, f"the package ended the process that imported it, with {how}"
            if time.monotonic() > end:
                return None, late
            time.sleep(_LOOK)


def _kill(process: "subprocess.Popen[bytes]", folder: "tempfile.TemporaryDirectory[str]") -> None:
    """Ends the process and all of its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]
    process.wait()
    folder.cleanup()


def elsewhere(request: dict[str, Any]) -> Callable[..., Found]:
    """`Package.judge` of a process of its own, for a worker of an executor."""
    package = Package(request)
    end: float | None = None

    def judge(name: str, where: str, turn: Turn, before: Found | None, left: float) -> Found:
        """The first call has waited for nothing but the import; those after it may have waited for others to end."""
        nonlocal end
        if end is None:
            end = time.monotonic() + min(left, request["seconds"])
        return package.judge(name, where, turn, before, end - time.monotonic())

    return judge
