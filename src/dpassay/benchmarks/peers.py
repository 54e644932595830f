"""Runs a public implementation in an interpreter that has it, which need not be the one that runs us."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput

_TIME_LIMIT = 600.0


def interpreter(peers: Path | str | None) -> str:
    """The Python that the peers run in.

    Raises:
        InvalidInput: not a Python that runs.
    """
    if peers is None:
        return sys.executable
    try:
        answer = subprocess.run([str(peers), "-c", "print(1)"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise InvalidInput(f"cannot run {peers}: give the path of a Python interpreter that has the peers") from failure
    if answer.returncode != 0 or answer.stdout.strip() != "1":
        raise InvalidInput(f"{peers} is no Python interpreter; give the path of one that has the peers")
    return str(peers)


@functools.cache
def available(python: str, module: str) -> str | None:
    """The version of the distribution that is named like the module, "" if it has none; None when it is absent."""
    code = (
        f"import importlib, importlib.metadata as m; importlib.import_module({module!r})\n"
        f"try: print(m.version({module!r}))\nexcept m.PackageNotFoundError: print()"
    )
    answer = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=_TIME_LIMIT, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None


def measure(python: str, script: str, task: dict[str, Any]) -> dict[str, Any]:
    """Runs a script of this folder with a task on its standard input; its answer, or {"error": one line}."""
    answer = subprocess.run(
        [python, str(Path(__file__).parent / script)],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        timeout=_TIME_LIMIT,
        check=False,
    )
    if answer.returncode != 0:
        lines = answer.stderr.strip().splitlines()
        return {"error": lines[-1] if lines else f"exit code {answer.returncode}"}
    result: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return result
