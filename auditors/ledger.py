"""Evidence that adds up from run to run: e-values in a SQLite file, safe to share and to kill.

What is kept. A hypothesis is "this version of this mechanism keeps this claim on this pair of datasets". A run of an
audit against it multiplies e-values of fresh samples; the ledger keeps each run's latest product on a fixed grid of
parameters, and the evidence of the hypothesis is the product over its runs (their log e-values add up).

Why that is sound. Runs have numbers that are never given out twice, and a run's random streams are folded from its
number: given everything recorded before, its samples are fresh; a run whose samples are those of another is an error
before they count (`LedgerRun.commit`). So the product over runs, watched after every look of every process, is a
nonnegative supermartingale under the hypothesis, and the probability that it ever reaches 1/alpha is at most alpha
(Ville 1939; Ramdas et al. 2023, "Game-theoretic statistics and safe anytime-valid inference", section 2). Versions of
one name have alpha/(j(j+1)) by order of first appearance, which sums to alpha whatever made somebody change the code;
tests enrolled in groups have shares that sum to one in the same way (`Ledger.enroll`). One assumption is stated rather
than checked: whether a process is killed does not depend on samples it has drawn but not yet recorded.

How it is kept. Every operation is one transaction on a connection of its own (SQLite with a busy timeout): a process
killed at any moment leaves what it had recorded, whole, and two processes wait for each other. Every row has a digest
in a table of its own, with one of them all, so that neither a changed row nor a lost one passes for evidence: all are
compared when the file is opened, and each again whenever it is read. What was recorded is in the one file; a journal
beside it only undoes what a killed process had begun. With a write-ahead log recorded rows would be in a second file,
which SQLite reads up to its first damaged page without a word.
"""

import contextlib
import functools
import hashlib
import json
import math
import operator
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.files import is_stream
from dpassay.runs.fingerprint import fingerprint

__all__ = ["Ledger", "LedgerRun", "fingerprint"]

APPLICATION = 0x64706173  # "dpas": what `file` and we ourselves recognize a ledger by
VERSION = 3
SECONDS_TO_WAIT = 60.0

SCHEMA = """
CREATE TABLE hypotheses (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    grid BLOB NOT NULL,
    peak BLOB NOT NULL,
    UNIQUE (name, position),
    UNIQUE (name, fingerprint, grid)
);
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    hypothesis INTEGER NOT NULL REFERENCES hypotheses (id),
    log_e BLOB,
    samples INTEGER NOT NULL DEFAULT 0,
    looks INTEGER NOT NULL DEFAULT 0,
    details TEXT NOT NULL DEFAULT '{}',
    started REAL NOT NULL,
    updated REAL NOT NULL
);
CREATE INDEX runs_of_hypothesis ON runs (hypothesis);
CREATE TABLE tests (
    name TEXT PRIMARY KEY,
    enrolled INTEGER NOT NULL,
    share REAL NOT NULL
);
CREATE TABLE digests (
    relation TEXT NOT NULL,
    row TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    PRIMARY KEY (relation, row)
) WITHOUT ROWID
"""
STATEMENTS = tuple(statement.strip() for statement in SCHEMA.split(";"))
KEYS = {"hypotheses": "id", "runs": "number", "tests": "name"}
"""The tables whose rows have digests, and the column that tells their rows apart. No row is ever deleted."""
ALL = "all"
"""Where `digests` has the sum of all other digests: rows of two moments, each with its digest, are no ledger."""
UNWRITABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}


class Ledger:
    """A ledger file, made when it is not there yet.

    Args:
        path: of the file; SQLite keeps a `-journal` file beside it while a process writes.

    Raises:
        InvalidInput: the place cannot be written, or the file is not a ledger, damaged, or of a newer dpassay.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        try:
            if self.path.is_dir():
                raise InvalidInput(
                    f"the ledger {self.path} is a folder; name a file, for example {self.path / 'ledger.db'}"
                )
            if is_stream(self.path):
                raise InvalidInput(f"the ledger {self.path} is no ordinary file; give another path")
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"cannot make the ledger's folder {self.path.parent}: {error.strerror}") from error
        self._prepare()

    def begin(self, name: str, fingerprint: str, grid: Any) -> "LedgerRun":
        """Starts a run against one hypothesis; its number is given to no other run, in this process or another.

        Args:
            name: what is tested, for example a test's id. It ties versions together: use one name for one claim.
            fingerprint: of this version (see `fingerprint`); evidence is never shared between versions.
            grid: shape (G,), the parameters at which log e-values will be recorded. Another grid is another version.
        """
        points = np.ascontiguousarray(grid, dtype="<f8")
        if points.ndim != 1 or points.size == 0:
            raise InvalidInput(f"the ledger's grid has shape {points.shape}; give a vector of parameters")
        key = (name, fingerprint, points.tobytes())
        now = time.time()
        with self._transaction() as database:
            same = "name = ? AND fingerprint = ? AND grid = ?"
            found = next(((row["id"], row["position"]) for row in _rows(database, "hypotheses", same, key)), (0, 0))
            if not found[0]:
                (last,) = database.execute(
                    "SELECT coalesce(max(position), 0) FROM hypotheses WHERE name = ?", (name,)
                ).fetchone()
                cursor = database.execute(
                    "INSERT INTO hypotheses (name, fingerprint, grid, position, peak) VALUES (?, ?, ?, ?, ?)",
                    (*key, last + 1, np.zeros_like(points).tobytes()),
                )
                found = (int(cursor.lastrowid or 0), last + 1)
                _sign(database, "hypotheses", found[0])
            hypothesis, position = found
            number = database.execute(
                "INSERT INTO runs (hypothesis, started, updated) VALUES (?, ?, ?)", (hypothesis, now, now)
            ).lastrowid
            _sign(database, "runs", number)
        return LedgerRun(self, int(hypothesis), int(number or 0), int(position), points.size)

    def enroll(self, wanted: Mapping[str, float | None]) -> dict[str, float]:
        """Fixes for the ledger's whole life which share of the failure probability each test has.

        Tests seen before keep their share. The new ones of this call are group g: those that ask for a share get it,
        the others split 1/(g+1) of what is left. So shares never sum to more than one, however tests come and go.

        Args:
            wanted: for each test the share it asks for, in (0, 1), or None for an equal part.

        Returns:
            The share of every test in `wanted`.

        Raises:
            InvalidInput: the shares asked for exceed what is left.
        """
        with self._transaction() as database:
            rows = list(_rows(database, "tests"))
            known = {str(row["name"]): float(row["share"]) for row in rows}
            new = {name: share for name, share in wanted.items() if name not in known}
            if new:
                group = 1 + max((int(row["enrolled"]) for row in rows), default=0)
                left = 1.0 - math.fsum(known.values()) - math.fsum(share for share in new.values() if share is not None)
                equal = [name for name, share in new.items() if share is None]
                if left < 0 or (equal and left <= 0):
                    raise InvalidInput(
                        f"the tests ask for more of the failure probability than the ledger {self.path} has left; "
                        "ask for less or start a new ledger"
                    )
                for name, share in new.items():
                    known[name] = left / (group + 1) / len(equal) if share is None else share
                    database.execute("INSERT INTO tests VALUES (?, ?, ?)", (name, group, known[name]))
                    _sign(database, "tests", name)
        return {name: known[name] for name in wanted}

    def _prepare(self) -> None:
        """Checks that the file is a ledger, or makes it one."""
        with self._connection() as database:
            database.execute("BEGIN")  # one moment of a file that others may be writing
            ready = self._checked(database)
            database.execute("COMMIT")
            if ready:
                return
        with self._transaction() as database:
            if self._checked(database):  # another process was faster
                return
            for statement in STATEMENTS:
                database.execute(statement)
            database.execute("INSERT INTO digests VALUES (?, '', ?)", (ALL, _NONE))
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {VERSION}")

    def _checked(self, database: sqlite3.Connection) -> bool:
        """True for a ledger, False for an empty file; raises for anything else."""
        # Tables first: whoever sees them sees the rest too, which another process may be writing just now.
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if not tables and application != APPLICATION:
            return False
        if application != APPLICATION:
            raise InvalidInput(f"{self.path} is another program's database, not a ledger; give another path")
        if version > VERSION:
            raise InvalidInput(f"the ledger {self.path} was written by a newer dpassay; upgrade dpassay")
        if version < VERSION:
            raise InvalidInput(f"the ledger {self.path} was written by an older dpassay; start a new one")
        _check_whole(database)
        return True

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and no other writer in between."""
        with self._connection() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                if database.in_transaction:  # SQLite rolls back itself when the disk is full
                    database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with contextlib.closing(
                sqlite3.connect(self.path, timeout=SECONDS_TO_WAIT, isolation_level=None)
            ) as database:
                database.row_factory = sqlite3.Row
                database.execute("PRAGMA synchronous = FULL")  # a commit survives a power cut
                yield database
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for a damaged name of a table or a column
            raise InvalidInput(self._explained(error)) from error

    def _explained(self, error: Exception) -> str:
        text = " ".join(str(error).split())
        if "locked" in text or "busy" in text:
            return (
                f"the ledger {self.path} was locked for {SECONDS_TO_WAIT:g} s by another process; end it, or wait; if "
                "there is none, its drive cannot lock files: give a path on another"
            )
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in UNWRITABLE:  # the rest says more exactly what fails
            return f"cannot write the ledger {self.path}: {text}; give a path in a folder that can be written"
        return f"{self.path} is not a ledger, or is damaged ({text}); move it away or give another path"


@dataclass(frozen=True)
class LedgerRun:
    """One run's place in the ledger.

    Attributes:
        run: the run's number, from 1, unique in the ledger: fold it into the seed.
        position: j, when this is the j-th version of its name that the ledger has seen.
    """

    ledger: Ledger
    hypothesis: int
    run: int
    position: int
    size: int

    @property
    def share(self) -> float:
        """The factor of the failure probability that this version may spend: 1/(j(j+1)), in (0, 1/2]."""
        return 1.0 / (self.position * (self.position + 1))

    @property
    def past(self) -> np.ndarray:
        """Shape (G,): the log e-values of all other runs against this hypothesis, summed; zeros when there are none."""
        with self.ledger._connection() as database:
            return self._sum(self._others(database))

    @property
    def peak(self) -> np.ndarray:
        """Shape (G,): the most that the log e-values of all runs together have ever come to, at least 0.

        Ville's inequality bounds the supremum, so a parameter that was refuted once stays refuted: further runs cannot
        turn red into green by chance.
        """
        with self.ledger._connection() as database:
            (row,) = _rows(database, "hypotheses", "id = ?", (self.hypothesis,))
        return np.frombuffer(row["peak"], "<f8").copy()

    @property
    def past_runs(self) -> int:
        """How many other runs have recorded evidence."""
        with self.ledger._connection() as database:
            return len(self._others(database))

    @property
    def past_samples(self) -> int:
        """How many samples the other runs have recorded."""
        with self.ledger._connection() as database:
            return sum(int(row["samples"]) for row in self._others(database))

    def commit(self, log_e: Any, samples: int, stamp: str = "") -> np.ndarray:
        """Records this run's evidence so far, in place of what it recorded before, whole or not at all.

        Args:
            log_e: shape (G,), log e-values of this run alone, nats; -inf allowed.
            samples: drawn by this run so far.
            stamp: of the samples (`Sampler.stamp`); two runs that have the same drew the same samples. Empty for none.

        Returns:
            Shape (G,): the log e-values of all runs together at this moment. Moments of commits are the looks in whose
            order the product over runs is a supermartingale, so nothing else is to be compared with a threshold.

        Raises:
            InvalidInput: the evidence does not fit the grid or holds NaN or +inf; another run has the same samples, of
                which nothing is recorded twice; the ledger cannot be written.
        """
        evidence = np.ascontiguousarray(log_e, dtype="<f8")
        if evidence.shape != (self.size,) or np.isnan(evidence).any() or (evidence == math.inf).any():
            raise InvalidInput(f"evidence must be {self.size} log e-values below infinity, got shape {evidence.shape}")
        details = json.dumps({"stamp": stamp} if stamp else {})
        with self.ledger._transaction() as database:
            others = self._others(database)
            if stamp and (same := [row["number"] for row in others if row["details"] == details]):
                raise InvalidInput(
                    f"runs {same[0]} and {self.run} of the ledger {self.ledger.path} drew the same samples; draw "
                    "all randomness from the generator or key that is passed in, not from one that your code seeds"
                )
            own = next(_rows(database, "runs", "number = ? AND hypothesis = ?", (self.run, self.hypothesis)), None)
            found = next(_rows(database, "hypotheses", "id = ?", (self.hypothesis,)), None)
            if own is None or found is None or len(found["peak"]) != evidence.nbytes:
                raise InvalidInput(f"the ledger {self.ledger.path} was replaced during the run; start the run again")
            total = self._sum(others) + evidence
            peak = np.maximum(np.frombuffer(found["peak"], "<f8"), total)
            database.execute(
                "UPDATE runs SET log_e = ?, samples = ?, looks = looks + 1, details = ?, updated = ? WHERE number = ?",
                (evidence.tobytes(), int(samples), details, time.time(), self.run),
            )
            database.execute("UPDATE hypotheses SET peak = ? WHERE id = ?", (peak.tobytes(), self.hypothesis))
            _sign(database, "runs", self.run)
            _sign(database, "hypotheses", self.hypothesis)
        return total

    def _others(self, database: sqlite3.Connection) -> list[sqlite3.Row]:
        """Every other run that has recorded evidence against the hypothesis."""
        others = "number <> ? AND hypothesis = ? AND log_e IS NOT NULL ORDER BY number"
        return list(_rows(database, "runs", others, (self.run, self.hypothesis)))

    def _sum(self, runs: Sequence[sqlite3.Row]) -> np.ndarray:
        total = np.zeros(self.size)
        for row in runs:
            total += np.frombuffer(row["log_e"], "<f8")
        return total


def _rows(
    database: sqlite3.Connection, table: str, condition: str = "TRUE", values: Sequence[Any] = ()
) -> Iterator[sqlite3.Row]:
    """Rows of a table, each compared with its digest.

    Raises:
        sqlite3.DatabaseError: one differs, or has none.
    """
    signed = f"relation = '{table}' AND row = CAST({KEYS[table]} AS TEXT)"
    query = f"SELECT {table}.*, sha256 FROM {table} LEFT JOIN digests ON {signed} WHERE {condition}"
    for row in database.execute(query, values):
        if row["sha256"] != _digest(table, row[:-1]):
            raise sqlite3.DatabaseError(f"a row of {table} differs from its digest")
        yield row


def _sign(database: sqlite3.Connection, table: str, key: Any) -> None:
    """Writes the digest of a row that was just written, and the sum of all."""
    row = database.execute(f"SELECT * FROM {table} WHERE {KEYS[table]} = ?", (key,)).fetchone()
    before, after = _recorded(database, table, str(key)), _digest(table, row)
    database.execute("INSERT OR REPLACE INTO digests VALUES (?, ?, ?)", (table, str(key), after))
    total = _added(_recorded(database, ALL, ""), before, after)
    database.execute("UPDATE digests SET sha256 = ? WHERE relation = ?", (total, ALL))


def _recorded(database: sqlite3.Connection, table: str, key: str) -> bytes:
    found = database.execute("SELECT sha256 FROM digests WHERE relation = ? AND row = ?", (table, key)).fetchone()
    return bytes(found[0]) if found else _NONE


def _added(*digests: bytes) -> bytes:
    """Their sum bit by bit, in which equal ones cancel."""
    return functools.reduce(operator.xor, (int.from_bytes(each) for each in digests), 0).to_bytes(len(_NONE))


def _digest(table: str, row: Sequence[Any]) -> bytes:
    return hashlib.sha256(repr((table, *row)).encode()).digest()


_NONE = bytes(hashlib.sha256().digest_size)


def _check_whole(database: sqlite3.Connection) -> None:
    """Compares every row with its digest, and sees that none is lost.

    Raises:
        sqlite3.DatabaseError: the file is damaged.
    """
    statements = {sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if statements != set(STATEMENTS):
        raise sqlite3.DatabaseError("its tables are others")
    (answer,) = database.execute("PRAGMA integrity_check(1)").fetchone()  # finds indexes that lost a row
    if answer != "ok":
        raise sqlite3.DatabaseError(" ".join(answer.split()))
    rows = [row["sha256"] for table in KEYS for row in _rows(database, table)]
    (recorded,) = database.execute("SELECT count(*) FROM digests WHERE relation <> ?", (ALL,)).fetchone()
    if recorded != len(rows) or _added(*rows) != _recorded(database, ALL, ""):
        raise sqlite3.DatabaseError("rows are lost")
