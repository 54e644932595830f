"""The ledger: evidence adds up from run to run, whatever is killed, shared or damaged."""

import contextlib
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dpassay.auditors.ledger import VERSION, Ledger, _sign
from dpassay.core.errors import InvalidInput

GRID = np.array([0.0, 0.5, 1.0])


def begin(ledger, name="laplace", version="first", grid=GRID):
    return ledger.begin(name, version, grid)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "ledger.db"


def test_evidence_of_other_runs_adds_up(path):
    one = begin(Ledger(path))
    assert one.past.tolist() == [0, 0, 0]
    one.commit([3.0, 2.0, 1.0], samples=10)
    two = begin(Ledger(path))
    assert two.commit([0.5, -1.0, -math.inf], samples=20).tolist() == [3.5, 1.0, -math.inf]
    three = begin(Ledger(path))
    assert three.past.tolist() == [3.5, 1.0, -math.inf]
    assert (three.past_runs, three.past_samples) == (2, 30)
    assert two.past.tolist() == [3, 2, 1]
    assert [one.run, two.run, three.run] == [1, 2, 3]


def test_a_commit_replaces_the_runs_own_evidence(path):
    one, two = begin(Ledger(path)), begin(Ledger(path))
    for log_e in ([1.0, 1, 1], [5.0, 4, 3], [2.0, 2, 2]):
        one.commit(log_e, samples=1)
        assert two.past.tolist() == log_e
    assert two.past_runs == 1


def test_two_runs_with_the_same_samples_are_refused(path):
    ledger = Ledger(path)
    one, two, three = (begin(ledger) for _ in range(3))
    one.commit([3.0, 2.0, 1.0], samples=10, stamp="first")
    one.commit([4.0, 2.0, 1.0], samples=20, stamp="first")
    with pytest.raises(InvalidInput, match=r"runs 1 and 2 of the ledger .* drew the same samples"):
        two.commit([3.0, 2.0, 1.0], samples=10, stamp="first")
    assert three.past.tolist() == [4.0, 2.0, 1.0]
    three.commit([1.0, 1.0, 1.0], samples=10, stamp="another")
    assert begin(ledger, "other").commit([1.0, 1.0, 1.0], samples=10, stamp="first").tolist() == [1.0, 1.0, 1.0]


def test_what_was_refuted_once_stays_so(path):
    one, two = begin(Ledger(path)), begin(Ledger(path))
    assert one.peak.tolist() == [0, 0, 0]
    one.commit([3.0, 1.0, -1.0], samples=1)
    two.commit([2.0, -2.0, -math.inf], samples=1)
    one.commit([-9.0, 4.0, 0.0], samples=2)
    assert two.past.tolist() == [-9, 4, 0]
    assert one.peak.tolist() == two.peak.tolist() == [5, 2, 0]
    assert begin(Ledger(path)).peak.tolist() == [5, 2, 0]
    assert begin(Ledger(path), version="mended").peak.tolist() == [0, 0, 0]


def test_versions_share_no_evidence_and_split_the_failure_probability(path):
    ledger = Ledger(path)
    begin(ledger).commit([9.0, 9, 9], samples=1)
    mended = begin(ledger, version="mended")
    assert mended.past.tolist() == [0, 0, 0]
    assert [run.share for run in (begin(ledger), mended, begin(ledger, grid=[0.0, 1.0]))] == [1 / 2, 1 / 6, 1 / 12]
    back = begin(ledger)
    assert back.past[0] == 9
    assert back.share == 1 / 2
    other = begin(ledger, name="gaussian")
    assert other.share == 1 / 2
    assert other.past[0] == 0
    assert len({run.run for run in (mended, back, other)}) == 3


@pytest.mark.parametrize("log_e", [[1.0, 2.0], [math.nan, 0, 0], [math.inf, 0, 0]])
def test_unusable_evidence_is_refused_and_changes_nothing(path, log_e):
    run = begin(Ledger(path))
    run.commit([1.0, 1, 1], samples=1)
    with pytest.raises(InvalidInput, match="evidence must be 3 log e-values"):
        run.commit(log_e, samples=2)
    assert begin(Ledger(path)).past.tolist() == [1, 1, 1]


def test_tests_keep_their_share_and_all_shares_sum_to_at_most_one(path):
    ledger = Ledger(path)
    first = ledger.enroll({"a": None, "b": None, "important": 0.25})
    assert first == {"a": 0.1875, "b": 0.1875, "important": 0.25}
    assert Ledger(path).enroll({"b": None, "c": None})["b"] == 0.1875
    everything = dict(first)
    for name in map(str, range(60)):
        everything |= ledger.enroll({name: None})
    assert math.fsum(ledger.enroll(dict.fromkeys([*everything, "c"])).values()) < 1
    with pytest.raises(InvalidInput, match="ask for less or start a new ledger"):
        ledger.enroll({"greedy": 0.9})
    assert ledger.enroll({"modest": None})["modest"] > 0


CHILD = """
import sys
from dpassay.auditors.ledger import Ledger
path, marks = sys.argv[1:]
run = Ledger(path).begin("laplace", "first", [0.0, 0.5, 1.0])
for look in range(1, 10**6):
    run.commit([float(look), 0.0, 0.0], samples=look)
    with open(marks, "a") as file:
        file.write(f"{run.run} {look}\\n")
"""


def child(code, *arguments):
    source = str(Path(__file__).parents[2] / "src")
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], env={**os.environ, "PYTHONPATH": source}
    )


def test_killed_at_any_moment_nothing_is_lost_or_counted_twice(path, tmp_path):
    marks = tmp_path / "marks"
    marks.touch()
    Ledger(path)
    for kill in range(8):
        length = marks.stat().st_size
        process = child(CHILD, path, marks)
        deadline = time.monotonic() + 60
        while marks.stat().st_size <= length and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.007 * kill)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    written = [(int(run), int(look)) for run, look in map(str.split, marks.read_text().splitlines())]
    last: dict[int, int] = dict(written)
    assert sorted(last) == list(range(1, 9))
    total = begin(Ledger(path)).past[0]
    # Each child was killed somewhere between its commit and its mark: at most one look more than marked.
    assert sum(last.values()) <= total <= sum(last.values()) + len(last)
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


FULL = """
import resource, sys
from pathlib import Path
from dpassay.auditors.ledger import Ledger
from dpassay.core.errors import InvalidInput
path = Path(sys.argv[1])
run = Ledger(path).begin("laplace", "first", [0.0, 0.5, 1.0])
run.commit([1.0, 0.0, 0.0], samples=5)
most = min(int(sys.argv[2]), path.stat().st_size)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))  # stands for a full disk
try:
    for number in range(10**4):
        Ledger(path).begin(f"{number}" * 100, "first", [0.0, 0.5, 1.0])
except InvalidInput as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file size")
@pytest.mark.parametrize("most", ["600", "1000000"], ids=["not even a journal fits", "it cannot grow"])
def test_on_a_full_disk_the_ledger_says_so_and_keeps_what_it_has(path, most):
    told = subprocess.run([sys.executable, "-c", FULL, str(path), most], capture_output=True, text=True, check=True)
    assert told.stdout.startswith(f"cannot write the ledger {path}: ")
    assert begin(Ledger(path)).past.tolist() == [1, 0, 0]


PARTNER = """
import sys
from dpassay.auditors.ledger import Ledger
path, name = sys.argv[1:]
for repeat in range(15):
    ledger = Ledger(path)
    ledger.enroll({name: None, "both": None})
    run = ledger.begin("laplace", "first", [0.0, 0.5, 1.0])
    for look in range(1, 4):
        run.commit([float(look), -1.0, 0.0], samples=2 * look)
        run.past
"""


def test_processes_share_a_ledger(path):
    # The file is not there yet: both also race to make it.
    processes = [child(PARTNER, path, name) for name in ("one", "two", "three")]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    run = begin(Ledger(path))
    assert run.past.tolist() == [45 * 3.0, -45.0, 0.0]
    assert (run.run, run.past_runs, run.past_samples) == (46, 45, 45 * 6)
    shares = Ledger(path).enroll(dict.fromkeys(["one", "two", "three", "both"]))
    assert math.fsum(shares.values()) <= 1


def test_a_new_ledger_may_be_made_by_many_at_once(tmp_path):
    def make(name):
        together.wait()
        return Ledger(tmp_path / name).enroll({"test": None})

    together = threading.Barrier(6)
    with ThreadPoolExecutor(6) as pool:
        for number in range(40):
            shares = list(pool.map(make, [f"{number}.db"] * 6))
            assert shares == [shares[0]] * 6


def damaged(path):
    begin(Ledger(path)).commit([1.0, 1, 1], samples=1)
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)


def text(path):
    path.write_text("These are my notes, not a ledger.\n" * 50)


def foreign(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE photos (id INTEGER)")


def newer(path):
    Ledger(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")


def older(path):
    Ledger(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 1")


CUT = "DELETE FROM runs WHERE number = 2; DELETE FROM digests WHERE relation = 'runs' AND row = '2'"


def changed(statements):
    """A ledger in which rows differ from what was recorded."""

    def make(path):
        ledger = Ledger(path)
        ledger.enroll({"a": 0.25, "b": None})
        begin(ledger).commit([1.0, 1, 1], samples=1)
        begin(ledger).commit([1.0, 1, 1], samples=1)
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for statement in statements.split("; "):
                assert database.execute(statement).rowcount > 0

    return make


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (older, "written by an older dpassay; start a new one"),
        (changed("UPDATE runs SET samples = 2 WHERE number = 1"), "is damaged .a row of runs differs"),
        (changed("UPDATE tests SET share = 0.5 WHERE name = 'a'"), "is damaged .a row of tests differs"),
        (changed("UPDATE hypotheses SET peak = zeroblob(24)"), "is damaged .a row of hypotheses differs"),
        (changed("DELETE FROM runs WHERE number = 2"), "is damaged .rows are lost"),
        (changed(CUT), "is damaged .rows are lost"),
        (changed("DELETE FROM digests WHERE relation = 'tests' AND row = 'b'"), "is damaged .a row of tests differs"),
        (damaged, "is not a ledger, or is damaged"),
        (text, "is not a ledger, or is damaged"),
        (foreign, "is another program's database"),
        (newer, "written by a newer dpassay; upgrade"),
        (Path.mkdir, "is a folder; name a file"),
    ],
)
def test_what_is_no_ledger_gets_one_line_and_stays_as_it_is(tmp_path, make, message):
    path = tmp_path / "ledger.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InvalidInput, match=message) as caught:
        begin(Ledger(path))
    assert "\n" not in str(caught.value)
    assert before == (path.read_bytes() if path.is_file() else None)


def content(path):
    """All that a run can learn from a ledger."""
    ledger = Ledger(path)
    one, other = begin(ledger), begin(ledger, version="mended")
    read = [
        (run.run, run.position, run.past.tolist(), run.peak.tolist(), run.past_runs, run.past_samples)
        for run in (one, other)
    ]
    return repr((read, ledger.enroll({"a": None, "b": None}), one.commit([0.25, 0.5, 1.0], 1, "third").tolist()))


def test_flipped_bytes_never_give_other_content(path):
    ledger = Ledger(path)
    ledger.enroll({"a": None, "b": 0.25})
    for version in ("first", "mended"):
        for number in range(1, 13):
            begin(ledger, version=version).commit([0.5, -number, -math.inf], samples=number, stamp=f"{number}")
    whole = path.read_bytes()
    expected = content(path)
    generator = np.random.default_rng(7)
    lines = []
    for place, change in zip(generator.integers(len(whole), size=150), generator.integers(1, 256, 150), strict=True):
        damaged = bytearray(whole)
        damaged[place] ^= change
        for beside in path.parent.iterdir():
            beside.unlink()
        path.write_bytes(damaged)
        try:
            found = content(path)
        except InvalidInput as error:
            lines.append(str(error))
        else:
            assert found == expected, (place, change)
    assert not any("\n" in line for line in lines)
    assert len(lines) > 15  # much of a small file is empty pages, whose bytes say nothing


def rows(path):
    """Everything recorded in a ledger that opens."""
    Ledger(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        return [database.execute(f"SELECT * FROM {table}").fetchall() for table in ("hypotheses", "runs", "tests")]


def test_flipped_bytes_in_what_a_killed_process_leaves_give_no_third_content(path, tmp_path):
    """A process killed in the middle of a commit, some of whose pages are written, leaves a ledger and a journal."""
    ledger = Ledger(path)
    for number in range(1, 40):
        begin(ledger, name=f"{number}").commit([0.5, -number, -math.inf], samples=number, stamp=f"{number}")
    killed = tmp_path / "killed"
    allowed = [rows(path)]
    with ledger._transaction() as database:
        database.execute("PRAGMA cache_size = 1")  # a page is written as soon as another one is needed
        for number in range(1, 40):
            database.execute("UPDATE runs SET samples = samples + 1 WHERE number = ?", (number,))
            _sign(database, "runs", number)
        shutil.copytree(path.parent, killed)
    allowed.append(rows(path))
    whole = {file.name: file.read_bytes() for file in killed.iterdir()}
    assert set(whole) == {"ledger.db", "ledger.db-journal"}
    assert rows(killed / "ledger.db") == allowed[0] != allowed[1]
    generator = np.random.default_rng(7)
    refused = 0
    for name, part in whole.items():
        for place, change in zip(generator.integers(len(part), size=60), generator.integers(1, 256, 60), strict=True):
            damaged = bytearray(part)
            damaged[place] ^= change
            for file, content in {**whole, name: bytes(damaged)}.items():
                (killed / file).write_bytes(content)
            try:
                assert rows(killed / "ledger.db") in allowed, (name, place, change)
            except InvalidInput:
                refused += 1
    assert refused > 12


def test_a_place_that_cannot_be_written_gets_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot make the ledger's folder") as caught:
        Ledger(tmp_path / "file" / "inside" / "ledger.db")
    assert "\n" not in str(caught.value)


def test_a_read_only_database_gets_one_line(path, monkeypatch):
    ledger = Ledger(path)
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(f"file:{path}?mode=ro", uri=True, **options)
    )
    with pytest.raises(InvalidInput, match=r"cannot write the ledger .* readonly"):
        begin(ledger)


def test_a_lock_that_is_never_released_gets_one_line(path, monkeypatch):
    ledger = Ledger(path)
    monkeypatch.setattr("dpassay.auditors.ledger.SECONDS_TO_WAIT", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(InvalidInput, match=r"was locked for .* by another process"):
        begin(ledger)
    holder.close()
    assert begin(ledger).run == 1


def test_a_ledger_replaced_during_a_run_is_noticed(path):
    run = begin(Ledger(path))
    path.unlink()
    Ledger(path)
    with pytest.raises(InvalidInput, match="was replaced during the run"):
        run.commit([1.0, 1, 1], samples=1)


# The theorem, by simulation: a fair bet on a coin, many runs that share one ledger, stopped when it looks best.
def test_the_product_over_runs_keeps_the_failure_probability(path):
    failure_probability, hypotheses, runs, alarms = 0.2, 60, 4, 0
    ledger = Ledger(path)
    for index in range(hypotheses):
        alarm = False
        for _ in range(runs):
            run = begin(ledger, name=str(index), grid=[1.0])
            fair = np.random.default_rng([7, run.run]).random(20) < 0.5
            total = run.past[0] + np.cumsum(np.where(fair, math.log(1.5), math.log(0.5)))
            above = total >= -math.log(failure_probability)  # the version's share is set aside to see more alarms
            stop = int(np.argmax(above)) if above.any() else len(total) - 1
            alarm = alarm or bool(above.any())
            run.commit([total[stop] - run.past[0]], samples=stop + 1)
        alarms += alarm
    # Ville: at most 12 of 60 expected; 31 has a binomial probability below 1e-6, and none would mean a broken test.
    assert 0 < alarms < 31
