"""Judges claims in several processes at once.

The claims of one module of deciders go to one process, one after the other, since they share what the module computed.
"""

import itertools
import multiprocessing
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import TYPE_CHECKING

from dpassay.core.claims import Claim, Context
from dpassay.core.errors import InvalidInput

if TYPE_CHECKING:
    from dpassay.judging.judge import Judged
from dpassay.judging.judge import Judged
from dpassay.runs.parallel import SPAWN, process_pool, worker

__all__ = ["judge_in_parallel"]

_SECONDS_BETWEEN_LOOKS = 0.5


def judge_in_parallel(
    claims: Sequence[Claim],
    context: Context,
    jobs: int,
    started: Callable[[Claim], None],
    finished: Callable[["Judged"], None],
) -> None:
    """Judges the claims in `jobs` processes; the callbacks run in this one, in the order in which the claims end.

    Raises:
        InvalidInput: a process died.
    """
    # Claims about the data at hand rerun experiments and take longest: they go first.
    ordered = sorted(claims, key=lambda claim: (not claim.data, _module(claim)))
    groups = [list(group) for _, group in itertools.groupby(ordered, key=_module)]
    events = SPAWN.Queue()
    missing = len(claims)
    pool = process_pool(min(jobs, len(groups)), events=events, context=replace(context, progress=_silent))
    try:
        futures: list[Future[None]] = [pool.submit(_judge, group) for group in groups]
        while missing:
            try:
                kind, value = events.get(timeout=_SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                for future in wait(futures, timeout=0).done:
                    future.result()
                continue
            (finished if kind == "finished" else started)(value)
            missing -= kind == "finished"
    except BrokenProcessPool as error:
        raise InvalidInput("a judging process died, perhaps for want of memory; go on with --jobs 1") from error
    finally:
        pool.shutdown(wait=not missing, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()


def _module(claim: Claim) -> str:
    return claim.decide.partition(":")[0]


def _silent(_: str) -> None: ...


def _judge(claims: Sequence[Claim]) -> None:
    from dpassay.judging.judge import judge

    for claim in claims:
        worker["events"].put(("started", claim))
        worker["events"].put(("finished", judge(claim, worker["context"])))
