"""Commands whose files cannot be written, are of another version or cannot be locked, or whose clock is set back.

One line says what is wrong, the exit code tells that nothing was decided, and what was there before is as it was.
"""

import contextlib
import ctypes
import functools
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpassay.benchmarks.kills import AUDIT, CORPUS, KEPT, OUTPUT, content, environment, write_files
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import told
from dpassay.core.records import Table

LEDGER = (*AUDIT, "--time-limit", "1", "--ledger", KEPT)
EXPERIMENT = ("experiment", "dpp", "--quick", "--resume", KEPT, "--output", OUTPUT)
REPLAY = ("replay", "certificate.json")
WRITING = (
    (*AUDIT, "--num-samples", "10000", "--json", OUTPUT),
    ("attack", "beta-knn", "--json", OUTPUT),
    ("prove", "mechanisms:proved", "--json", OUTPUT),
    ("scan", CORPUS, "--json", OUTPUT),
    EXPERIMENT,
    LEDGER,
)
OLD = "what was there before"
_FULL = 600  # bytes that a file may have on a disk that is full: less than any of ours needs
_DROP_FROM_BOUNDS, _IGNORES_MODES = 24, 1  # prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)
_HANGS = 600.0
_BACK = """
import time
_time, _calls = time.time, [0]
def time_():
    _calls[0] += 1
    return _time() - (86400.0 if _calls[0] > 20 else 0.0)
time.time = time_
"""
_NO_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int refused(int command) {
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}
#define REPLACED(name) int name(int file, int command, ...) { \\
    va_list rest; va_start(rest, command); void *given = va_arg(rest, void *); va_end(rest); \\
    if (refused(command)) { errno = ENOLCK; return -1; } \\
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, #name))(file, command, given); }
REPLACED(fcntl)
REPLACED(fcntl64)
int flock(int file, int operation) { errno = ENOLCK; return -1; }
"""


@dataclass(frozen=True)
class Accident:
    """What happens to a command.

    Attributes:
        command: arguments.
        prepare: given the folder with the command's files, makes what was there before, and returns variables of the
            environment; None where that cannot be done here.
        limit: in the process that becomes the command.
        ends: the exit codes that are right; with 0 or 1 the result must be that of a run to which nothing happens.
    """

    name: str
    command: tuple[str, ...]
    prepare: Callable[[Path], dict[str, str] | None] = lambda folder: {}
    limit: Callable[[], None] | None = None
    ends: tuple[int, ...] = (2,)


def accidents(progress: Callable[[str], None]) -> list[Table]:
    """A row for each: what it says, and whether all that was there is there still."""
    rows = [_row(each) for each in told(_listed(), progress, lambda each: f"{each.name}: {' '.join(each.command)}")]
    columns = ["accident", "command", "exit code", "what it says", ""]
    return [Table("Accidents: one line, and nothing lost", columns, rows)]


def _listed() -> list[Accident]:
    full = [Accident("disk full", command, _first_run, _full) for command in WRITING]
    closed = [Accident("folder that may not be written to", command, _closed, _as_user) for command in WRITING]
    versions = [
        Accident("ledger of a newer version", LEDGER, lambda folder: _versioned_ledger(folder, 99)),
        Accident("ledger of an older version", LEDGER, lambda folder: _versioned_ledger(folder, 1)),
        Accident("certificate of a newer version", REPLAY, lambda folder: _versioned_certificate(folder, 99)),
        Accident("certificate of an older version", REPLAY, lambda folder: _versioned_certificate(folder, 1)),
    ]
    clock = [Accident("clock set back by a day", command, _clock_back, ends=(0, 1)) for command in (EXPERIMENT, LEDGER)]
    drive = [Accident("drive without locks", command, _no_locks, ends=ends) for command, ends in
             ((EXPERIMENT, (0,)), (LEDGER, (2,)))]  # fmt: skip
    return [*full, *closed, *versions, *clock, *drive]


def _row(accident: Accident) -> list[Any]:
    shown = [accident.name, " ".join(accident.command)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        folder.mkdir()
        write_files(folder)
        given = accident.prepare(folder)
        if given is None:
            return [*shown, "", "not tried: it cannot be made here", "left out"]
        before = _state(folder)
        try:
            ended = _run(accident.command, folder, given, accident.limit)
        finally:
            folder.chmod(0o755)
        lines = ended.stderr.strip().splitlines()
        said = [each for each in lines if each.startswith("dpassay: ")]
        refuses = accident.ends == (2,)
        problems = []
        if ended.returncode not in accident.ends:
            problems.append(f"exit code {ended.returncode}")
        if refuses and len(said) != 1:
            problems.append(f"{len(said)} lines of ours")
        if "Traceback" in ended.stderr:
            problems.append("a traceback")
        if refuses and _state(folder) != before:
            problems.append("files changed")
        if not refuses and accident.command == EXPERIMENT and content(folder) != _undisturbed():
            problems.append("another result")
        line = said[0].removeprefix("dpassay: ").replace(str(folder), "FOLDER") if said else ""
        return [*shown, ended.returncode, line, f"FAIL: {', '.join(problems)}" if problems else "ok"]


def _run(
    command: tuple[str, ...], folder: Path, given: dict[str, str], limit: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    variables = environment(folder, **given)
    if limit is not None:  # Python cuts off what it compiles, too, and reads it again
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
    call = [sys.executable, "-m", "dpassay", *command]
    return subprocess.run(
        call, cwd=folder, env=variables, preexec_fn=limit, capture_output=True, text=True, timeout=_HANGS, check=False
    )


def _state(folder: Path) -> dict[str, bytes]:
    """The files, but for what Python and SQLite keep beside theirs; of a ledger its rows."""
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts and not file.name.endswith("-journal"):
            found[file.name] = _rows(file) if file.read_bytes()[:6] == b"SQLite" else file.read_bytes()
    return found


def _rows(ledger: Path) -> bytes:
    with contextlib.closing(sqlite3.connect(ledger)) as database:
        return repr(
            database.execute("SELECT number, samples, log_e FROM runs WHERE log_e IS NOT NULL").fetchall()
        ).encode()


@functools.cache
def _undisturbed() -> Any:
    with tempfile.TemporaryDirectory() as name:
        _run(EXPERIMENT, Path(name), {})
        return content(Path(name))


def _first_run(folder: Path) -> dict[str, str]:
    """A ledger with a run, and an output of an earlier run."""
    _run(LEDGER, folder, {})
    (folder / OUTPUT).write_text(OLD, encoding="utf-8")
    return {}


def _full() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FULL, _FULL))


def _closed(folder: Path) -> dict[str, str] | None:
    _first_run(folder)
    for file in folder.iterdir():
        if file.is_file():
            file.chmod(0o444)
    folder.chmod(0o555)
    return {}


def _as_user() -> None:
    """Root may write anywhere, unless this is taken from it."""
    if os.getuid() == 0:
        ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDS, _IGNORES_MODES, 0, 0, 0)


def _versioned_ledger(folder: Path, version: int) -> dict[str, str]:
    _run(LEDGER, folder, {})
    with contextlib.closing(sqlite3.connect(folder / KEPT)) as database:
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
    return {}


def _versioned_certificate(folder: Path, version: int) -> dict[str, str]:
    file = folder / REPLAY[1]
    proved = _run(("prove", "mechanisms:proved", "--certificate", file.name), folder, {})
    if proved.returncode != 0:
        raise InvalidInput(f"the proof ended with exit code {proved.returncode}: {proved.stderr[-200:]}")
    changed = json.loads(file.read_text(encoding="utf-8")) | {"version": version}
    file.write_text(json.dumps(changed), encoding="utf-8")
    return {}


def _clock_back(folder: Path) -> dict[str, str]:
    """Python's clock, some way into the process; the file is read when a Python starts."""
    (folder / "clock").mkdir()
    (folder / "clock" / "sitecustomize.py").write_text(_BACK, encoding="utf-8")
    return {"PYTHONPATH": str(folder / "clock")}


def _no_locks(folder: Path) -> dict[str, str] | None:
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    _run(LEDGER, folder, {})
    source, library = folder / "locks.c", folder / "locks.so"
    source.write_text(_NO_LOCKS, encoding="utf-8")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}
