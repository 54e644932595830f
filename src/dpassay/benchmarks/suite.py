"""A night's audits: a thousand tests with one failure probability and one ledger, whose session is killed.

The session is killed with SIGKILL at random moments and begun again, as whoever runs it every night would. Whatever its
processes had recorded must be there at the end, each run's evidence counted once; the shares of the failure probability
must stay those of the first session; and of the tests those of broken mechanisms alone may be red.
"""

import contextlib
import importlib.util
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from dpassay.benchmarks.kills import KEPT, Started, Work, lost, miscounted, recorded
from dpassay.core.records import Table
from dpassay.runs.parallel import processors

TESTS, QUICK = 1000, 20
EVERY = 100, 10  # of so many tests one is of a broken mechanism; of quick runs the second
KILLS = 5, 1
SECONDS = 90.0, 20.0  # a session is killed within so many
_HANGS = 7200.0  # a session of a thousand takes many minutes
_FILE, _REPORT = "test_suite.py", "report"
_TESTS = """
import pytest

from dpassay.pytest_plugin import assert_private


@pytest.mark.parametrize("number", range({tests}))
def test_release(number):
    scale = 0.4 if number % {every} == 0 else 1.0

    def release(rng, values):
        return sum(values) + rng.laplace(scale=scale)

    assert_private(release, [number, 1], [number, 0], epsilon=1.0, num_samples=2000)
"""


def suite(quick: bool, seed: int, progress: Callable[[str], None]) -> list[Table]:
    """What became of the audits; a row that lost anything says FAIL."""
    tests, chance = QUICK if quick else TESTS, random.Random(seed)
    every, kills, seconds = EVERY[quick], KILLS[quick], SECONDS[quick]
    shared = ("-n", str(processors())) if importlib.util.find_spec("xdist") else ()
    options = ("-p", "no:cacheprovider", *shared, "--dp-ledger", KEPT, "--dp-report", _REPORT)
    work = Work(("-q", *options, _FILE), kills, module="pytest")
    with tempfile.TemporaryDirectory(prefix="dpassay-bench-") as name:
        folder = Path(name)
        (folder / _FILE).write_text(_TESTS.format(tests=tests, every=every), encoding="utf-8")
        seen: dict[int, tuple[int, int]] = {}
        shares: dict[str, float] = {}
        problems: list[str] = []
        sessions = left = 0
        for session in range(kills + 1):
            progress(f"{tests:,} audits: {session} of {kills} kills")
            started = Started(work, folder)
            if session == kills or not started.killed(chance.uniform(seconds / 10, seconds)):
                code = started.finished(_HANGS)
                sessions += 1
                problems += [] if code == 1 else [f"a session ended with exit code {code}"]
            left += started.left()
            now, kept = recorded(folder / KEPT), _shares(folder / KEPT)
            problems += lost(seen, now)
            problems += [f"another share of {test}" for test in shares if kept.get(test) != shares[test]]
            seen, shares = now, kept
        problems += miscounted(folder / KEPT)
        red = _red(folder / _REPORT / "audits.json", tests)
    broken = {f"{_FILE}::test_release[{number}]" for number in range(0, tests, every)}
    if red != broken:
        problems.append(
            f"red were {len(red & broken)} of {len(broken)} broken and {len(red - broken)} sound mechanisms"
        )
    if tests != len(shares) or sum(shares.values()) > 1:
        problems.append(f"{len(shares)} tests share {sum(shares.values())} of the failure probability")
    found = "; ".join(problems) or f"{len(seen):,} runs, none lost or counted twice; red are the {len(broken)} broken"
    columns = ["audits", "kills", "sessions to the end", "processes left behind", "what was found", ""]
    row = [tests, kills + 1 - sessions, sessions, left, found, "FAIL" if problems or left else "ok"]
    return [
        Table(f"A session of {tests:,} audits with one failure probability, {processors()} processes", columns, [row])
    ]


def _shares(ledger: Path) -> dict[str, float]:
    """Every test's share of the failure probability, as SQLite alone reads them."""
    with contextlib.closing(sqlite3.connect(ledger, timeout=60)) as database:
        if not database.execute("SELECT name FROM sqlite_master WHERE name = 'tests'").fetchall():
            return {}
        return dict(database.execute("SELECT name, share FROM tests").fetchall())


def _red(report: Path, tests: int) -> set[str]:
    """Names of the tests that a session's report says are refuted.

    Raises:
        ValueError: it lacks some.
    """
    audits = json.loads(report.read_text(encoding="utf-8"))["audits"]
    if len(audits) != tests:
        raise ValueError(f"the report has {len(audits)} of {tests} audits")
    return {audit["verdict"]["id"] for audit in audits if audit["verdict"]["outcome"] == "refuted"}
