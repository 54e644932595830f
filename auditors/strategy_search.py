"""Searches the datasets of a Hypothesis strategy for neighbors that samples tell apart by more than is claimed.

Hypothesis draws the pairs (`dpassay.auditors.drawn_datasets`): small and boundary values, and towards those that
promise more (`hypothesis.target`). They are judged as all candidates are (`dpassay.auditors.neighbor_search`):
successive halving over the pairs of a round, by the bound that events learned on a few samples promise on others.

Nothing of that decides, nor does the shrinking, in which Hypothesis asks a seeded audit of each smaller pair. The pair
chosen, and then the pair shrunk, are tested on fresh samples, at most MOST_TESTS pairs before shrinking; the j-th test
of a search has failure probability failure_probability / (j (j + 1)). What chose a pair used other samples, so each
test is one of a pair and an event fixed before, and by the union bound a pair that keeps the claim is accused with
probability at most failure_probability, however many pairs were tried. No test is made while Hypothesis runs: it seeds
Python's and NumPy's global generators for every pair alike, and a mechanism that uses these would repeat in the test
the very noise that chose its pair.
"""

import dataclasses
import hashlib
import math
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpassay.auditors.audit import Audit, mechanism_name, run_audit
from dpassay.auditors.batches import joined
from dpassay.auditors.calling import Caller
from dpassay.auditors.drawing import Stop, check_strategy, learned_neighbors, run_draws
from dpassay.auditors.drawn_datasets import DrawnPair, Neighbors, RecordRelation, dataset_key
from dpassay.auditors.neighbor_search import FEWEST, KEPT, MOST_TESTS, SEARCHING, Candidate, Changed, Search
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim, Witness
from dpassay.core.protocol import CallableMechanism, as_mechanism
from dpassay.data.ratings import Ratings
from dpassay.report.dataset_code import dataset_code
from dpassay.runs.fingerprint import contents
from dpassay.runs.steps import Steps

if TYPE_CHECKING:
    from hypothesis import strategies as st

SEARCH_SHARE = 0.7  # of the time, where an audit of the pair follows
DEFAULT_TIME_LIMIT = 20.0  # seconds of both
ROUND = 100  # pairs that Hypothesis draws in one round
ENOUGH = 3  # pairs of a round that promise a violation end it
LEAST = 0.1  # nats beyond the claim, for which a test of a pair shrunk is made at least
CLEAR = 0.5  # nats beyond the claim; a pair that promises more is tested at once
SHRINKING = 0.7  # of what the search left; the rest is for the test of the pair shrunk
LOOKING = 0.2  # of the time, at most, in which is learned what the datasets have in common
QUICK = 0.1  # seconds of a call, up to which more than one is timed
CALL_LIMIT = 60.0  # seconds after which a call counts as hanging


@dataclass(frozen=True)
class DrawnWitness(Witness):
    """A witness of two datasets of any type; printed, it is code that makes them and audits them again.

    Attributes:
        relation: which two datasets are neighbors.
        code: Python that makes `dataset1` and `dataset2`, and fails where the mechanism still tells them apart.
    """

    relation: Any
    code: str = field(default="", repr=False)

    @property
    def changed(self) -> list[tuple[int, int]]:
        """Empty: which cells differ is a question about matrices."""
        return []

    def _shown(self) -> tuple[str, list[str]]:
        return "datasets", self.code.splitlines()

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping, the datasets as Python code."""
        empty = dataclasses.replace(self, dataset1=np.zeros((0, 0)), dataset2=np.zeros((0, 0)))
        codes = {"dataset1": dataset_key(self.dataset1), "dataset2": dataset_key(self.dataset2), "code": self.code}
        return {**Witness.to_json(empty), **codes}


def pair_code(mechanism: Any, dataset1: Any, dataset2: Any, claim: PrivacyClaim) -> str:
    """Python that makes both datasets and audits them; of a claim that is a curve, at its first point."""
    function = getattr(mechanism, "function", mechanism)
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "__main__")
    (one, imports1), (two, imports2) = map(dataset_code, (dataset1, dataset2))
    needed = {*imports1, *imports2, "from dpassay.pytest_plugin import assert_private"}
    if name.isidentifier() and module != "__main__":
        needed.add(f"from {module} import {name}")
    epsilon, delta = claim.own_nulls[0]
    stated = f"epsilon={epsilon!r}" + (f", delta={delta!r}" if delta else "")
    call = f"assert_private({name if name.isidentifier() else 'mechanism'}, dataset1, dataset2, {stated})"
    return "\n".join([*sorted(needed), "", f"dataset1 = {one}", f"dataset2 = {two}", call])


@dataclass(frozen=True)
class PairAudit(Audit):
    """An audit of a pair that was searched for; `code` makes the datasets and audits them again."""

    code: str = field(default="", repr=False)

    def to_json(self) -> dict[str, Any]:
        """As of every audit, with the code."""
        return {**super().to_json(), "code": self.code}


@dataclass(frozen=True)
class StrategySearch:
    """What a search ended on.

    Attributes:
        witness: None where no test refuted the claim, which is no proof of privacy.
        pair: the witness's, else the most promising one.
        tried: how many pairs were judged.
        failed: on how many the mechanism gave no output at all.
        promise: of the best pair, nats above what the claim allows, by the samples that chose it: no evidence.
        samples: of each of its datasets, by which it was chosen.
    """

    witness: DrawnWitness | None
    pair: DrawnPair
    tried: int
    failed: int
    promise: float
    samples: int


def search_strategy(
    mechanism: Any,
    relation: RecordRelation | str,
    datasets: "st.SearchStrategy[Any]",
    *,
    claim: PrivacyClaim,
    failure_probability: float = 0.05,
    time_limit: float = 60.0,
    seed: int = 0,
    remember: bool = True,
    progress: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    resume: Path | str | None = None,
) -> StrategySearch:
    """Looks for neighboring datasets of a strategy on which samples refute a claim, and shrinks them.

    Args:
        mechanism: as in `dpassay.audit`.
        relation: or its text, for example "add_or_remove_one:record"; see `RecordRelation`.
        datasets: a Hypothesis strategy that draws datasets.
        claim: of any kind; its own relation is not looked at.
        failure_probability: of a witness that keeps the claim, or whose bounds are wrong.
        time_limit: seconds, shrinking included.
        seed: of everything random.
        remember: keep the pair found in Hypothesis' database, and try first what is there.
        progress: called with a line when a step advances.
        executor: whose workers share the draws of the tests.
        resume: a file that keeps the steps, as in `dpassay.search`.

    Raises:
        InvalidInput: Hypothesis is missing, no strategy, a relation without meaning for its datasets, a mechanism that
            gives no output on any, or that changes them.
    """
    mechanism = as_mechanism(mechanism)
    if not 0 < failure_probability < 1:
        raise InvalidInput(f"failure_probability is {failure_probability}; it must lie between 0 and 1")
    if not 0 < time_limit < math.inf:
        raise InvalidInput(f"time_limit is {time_limit}; give a number of seconds above 0")
    if math.isinf(claim.parameter):
        raise InvalidInput("the claim is infinite, which claims nothing; give a finite number")
    relation = relation if isinstance(relation, RecordRelation) else RecordRelation.parse(relation)
    check_strategy(datasets)
    say = progress or (lambda _: None)
    # Imported here: seconds that are not to be taken from the search.
    from dpassay.auditors import events, one_shot, outputs, sampling  # noqa: F401

    drawn = re.sub(r" at 0x[0-9a-f]+", "", repr(datasets))  # addresses differ between runs
    about = [str(relation), failure_probability, seed, drawn]
    steps = Steps(resume, mechanism, claim, about, __name__)
    neighbors = learned_neighbors(datasets, relation, seed, time.monotonic() + LOOKING * time_limit)
    claim = dataclasses.replace(claim, relation=None)
    search = _StrategySearch(mechanism, neighbors, claim, failure_probability, seed, remember, executor, steps)
    search.window = SEARCHING * time_limit
    witness = search.find(SEARCHING * time_limit, time_limit, say)
    best = max(search.best.values(), key=lambda candidate: candidate.promise)
    if witness is None:
        return StrategySearch(None, best.pair, len(search.best), search.failed, best.promise, best.samples)
    witness = search.shrink(witness, time_limit, say)
    pair = DrawnPair(witness.dataset1, witness.dataset2)
    return StrategySearch(witness, pair, len(search.best), search.failed, best.promise, best.samples)  # type: ignore[arg-type]


def audit_strategy(
    mechanism: Any,
    datasets: "st.SearchStrategy[Any]",
    relation: RecordRelation | str,
    *,
    claim: PrivacyClaim,
    failure_probability: float,
    num_samples: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    ledger: Any = None,
    **options: Any,
) -> PairAudit:
    """Searches for a violating pair and audits the pair found, else the most promising one.

    Arguments are those of `search_strategy` and of `dpassay.run_audit`. The search has most of the time, 20 seconds by
    default, and half of the failure probability, the audit the rest: together they accuse a mechanism that keeps its
    claim with the failure probability at most. A witness is in the verdict, `refuted` where either of them refutes.

    Raises:
        InvalidInput: as both; and with a ledger, whose bound for all sessions says nothing of pairs that change.
    """
    if ledger is not None:
        raise InvalidInput(
            "a search for pairs keeps no evidence in a ledger: leave the ledger out, or give two datasets"
        )
    limit = DEFAULT_TIME_LIMIT if time_limit is None else time_limit
    shared: dict[str, Any] = {"claim": claim, "failure_probability": failure_probability / 2, "seed": seed}
    found = search_strategy(mechanism, relation, datasets, time_limit=limit * SEARCH_SHARE, **shared)
    rest = {"num_samples": num_samples} if num_samples is not None else {"time_limit": limit * (1 - SEARCH_SHARE)}
    audit = run_audit(mechanism, found.pair.first, found.pair.second, **shared, **rest, **options)
    verdict, bound = audit.verdict, audit.epsilon_lower
    if found.witness is not None and verdict.outcome == "not refuted":
        bound = max(found.witness.epsilon, bound or 0.0)
        verdict = dataclasses.replace(verdict, outcome="refuted", epsilon_lower=bound, explanation=str(found.witness))
    searched = f"of {found.tried} neighboring pairs drawn, the one that promised most was audited"
    failed = f"the mechanism gave no output on {found.failed} of the pairs drawn, which were left out"
    warnings = (*audit.warnings, *([failed] if found.failed else []))
    explanation = verdict.explanation if found.witness is not None else f"{verdict.explanation} ({searched})"
    verdict = dataclasses.replace(verdict, witness=found.witness, warnings=warnings, explanation=explanation)
    parameter = bound if audit.claim.kind == "dp" else audit.parameter_lower
    own = {field.name: getattr(audit, field.name) for field in dataclasses.fields(audit)}
    own |= {"verdict": verdict, "warnings": warnings, "epsilon_lower": bound, "parameter_lower": parameter}
    return PairAudit(**own, code=pair_code(mechanism, *found.pair, audit.claim))


def _remembered(name: str) -> Any:
    """Hypothesis' database under a name of ours: it would name all searches alike, and keep what targets led to."""
    from hypothesis import settings
    from hypothesis.database import ExampleDatabase

    kept, key = settings().database, hashlib.sha256(name.encode()).digest()
    if kept is None:
        return None
    database: ExampleDatabase = kept

    class Named(ExampleDatabase):
        def fetch(self, theirs: bytes) -> Iterable[bytes]:
            return database.fetch(key) if is_main(theirs) else ()

        def save(self, theirs: bytes, value: bytes) -> None:
            if is_main(theirs):
                database.save(key, value)

        def delete(self, theirs: bytes, value: bytes) -> None:
            if is_main(theirs):
                database.delete(key, value)

    def is_main(theirs: bytes) -> bool:
        return not theirs.endswith((b".secondary", b".pareto"))

    return Named()


class _StrategySearch(Search):
    """The search of a strategy; all pairs come from rounds of Hypothesis, which can be run again alike."""

    def __init__(
        self,
        mechanism: Any,
        neighbors: Neighbors,
        claim: PrivacyClaim,
        failure_probability: float,
        seed: int,
        remember: bool,
        executor: Executor | None,
        steps: Steps,
    ) -> None:
        super().__init__(mechanism, neighbors, claim, failure_probability, seed, executor, steps)
        self.pairs = neighbors.pairs(self._look)
        self.best: dict[Any, Candidate] = {}
        self.failed = 0
        self.window = math.inf  # seconds of the search
        self.round_end = math.inf
        self.easiest = 3.0  # the time that a test leaves is for shrinking
        self.promises: dict[str, float] = {}  # of every pair, by the fewest samples: what Hypothesis was told
        self.round_of: dict[str, int] = {}
        name = f"dpassay {mechanism_name(mechanism)} {neighbors.relation}"
        self.database = _remembered(name) if remember else None

    def find(self, search_end: float, end: float, say: Callable[[str], None]) -> Witness | None:
        """Rounds until a test refutes the claim, no pair is left, or the time is over."""
        tested: set[str] = set()
        number, left = -1 if self.database is not None else 0, True
        while True:
            fresh: list[Candidate] = []
            if left:
                left = self._round(number, fresh, search_end)
                number += 1
            elif not self._deepened(search_end):
                break
            if all(candidate.promise < CLEAR for candidate in fresh):
                self._halve(fresh, self.best, search_end)
            if number == 0 and not fresh:
                continue
            if not self.best:
                break
            ranked = sorted(self.best.values(), key=lambda candidate: -candidate.promise)
            say(
                f"{len(self.best)} pairs tried; the best promises {ranked[0].promise:+.3g} nats beyond the claim on "
                f"{ranked[0].samples} samples"
            )
            for candidate in ranked[:2]:
                key = candidate.pair.key
                if candidate.promise > 0 and key not in tested and len(tested) < MOST_TESTS:
                    tested.add(key)
                    witness = self.test(candidate.pair, candidate.promise, end, 1 / 3, say)
                    if witness is not None:
                        return witness
            if len(tested) >= MOST_TESTS or not self._in_time(self.rungs[0], search_end):
                break
        if not self.best and self.problem is not None:
            raise InvalidInput(f"the mechanism gave no outputs on any dataset tried: {self.problem}") from self.problem
        if not self.best:
            raise InvalidInput(
                f"no two datasets that the strategy gives were found to be neighbors ({self.space.relation}); "
                "replace_one:user takes a text as one user's value"
            )
        return None

    def shrink(self, witness: Witness, end: float, say: Callable[[str], None]) -> Witness:
        """Has Hypothesis shrink the pair, then tests what is left; the pair as it was found where that test fails."""
        pair = DrawnPair(witness.dataset1, witness.dataset2)
        number = self.round_of[pair.key]
        if number < 0:  # remembered, so it was shrunk before
            return witness
        chain, answers = [pair], {pair.key: True}
        until = self.steps.now() + SHRINKING * (end - self.steps.now())
        size = next((rung for rung in self.rungs[:-1] if self._promised(pair, rung)), self.rungs[-1])
        surely = next((rung for rung in self.rungs if rung > size), size)

        def violates(drawn: DrawnPair) -> bool:
            key = drawn.key
            if len(chain) == 1:
                self._aim(self.promises.get(key))
                if key != pair.key and self.promises.get(key, 0.0) <= 0:
                    return False  # as it was in the search
            if key not in answers:
                if not self._in_time(size, until):
                    raise Stop
                # Of many pairs some are lucky; those that promise much are none of them.
                promise = self._promise(drawn, size) or 0.0
                answers[key] = promise > CLEAR or (promise > 0 and self._promised(drawn, surely))
            if answers[key]:
                chain.append(drawn)
            return answers[key]

        from hypothesis import Phase

        phases = [Phase.generate, Phase.target, Phase.shrink]
        run_draws(self.pairs, violates, f"{self.seed} {number}", ROUND, phases=phases, database=self.database)
        say(f"shrunk: {sum(answers.values()) - 1} smaller pairs of {len(answers) - 1} tried keep the violation")
        place = len(chain) - 1
        while place > 0 and chain[place].key != pair.key and self.steps.now() < end:
            smaller = self.test(chain[place], max(self._promise(chain[place], size) or 0.0, LEAST), end, 1 / 2, say)
            if smaller is not None:
                return smaller
            place //= 2
        return witness

    def _promised(self, pair: DrawnPair, size: int) -> bool:
        return (self._promise(pair, size) or 0.0) > 0

    def _round(self, number: int, fresh: list[Candidate], end: float) -> bool:
        """Judges the pairs that Hypothesis draws, round -1 those it remembers; whether there may be more."""
        from hypothesis import Phase

        if not self.promises:
            self._fit_drawn(end)
        calls = 0

        def judge(pair: DrawnPair) -> bool:
            nonlocal calls
            calls += 1
            key = pair.key
            if key not in self.promises:
                size = self.rungs[-1 if number < 0 else 0]
                if not self._in_time(size, end) and self.best:
                    raise Stop
                promise = self._promise(pair, size)
                self.failed += promise is None
                self.promises[key] = -math.inf if promise is None else promise
                if promise is not None:
                    self.round_of[key] = number
                    self.best[key] = Candidate(pair, promise, size)
                    fresh.append(self.best[key])
            if number < 0:
                return self.promises[key] > 0  # else Hypothesis forgets it
            if sum(candidate.promise > 0 for candidate in fresh) >= ENOUGH:
                raise Stop
            self._aim(self.promises[key])
            return False

        if number < 0:
            run_draws(self.pairs, judge, str(self.seed), ROUND, phases=[Phase.reuse], database=self.database)
            return True
        phases, self.round_end = [Phase.generate, Phase.target], end
        try:
            seed, kept = f"{self.seed} {number}", self.database
            ended = run_draws(self.pairs, judge, seed, ROUND, phases=phases, database=kept, over=self._is_over)
        finally:
            self.round_end = math.inf
        return not ended or calls >= ROUND

    def _is_over(self) -> bool:
        """Whether a round ends, which may draw thousands of pairs that are none, or were judged before."""
        return bool(self.best) and self.steps.now() > self.round_end

    def _look(self) -> None:
        if self._is_over():
            raise Stop

    def _aim(self, promise: float | None) -> None:
        from hypothesis import target

        if promise is not None and math.isfinite(promise):
            target(promise)

    def _fit_drawn(self, end: float) -> None:
        """Fewer samples for each pair where a call takes long."""
        from hypothesis import Phase

        def first(pair: DrawnPair) -> bool:
            self._fit_rungs(end - self.steps.now(), pair.first)
            raise Stop

        run_draws(self.pairs, first, str(self.seed), 10, phases=[Phase.generate])
        self._check_time(self.steps.now() + self.window)

    def _deepened(self, end: float) -> bool:
        """Judges the most promising pairs that were judged on fewer samples than others; whether there were any."""
        waiting = [candidate for candidate in self.best.values() if candidate.samples < self.rungs[-1]]
        for candidate in sorted(waiting, key=lambda each: -each.promise)[: max(2, math.ceil(KEPT * len(waiting)))]:
            rung = next(rung for rung in self.rungs if rung > candidate.samples)
            if not self._in_time(rung, end):
                return False
            promise = self._promise(candidate.pair, rung)
            self.best[candidate.pair.key] = Candidate(candidate.pair, -math.inf if promise is None else promise, rung)
        return bool(waiting)

    # Datasets of any type

    def _key(self, dataset: Any) -> Any:
        return dataset_key(dataset)

    def _measure(self, dataset: Any) -> None:
        self.seconds = min(self._fresh(dataset, 1)[1] for _ in range(2))  # the first may compile
        if self.seconds < QUICK:  # one call is mostly the start of a thread
            self.seconds = self._fresh(dataset, FEWEST)[1]

    def _sample(self, dataset: Any, size: int, stream: int) -> Any:
        before = contents(dataset)
        caller = Caller(
            self.mechanism, (self._given(dataset),) * 2, seed=self.seed, run=0x5EA2C4 + stream, call_limit=CALL_LIMIT
        )
        outputs = None if isinstance(self.mechanism, CallableMechanism) else self._vectorized(dataset, size, stream)
        if outputs is None:
            parts: list[Any] = []
            done = 0
            while done < size:
                parts.append(caller.outputs(0, 0, len(parts), min(size - done, caller.chunk)))
                done += min(size - done, caller.chunk)
                if caller.error[0] is not None and caller.raised[0] == caller.called[0]:
                    raise caller.error[0]
            outputs = joined(parts)
        if before is not None and contents(dataset) != before:
            raise Changed(
                "the mechanism changes its dataset, so that later calls are about other data; let it work on a copy, "
                "for example copy.deepcopy(dataset)"
            )
        return outputs

    def _vectorized(self, dataset: Any, size: int, stream: int) -> Any:
        """Outputs of a JAX mechanism, not compiled as a whole: every dataset may have a shape of its own."""
        import jax

        keys = jax.random.split(jax.random.fold_in(jax.random.key(self.seed), stream), size)
        given = self._given(dataset)
        try:
            outputs = jax.vmap(lambda key: self.mechanism.sample(key, given))(keys)
        except Exception:  # what cannot be traced is called
            return None
        return jax.tree.map(np.asarray, outputs)

    def _given(self, dataset: Any) -> Any:
        is_python = isinstance(self.mechanism, CallableMechanism)
        return dataset.dense() if isinstance(dataset, Ratings) and not is_python else dataset

    def _witness(self, **found: Any) -> Witness:
        code = pair_code(self.mechanism, found["dataset1"], found["dataset2"], found["claim"])
        return DrawnWitness(**found, code=code)
