"""Commands killed at random moments, with SIGKILL, and run again as their users would.

Every command is run in a process of its own, with the files that it keeps in a folder of its own; what is killed is
that process alone, so that whatever it started must end by itself. A command that goes on from what it kept must end on
what it ends on when nothing is killed, to the last digit; one that keeps nothing leaves its output whole or not at all.
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dpassay
from dpassay.auditors.ledger import Ledger
from dpassay.core.progress import part
from dpassay.core.records import Table

OUTPUT, KEPT = "output.json", "kept"
MOST = 5  # kills in one folder, after which the command runs to its end
ENDING = 20.0  # seconds in which what a killed process started must end
VOLATILE = {"seconds", "created", "command", "tried"}
"""What differs from run to run: times, and of a proof how much was tried in them."""
_MARK = "DPASSAY_BENCH_FAULTS"
_HANGS = 600.0

FILES = {
    "mechanisms.py": """
import dpassay as dp

def noisy_sum(rng, values):
    return sum(values) + rng.laplace()

@dp.mechanism_function(relation="one_query", epsilon="epsilon")
def proved(rng, queries, epsilon):
    total = 0
    for query in queries:
        total = total + query
    return total + rng.laplace(0, 1 / epsilon)
""",
    "exactly.py": """
import jax
import jax.numpy as jnp
import numpy as np

class Full:
    # A coin that is biased where every rating is the highest; a search takes some hundred restarts to find that.
    def outputs(self, ratings):
        return np.arange(2)

    def log_prob(self, output, ratings):
        heads = jnp.where(jnp.all(ratings == 5), 0.9, 0.5)
        return jnp.log(jnp.where(output == 1, heads, 1 - heads))

    def sample(self, key, ratings):
        return jax.random.bernoulli(key, jnp.where(jnp.all(ratings == 5), 0.9, 0.5)).astype(int)
""",
    "one.json": "[0]",
    "two.json": "[1]",
}
AUDIT = ("audit", "mechanisms:noisy_sum", "--dataset1", "one.json", "--dataset2", "two.json", "--epsilon", "1.1")
FULL = ("exactly:Full", "--relation", "replace_one:entry", "--epsilon", "0.1", "--users", "5", "--items", "3")
CORPUS = "dpassay.benchmarks.scan_corpus.broken.formulas"


@dataclass(frozen=True)
class Work:
    """A command.

    Attributes:
        command: its arguments; it writes `OUTPUT`.
        kills: of all runs together; a tenth of them in quick runs.
        workers: kill processes that it started, not itself.
        module: whose command line it is.
    """

    command: tuple[str, ...]
    kills: int
    workers: bool = False
    module: str = "dpassay"

    def __str__(self) -> str:
        return " ".join(self.command)

    def times(self, quick: bool) -> int:
        """How many kills."""
        return max(2, self.kills // 10) if quick else self.kills


WORKS = (
    Work(("experiment", "rating-collection", "--quick", "--resume", KEPT, "--output", OUTPUT), 30),
    Work(("experiment", "dpp", "--quick", "--resume", KEPT, "--output", OUTPUT), 30),
    Work(("search", *FULL, "--resume", KEPT, "--json", OUTPUT), 20),
    Work(("attack", "beta-knn", "--json", OUTPUT), 20),
    Work(("prove", "mechanisms:proved", "--json", OUTPUT), 20),
    Work(("scan", CORPUS, "--json", OUTPUT), 20),
    Work(("verify", "--quick", "--json", OUTPUT), 10),
    Work((*AUDIT, "--num-samples", "1000000", "--scheduler", "local", "--json", OUTPUT), 20, workers=True),
    Work(("experiment", "rating-collection", "--quick", "--scheduler", "local", "--output", OUTPUT), 10, workers=True),
)
LEDGER = Work((*AUDIT, "--time-limit", "4", "--ledger", KEPT, "--json", OUTPUT), 40)


def kills(quick: bool, seed: int, progress: Callable[[str], None]) -> list[Table]:
    """What was killed how often, and what became of it; a row that lost anything says FAIL."""
    chance = random.Random(seed)
    works = (LEDGER, *WORKS)
    rows: list[list[Any]] = []
    for number, work in enumerate(works):
        judge = _ledger_row if work is LEDGER else _row
        rows.append(judge(work, work.times(quick), chance, part(progress, number, len(works))))
    total = sum(row[1] for row in rows)
    columns = ["command", "kills", "runs to the end", "processes left behind", "what was found", ""]
    return [Table(f"Killed {total} times with SIGKILL, at random moments", columns, rows)]


def write_files(folder: Path) -> None:
    """What the commands read."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Variables with which a command finds this package and the files of its folder, after a PYTHONPATH of `more`."""
    paths = [*filter(None, [more.get("PYTHONPATH")]), str(Path(dpassay.__file__).parents[1]), str(folder)]
    return {**os.environ, **more, "PYTHONPATH": os.pathsep.join(paths)}


@dataclass
class Started:
    """A command that runs, in a folder that holds its files."""

    work: Work
    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        write_files(self.folder)
        variables = environment(self.folder, **{_MARK: self.mark})
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.work.module, *self.work.command],
            cwd=self.folder,
            env=variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def killed(self, after: float) -> bool:
        """Whether it still ran after so many seconds, and was killed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(after)
            return False
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return True

    def finished(self, seconds: float = _HANGS) -> int:
        """Its exit code.

        Raises:
            TimeoutExpired: it runs longer.
        """
        return self.process.wait(seconds)

    def left(self) -> int:
        """How many processes that it started are there still, once they had time to end."""
        end = time.monotonic() + ENDING
        while (found := len(list(_marked(self.mark)))) and time.monotonic() < end:
            time.sleep(0.1)
        return found


def _marked(mark: str) -> Iterator[int]:
    """The processes that were started with a mark in their environment; none where the system does not say."""
    needle = f"{_MARK}={mark}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if needle in (entry / "environ").read_bytes() and b"State:\tZ" not in (entry / "status").read_bytes():
                yield int(entry.name)


def content(folder: Path) -> Any:
    """What a run wrote, without what differs from run to run; None where it wrote nothing.

    Raises:
        ValueError: a part of it.
    """
    file = folder / OUTPUT
    return _lasting(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lasting(each) for name, each in value.items() if name not in VOLATILE}
    return [_lasting(each) for each in value] if isinstance(value, list) else value


def _row(work: Work, times: int, chance: random.Random, say: Callable[[str], None]) -> list[Any]:
    say(f"{work}: uninterrupted")
    with tempfile.TemporaryDirectory() as name:
        begin = time.monotonic()
        code = Started(work, Path(name)).finished()
        seconds = time.monotonic() - begin
        whole = content(Path(name))
    done = ended = left = 0
    problems: list[str] = [] if whole is not None and code in (0, 1) else [f"it ended with exit code {code}"]
    while done < times and not problems:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            killed = 0
            while killed < min(MOST, times - done):
                say(f"{work}: {done + killed} of {times} kills")
                started = Started(work, folder)
                if work.workers:
                    killed += _workers_killed(started, min(MOST, times - done), seconds, chance)
                    break
                after = chance.uniform(0, seconds)
                if not started.killed(after):
                    break
                killed += 1
                left += started.left()
                problems += _problems(content, folder, (None, whole), f"after a kill at {after:.2f} s")
            else:
                started = Started(work, folder)
            if (ending := started.finished()) != code:
                problems.append(f"it ended with exit code {ending}, not {code}")
            problems += _problems(content, folder, (whole,), "at its end")
            left += started.left()
            done += killed
            ended += 1
    return _told(
        work, done, ended, left, problems, "the same" if KEPT in work.command or work.workers else "whole, and the same"
    )


def _told(work: Work, done: int, ended: int, left: int, problems: list[str], good: str) -> list[Any]:
    return [str(work), done, ended, left, "; ".join(problems) or good, "FAIL" if problems or left else "ok"]


def _problems(read: Callable[[Path], Any], folder: Path, allowed: tuple[Any, ...], when: str) -> list[str]:
    try:
        return [] if read(folder) in allowed else [f"another result {when}"]
    except ValueError:
        return [f"a part of a result {when}"]


def _workers_killed(started: Started, most: int, seconds: float, chance: random.Random) -> int:
    """Kills workers of a command at random moments, as long as it runs; how many."""
    killed = 0
    begin = time.monotonic()
    while killed < most and started.process.poll() is None and time.monotonic() < begin + _HANGS:
        time.sleep(chance.uniform(0, seconds / most))
        workers = [each for each in _marked(started.mark) if _is_worker(each)]
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)
                killed += 1
    return killed


def _is_worker(process: int) -> bool:
    with contextlib.suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def _ledger_row(work: Work, times: int, chance: random.Random, say: Callable[[str], None]) -> list[Any]:
    """Two processes add to one ledger at a time; one of them is killed, another takes its place, and so on.

    Whatever was recorded when a process was killed must be there at the end, of each run what it recorded last, and the
    evidence must be the sum over runs, each counted once.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = [Started(work, folder) for _ in range(2)]
        seen: dict[int, tuple[int, int]] = {}
        problems: list[str] = []
        done = ended = left = 0
        while done < times:
            say(f"{work}: {done} of {times} kills")
            place = chance.randrange(2)
            time.sleep(chance.uniform(0, 3))
            before = recorded(folder / KEPT)
            if running[place].killed(0.01):
                done += 1
                left += running[place].left()
            else:
                ended += 1
            now = recorded(folder / KEPT)
            problems += lost(before, now) + lost(seen, now)
            seen = now
            running[place] = Started(work, folder)
        codes = [each.finished() for each in running]
        ended += len(running)
        problems += [f"an audit ended with exit code {code}" for code in codes if code != 0]
        problems += lost(seen, recorded(folder / KEPT)) + miscounted(folder / KEPT)
        runs = len(recorded(folder / KEPT))
    return _told(work, done, ended, left, problems, f"{runs} runs, none lost or counted twice")


def recorded(ledger: Path) -> dict[int, tuple[int, int]]:
    """Number of each run -> samples and looks that it recorded, as SQLite alone reads them."""
    if not ledger.exists():
        return {}
    with contextlib.closing(sqlite3.connect(ledger, timeout=60)) as database:
        if not database.execute("SELECT name FROM sqlite_master WHERE name = 'runs'").fetchall():
            return {}
        found = database.execute("SELECT number, samples, looks FROM runs").fetchall()
        return {number: (samples, looks) for number, samples, looks in found}


def lost(before: dict[int, tuple[int, int]], now: dict[int, tuple[int, int]]) -> list[str]:
    """What was recorded before and is not there now."""
    return [
        f"run {number} had {samples} samples and has {now.get(number, (0, 0))[0]}"
        for number, (samples, looks) in before.items()
        if number not in now or now[number] < (samples, looks)
    ]


def miscounted(ledger: Path) -> list[str]:
    """Opened by the program, which compares all digests, its evidence is the sum of what SQLite shows of each run."""
    kept, problems = Ledger(ledger), []
    with contextlib.closing(sqlite3.connect(ledger, timeout=60)) as database:
        hypotheses = database.execute("SELECT id, name, fingerprint, grid FROM hypotheses").fetchall()
        runs = database.execute("SELECT hypothesis, log_e FROM runs WHERE log_e IS NOT NULL").fetchall()
    for number, name, fingerprint, grid in hypotheses:
        evidence = [np.frombuffer(each) for hypothesis, each in runs if hypothesis == number]
        past = kept.begin(name, fingerprint, np.frombuffer(grid)).past
        if not np.allclose(past, np.sum(evidence, axis=0), rtol=1e-12):
            problems.append(f"the evidence on {name} is not the sum over runs")
    return problems
