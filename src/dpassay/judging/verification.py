"""The main job: judge claims, seal their certificates, compare with the reviewed verdicts."""

import contextlib
import datetime as dt
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import require
from dpassay.core.progress import Say, Step, silent
from dpassay.core.registry import notation, select, titles
from dpassay.core.version import __version__
from dpassay.data.ratings import Ratings, synthetic
from dpassay.judging.judge import Judged, judge
from dpassay.judging.kept_verdicts import KeptVerdicts
from dpassay.judging.parallel import judge_in_parallel
from dpassay.report.certificate_text import rows
from dpassay.report.progress import in_notebooks
from dpassay.runs.parallel import usable_executor


@dataclass(frozen=True)
class Run:
    """What one call of `verify` judged, and with what."""

    judged: tuple[Judged, ...]
    data: Ratings
    quick: bool
    seed: int
    seconds: float
    command: str = ""

    @property
    def unexpected(self) -> tuple[Judged, ...]:
        """The verdicts that differ from the reviewed file."""
        return tuple(item for item in self.judged if not item.as_expected)

    def rechecked(self) -> "Run":
        """The same after the kernel accepted the theorems that verdicts of the level `kernel` rest on."""
        judged = (
            replace(item, verdict=replace(item.verdict, rechecked=item.verdict.level == "kernel"))
            for item in self.judged
        )
        return replace(self, judged=tuple(judged))

    def to_json(self) -> dict[str, Any]:
        """The mapping that `verify --json` writes; described by `report/verdicts.schema.json`."""
        papers = tuple(dict.fromkeys(item.claim.paper for item in self.judged))
        return {
            "format": "dpassay-verdicts",
            "version": 1,
            "dpassay": __version__,
            "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "data": {
                "name": self.data.name,
                "fingerprint": self.data.fingerprint(),
                "users": self.data.num_users,
                "items": self.data.num_items,
                "ratings": len(self.data),
            },
            "quick": self.quick,
            "seed": self.seed,
            "command": self.command,
            "seconds": round(self.seconds, 1),
            "papers": {paper: titles().get(paper, paper) for paper in papers},
            "notation": {paper: [list(row) for row in notation().get(paper, ())] for paper in papers},
            "claims": {item.claim.id: _claim(item.claim) for item in self.judged},
            "verdicts": [_verdict(item) for item in self.judged],
        }

    def write_certificates(self, folder: Path) -> int:
        """Writes every certificate as a file of its own; returns how many.

        Raises:
            InvalidInput: some cannot be written, which costs none of the others.
        """
        failed: list[InvalidInput] = []
        for item in self.judged:
            for name, certificate in zip(item.file_names(), item.certificates, strict=True):
                try:
                    certificate.write(folder / name)
                except InvalidInput as error:
                    failed.append(error)
        if failed:
            raise InvalidInput(f"{len(failed)} certificates are missing: {failed[0]}")
        return sum(len(item.certificates) for item in self.judged)


def verify(
    paper: str | None = None,
    claims: Sequence[str] | None = None,
    quick: bool = False,
    data: Ratings | Path | None = None,
    executor: Executor | None = None,
) -> list[Verdict]:
    """Judges the papers' claims.

    Args:
        paper: only this paper's claims.
        claims: only these claim ids.
        quick: less work where that does not weaken a verdict.
        data: ratings, or where to read them; None takes the small synthetic set. Claims about a dataset that was not
            given come back `open`.
        executor: of processes, which judge the claims; None judges them here, one after the other. The verdicts are the
            same.

    Raises:
        InvalidInput: unknown paper or claim, unreadable data, or the extra `papers` is not installed.
    """
    jobs = 1 if executor is None else usable_executor(executor)
    with in_notebooks("verify") as progress:
        found = run(paper, claims, quick=quick, data=data, jobs=jobs, progress=progress)
    return [item.verdict for item in found.judged]


def run(
    paper: str | None = None,
    claims: Sequence[str] | None = None,
    *,
    quick: bool = False,
    data: Ratings | Path | None = None,
    seed: int = 0,
    command: str = "",
    jobs: int | Executor = 1,
    cache: Path | None = None,
    started: Callable[[Claim], None] = lambda _: None,
    finished: Callable[[Judged], None] = lambda _: None,
    progress: Say = silent,
) -> Run:
    """Like `verify`, with everything that was found out on the way.

    `jobs` processes judge at once, or an executor does; with more than one, a script that calls this needs the usual
    `if __name__ == "__main__":`, and `progress` hears of whole claims only. With a folder `cache`,
    verdicts are kept there until the run completes, and a run with the same data and settings goes on from those an
    interrupted one left.
    """
    chosen = select(paper, list(claims) if claims else None)
    require("papers")
    context = Context(_ratings(data), quick, seed, lambda text: progress(str(text)))  # its share is not the whole's
    begin = time.perf_counter()
    kept = None if cache is None else KeptVerdicts(cache, context)
    judged: dict[str, Judged] = {}

    def say(text: str) -> None:
        progress(Step(text, len(judged) / len(chosen)))

    def begun(claim: Claim) -> None:
        say(claim.id)
        started(claim)

    def done(item: Judged) -> None:
        judged[item.claim.id] = item
        say(f"{item.claim.id}: {item.verdict.outcome}")
        finished(item)

    def decided(item: Judged) -> None:
        if kept is not None:
            kept.keep(item)
        done(item)

    for claim in chosen:
        if kept is not None and (item := kept.find(claim)) is not None:
            done(item)
    missing = [claim for claim in chosen if claim.id not in judged]
    if isinstance(jobs, Executor) or (jobs > 1 and len(missing) > 1):
        judge_in_parallel(missing, context, jobs, begun, decided)
    else:
        with _hearing_interruptions() as check:
            for claim in missing:
                begun(claim)
                item = judge(claim, context)
                check()
                decided(item)
    if kept is not None:
        kept.clear()
    ordered = tuple(judged[claim.id] for claim in chosen)
    return Run(ordered, context.data, quick, seed, time.perf_counter() - begin, command)


@contextlib.contextmanager
def _hearing_interruptions() -> Iterator[Callable[[], None]]:
    """Yields what raises KeyboardInterrupt if a Ctrl-C was swallowed, so that nothing is made of what it spoiled.

    Python drops what comes while an object is deleted.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        before(number, frame)

    def check() -> None:
        if heard:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hear)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


def _ratings(data: Ratings | Path | None) -> Ratings:
    if data is None:
        return synthetic()
    if isinstance(data, Ratings):
        return data
    from dpassay.data.rating_files import load_ratings

    return load_ratings(data)


def _verdict(item: Judged) -> dict[str, Any]:
    """The verdict, and beside each piece of evidence what its certificate says."""
    content = item.verdict.to_json()
    files = zip(item.file_names(), item.certificates, item.concluded, item.shows, strict=True)
    for record, shown in zip(item.verdict.evidence, content["evidence"], strict=True):
        if record.certificate is not None and (file := next(files, None)) is not None:
            name, certificate, concluded, (lemma, statement) = file
            lines = [list(row) for row in rows(certificate)]
            named = {"id": lemma, "shows": statement} if lemma else {}
            shown["certificate"] = {"file": name, "concludes": concluded, **named, "lines": lines}
    more = {"certificates": item.file_names(), "expected": item.expected, "seconds": round(item.seconds, 2)}
    return content | more


def _claim(claim: Claim) -> dict[str, Any]:
    names = ("id", "paper", "place", "statement", "formula", "predicate", "data", "decide", "source")
    return {**{name: getattr(claim, name) for name in names}, "assumptions": list(claim.assumptions)}
