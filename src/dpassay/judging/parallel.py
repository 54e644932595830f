"""Judges claims in several processes at once, or on another executor.

The claims of one module of deciders go to one process, one after the other, since they share what the module computed.
"""

import itertools
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, wait
from dataclasses import replace

from dpassay.core.claims import Claim, Context
from dpassay.judging.judge import Judged, judge
from dpassay.runs.parallel import SPAWN, results_in_parallel, submitting, worker

_SECONDS_BETWEEN_LOOKS = 0.5


def judge_in_parallel(
    claims: Sequence[Claim],
    context: Context,
    workers: int | Executor,
    started: Callable[[Claim], None],
    finished: Callable[[Judged], None],
) -> None:
    """Judges the claims; the callbacks run in this process, in the order in which the claims end.

    Args:
        claims: what to judge.
        context: with what; its `progress` is not called.
        workers: how many processes; or an executor, which gives back the claims of one module together. Its workers
            must be processes, since the solvers bear no threads.
        started: called when a claim is begun.
        finished: called with its verdict.

    Raises:
        InvalidInput: a process died.
    """
    # Claims about the data at hand rerun experiments and take longest: they go first.
    ordered = sorted(claims, key=lambda claim: (not claim.data, _module(claim)))
    groups = [list(group) for _, group in itertools.groupby(ordered, key=_module)]
    silent = replace(context, progress=_silent)
    if isinstance(workers, Executor):
        for _, judged in results_in_parallel(_judged, [(silent, group) for group in groups], workers):
            for item in judged:
                started(item.claim)
                finished(item)
        return
    events = SPAWN.Queue()
    missing = len(claims)
    with submitting(workers, len(groups), events=events, context=silent) as submit:
        futures = [submit(_judge, group) for group in groups]
        while missing:
            try:
                kind, value = events.get(timeout=_SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                for future in wait(futures, timeout=0).done:
                    future.result()
                continue
            (finished if kind == "finished" else started)(value)
            missing -= kind == "finished"
        wait(futures)


def _module(claim: Claim) -> str:
    return claim.decide.partition(":")[0]


def _silent(_: str) -> None: ...


def _judged(context: Context, claims: Sequence[Claim]) -> list[Judged]:
    return [judge(claim, context) for claim in claims]


def _judge(claims: Sequence[Claim]) -> None:
    for claim in claims:
        worker["events"].put(("started", claim))
        worker["events"].put(("finished", judge(claim, worker["context"])))
