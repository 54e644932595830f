"""Processes that answer requests, one line of JSON each way, and are killed when they run out of time.

One process answers request after request; one that was killed or died is replaced at the next request.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Ended(Exception):
    """The process ended without an answer; `timed_out` says whether it was killed for time."""

    def __init__(self, timed_out: bool) -> None:
        super().__init__("out of time" if timed_out else "the process died")
        self.timed_out = timed_out


class Worker:
    """A process that runs `statement`, which must call `serve`.

    Args:
        statement: Python; it sees the modules that this process sees.
        own_group: what it starts is killed with it, and what it writes to standard error is dropped.
    """

    def __init__(self, statement: str, *, own_group: bool = False) -> None:
        # -P: a file that lies in the folder it is called from is no module of ours.
        self._command = [sys.executable, "-P", "-c", statement]
        self._own_group = own_group
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: Any, seconds: float) -> Any:
        """What the process answers to a request, both as JSON holds them.

        Raises:
            Ended: it ran out of time or died.
        """
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self._kill(process)

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        except BaseException:
            self.stop()
            raise
        finally:
            timer.cancel()
        if not line.endswith("\n"):
            self.stop()
            raise Ended(late.is_set())
        return json.loads(line)

    def stop(self) -> None:
        """Kills the process; the next request starts another."""
        process, self._process = self._process, None
        if process is not None:
            self._kill(process)
            process.communicate()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is not None:  # killed just after its last answer
            self.stop()
        if self._process is None:
            package = str(Path(__file__).parents[2])
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if self._own_group else None,
                text=True,
                start_new_session=self._own_group,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([package, *filter(os.path.isabs, sys.path)])},
            )
        return self._process

    def _kill(self, process: subprocess.Popen[str]) -> None:
        if self._own_group and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()


def serve(answer: Callable[[Any], Any]) -> None:
    """Answers requests until there are no more; what a library prints is no answer and goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()
