"""Whether a map is as stable as it claims: the observed distance of outputs against the declared one.

Hypothesis draws pairs of datasets at the claimed distance, extreme ones first (`dpassay.auditors.extreme_datasets`),
and is led towards outputs that lie farther apart. All distances are exact (`dpassay.replay.distances`), so a pair whose
outputs are farther apart than claimed is a counterexample, not a statistic: no correct map is refuted, at any seed. The
pair is then shrunk among those that break the claim by at least half as much, and called once more outside Hypothesis,
on copies, before anything is said; the trusted checker has the last word.

Definition: stability, as in OpenDP (Gaboardi, Hay and Vadhan 2020, sec. 2): d(x, y) <= d_in implies
d(f(x), f(y)) <= d_out.
"""

import copy
import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpassay.auditors.drawing import Stop, first_draws, run_draws
from dpassay.auditors.drawn_datasets import DrawnPair
from dpassay.auditors.opendp_maps import is_transformation, opendp_map
from dpassay.auditors.stable_maps import StableMap, one_line_of, plain, python_map
from dpassay.core.certificate import Certificate
from dpassay.core.claims import Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import require
from dpassay.replay import OWN, Rejected, check, seal_own
from dpassay.replay.distances import Exact, NoDistance, bound, distance, key
from dpassay.replay.stability import encoded
from dpassay.report.dataset_code import dataset_code

ID = OWN["stability"]
TRIED = 8  # datasets on which is seen that two calls agree and change nothing
PATIENCE = 200  # pairs more, once one breaks the claim: a worse one may come
KEPT = Fraction(1, 2)  # of what was found beyond the claim, that shrinking keeps at least
LONG = 12  # records, from which on a list is printed by its runs
ROOT_BITS = 64
DIFFERENT = (
    "two calls on the same data give different outputs: stability is a question about deterministic functions; check "
    "the part before the noise, and audit the whole with dp.audit"
)


@dataclass(frozen=True)
class StabilityWitness:
    """Two datasets at the claimed distance whose outputs are farther apart than claimed; printed, it is code.

    Attributes:
        output1, output2: what the map gave, or `{"raises": name of an exception}`.
        distance_in, distance_out: exact; of outputs of another shape, or of an exception on one side, infinity. The
            root of a number that has no rational one is rounded down.
        d_in, d_out: the claim.
        code: Python that makes both datasets and calls the map.
        inputs: of the certificate, which `dpassay.replay` re-checks.
    """

    dataset1: Any = field(repr=False)
    dataset2: Any = field(repr=False)
    output1: Any = field(repr=False)
    output2: Any = field(repr=False)
    distance_in: Exact
    distance_out: Exact
    d_in: Fraction
    d_out: Fraction
    input_metric: str
    output_metric: str
    code: str = field(repr=False)
    inputs: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.code

    def certificate(self) -> Certificate:
        """What `replay` re-checks: the pair, both outputs, both distances; `.write(path)` makes the file."""
        return seal_own("stability", self.inputs)

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping; exact numbers and values as in the certificate."""
        return {**self.inputs, "distance_in": str(self.distance_in), "distance_out": str(self.distance_out)} | {
            "code": self.code
        }


def check_stability(
    function: Any,
    *,
    d_in: Any = None,
    d_out: Any = None,
    relation: Any = None,
    input_metric: str | None = None,
    output_metric: str | None = None,
    datasets: Any = None,
    max_examples: int = 1000,
    time_limit: float = 20.0,
    seed: int = 0,
) -> Verdict:
    """Compares the distance of outputs that a map is observed to have with the one that is declared.

    Args:
        function: an OpenDP Transformation, which states its own domain, metrics and map; or a Python function of one
            dataset, deterministic, that gives a number, a list or array of numbers, a dict of them, or a dataset.
        d_in: distance of two datasets, 1 by default (2 for a Transformation of records of a fixed number).
        d_out: claimed distance of their outputs; of a Transformation its own claim by default.
        relation: which two datasets are at distance 1, for example "replace_one:record" or
            "add_or_remove_one:user" (see `dpassay.auditors.drawn_datasets.RecordRelation`); by default
            "add_or_remove_one:record". The order of records counts.
        input_metric: in place of a relation, "symmetric" or "change_one" (the order does not count),
            "insert_delete" or "hamming" (it does), or of numbers and vectors "absolute", "l1", "l2", "linf".
        output_metric: of outputs; by default "absolute" for numbers and "l1" for lists, arrays and dicts.
        datasets: a Hypothesis strategy of datasets; without it a function's parameter must be annotated with `int`,
            `float`, `str`, `bool` or a list of one of these.
        max_examples: pairs drawn; shrinking takes some hundred calls more.
        time_limit: seconds, shrinking included; a run that it ends depends on the machine.
        seed: of everything random.

    Returns:
        `refuted` with `.witness` (a `StabilityWitness`, exact); `not refuted`, which is no proof of stability; `open`
        where no pair could be judged.

    Raises:
        InvalidInput: Hypothesis is missing, something of the claim is missing or means nothing, or a function whose
            two calls on the same data differ, that changes its data, or that fails on all.
    """
    require("search")
    if not isinstance(max_examples, int) or max_examples < 1:
        raise InvalidInput(f"max_examples is {max_examples!r}; give an integer above 0")
    if not 0 < time_limit < math.inf:
        raise InvalidInput(f"time_limit is {time_limit}; give a number of seconds above 0")
    end = time.monotonic() + time_limit
    given = {"d_in": d_in, "d_out": d_out, "datasets": datasets, "seed": seed}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # an overflow that NumPy warns of is what is looked for
        try:
            if is_transformation(function):
                if (relation, input_metric, output_metric) != (None, None, None):
                    raise InvalidInput("a Transformation states its own metrics; leave relation and metrics out")
                stable = opendp_map(function, **given)
            else:
                metrics: dict[str, Any] = {"input_metric": input_metric, "output_metric": output_metric}
                stable = python_map(function, relation=relation, **metrics, **given)
            search = _Search(stable, seed, max_examples, end)
            return search.verdict()
        except NoDistance as error:
            raise InvalidInput(f"{error}; say which with input_metric= and output_metric=") from None


@dataclass(frozen=True)
class _Judged:
    """A pair, its outputs (plain, or an exception), and how far beyond the claim they are apart."""

    pair: DrawnPair
    outputs: tuple[Any, Any]
    apart: Exact
    beyond: Exact  # negative or 0: within the claim

    @property
    def rank(self) -> tuple[int, Exact]:
        """An exception on one side is a finding, but one that a distance outranks."""
        raised = any(isinstance(output, Exception) for output in self.outputs)
        return (0 if self.beyond <= 0 else 1 if raised else 2), self.beyond


class _Search:
    def __init__(self, stable: StableMap, seed: int, examples: int, end: float) -> None:
        self.stable, self.seed, self.examples, self.end = stable, seed, examples, end
        self.output_metric = stable.output_metric
        self.judged = 0
        self.broken = 0  # pairs judged since the first that breaks the claim
        self.best: _Judged | None = None
        self.notes: dict[str, None] = {}

    def verdict(self) -> Verdict:
        from hypothesis import Phase

        self._try()
        finished = run_draws(
            self.stable.space.pairs,
            self._look,
            f"{self.seed} pairs",
            self.examples,
            phases=[Phase.generate, Phase.target],
        )
        if self.best is None:
            return Verdict(ID, "open", f"no two neighboring datasets were judged ({self._claim()}): {self._why()}")
        if self.best.rank[0] == 0:
            return self._kept(finished)
        return self._broken(self._confirmed(self._shrunk()))

    def _try(self) -> None:
        """Calls the function on a few datasets, twice each, outside Hypothesis, which seeds the global generators."""
        drawn = first_draws(self.stable.space.datasets, f"{self.seed} tried", TRIED)
        outputs = [self._twice(dataset) for dataset in drawn]
        failed = [output for output in outputs if isinstance(output, Exception)]
        if drawn and len(failed) == len(drawn):
            raise InvalidInput(f"the function fails on every dataset tried: {one_line_of(failed[0])}")
        if self.output_metric is None:
            output = next((each for each in outputs if not isinstance(each, Exception) and each is not None), 0)
            if isinstance(output, str):
                raise InvalidInput("the outputs are no numbers: say with output_metric= how far apart two of them are")
            self.output_metric = "l1" if isinstance(output, list | dict) else "absolute"

    def _twice(self, dataset: Any) -> Any:
        """The output on a copy; of a second copy it must be the same."""
        before = self.stable.space.plain(dataset)
        outputs = []
        for _ in range(2):
            own = copy.deepcopy(dataset)
            outputs.append(self._called(own))
            if key(self.stable.space.plain(own)) != key(before):
                raise InvalidInput(
                    "the function changes its dataset, so that later calls are about other data; let it work on a "
                    "copy, for example copy.deepcopy(dataset)"
                )
        if _identity(outputs[0]) != _identity(outputs[1]):
            raise InvalidInput(DIFFERENT)
        return outputs[0]

    def _called(self, dataset: Any) -> Any:
        try:
            return plain(self.stable.function(dataset))
        except InvalidInput:
            raise
        except Exception as error:  # on one side only it tells the datasets apart
            return error

    def _judge(self, pair: DrawnPair) -> _Judged | None:
        """None where the two are no neighbors, outside the domain, or the function fails on both."""
        stable = self.stable
        if pair.first is None or pair.second is None:
            return None
        given = [stable.space.plain(dataset) for dataset in pair]
        if repr(given[0]) == repr(given[1]):
            return None
        if distance(stable.input_metric, *given) > bound(stable.input_metric, stable.d_in):
            return None
        outputs = (self._called(pair.first), self._called(pair.second))
        raised = [isinstance(output, Exception) for output in outputs]
        if all(raised):
            return None
        assert self.output_metric is not None
        if all(isinstance(output, dict) for output in outputs) and set(outputs[0]) != set(outputs[1]):
            self.notes["some neighbors have outputs of different keys, taken for 0: release no key that noise and a "
                       "threshold do not hide"] = None  # fmt: skip
        apart = math.inf if any(raised) else distance(self.output_metric, *outputs)
        beyond = apart - bound(self.output_metric, stable.d_out)
        if beyond > 0 and not all(stable.space.has(dataset) for dataset in pair):
            return None
        return _Judged(pair, outputs, apart, beyond)

    def _look(self, pair: DrawnPair) -> bool:
        """Keeps the pair that is worst so far, and leads Hypothesis to worse ones."""
        from hypothesis import target

        if time.monotonic() > self.end and self.judged:
            raise Stop
        judged = self._judge(pair)
        if judged is not None:
            self.judged += 1
            target(_score(judged))
            if self.best is None or judged.rank > self.best.rank:
                self.best = judged
            self.broken += self.best.beyond > 0
            if self.broken > PATIENCE or self.best.rank == (2, math.inf):
                raise Stop
        return False

    def _shrunk(self) -> _Judged:
        """The smallest pair found that breaks the claim in the same way, and by at least half as much."""
        from hypothesis import Phase, target

        best = self.best
        assert best is not None
        found = [best]
        until = self.end

        def breaks(pair: DrawnPair) -> bool:
            if time.monotonic() > until:
                raise Stop
            judged = self._judge(pair)
            if judged is None:
                return False
            if len(found) == 1:
                target(_score(judged))  # the same draws as before, until the pair comes
            worse = judged.rank[0] == best.rank[0] and judged.beyond >= best.beyond * (
                1 if best.beyond == math.inf else KEPT
            )
            if worse:
                found.append(judged)
            return worse

        phases = [Phase.generate, Phase.target, Phase.shrink]
        run_draws(self.stable.space.pairs, breaks, f"{self.seed} pairs", self.examples, phases=phases)
        return found[-1]

    def _confirmed(self, judged: _Judged) -> _Judged:
        """The same pair, after each of its outputs came again, twice, of copies."""
        for dataset, output in zip(judged.pair, judged.outputs, strict=True):
            if _identity(self._twice(dataset)) != _identity(output):
                raise InvalidInput(DIFFERENT)
        return judged

    # In words

    def _claim(self) -> str:
        stable = self.stable
        return (
            f"datasets {_number(stable.d_in)} apart ({stable.input_metric}) are claimed to have outputs at most "
            f"{_number(stable.d_out)} apart ({self.output_metric})"
        )

    def _why(self) -> str:
        return "those drawn were none, the function failed on both, or the time was over; give other datasets="

    def _kept(self, finished: bool) -> Verdict:
        best = self.best
        assert best is not None
        ended = "" if finished else ", until the time was over"
        return Verdict(
            ID,
            "not refuted",
            f"{self._claim()}; the largest distance of {self.judged} neighboring pairs, extreme and random ones"
            f"{ended}, was {_apart(str(self.output_metric), best.apart)}. That is no proof",
            arithmetic="executed",
            warnings=tuple(self.notes),
        )

    def _broken(self, judged: _Judged) -> Verdict:
        stable, metric = self.stable, str(self.output_metric)
        given = [stable.space.plain(dataset) for dataset in judged.pair]
        apart_in = distance(stable.input_metric, *given)
        inputs = {
            "map": stable.name,
            "input_metric": stable.input_metric,
            "output_metric": metric,
            "d_in": str(stable.d_in),
            "d_out": str(stable.d_out),
            "dataset1": encoded(given[0]),
            "dataset2": encoded(given[1]),
            "output1": _encoded_output(judged.outputs[0]),
            "output2": _encoded_output(judged.outputs[1]),
        }
        try:
            result = check("stability", inputs)
        except Rejected as error:
            return Verdict(ID, "open", f"a pair was found, but the checker refuses it: {error}")
        failure = next((output for output in judged.outputs if isinstance(output, Exception)), None)
        observed = (
            f"{_apart(metric, judged.apart)} apart"
            if failure is None
            else f"told apart by an exception on one of the two, {one_line_of(failure)}"
        )
        explanation = (
            f"{self._claim()}; on two that are {_apart(stable.input_metric, apart_in)} apart they are {observed}"
        )
        witness = StabilityWitness(
            dataset1=judged.pair.first,
            dataset2=judged.pair.second,
            output1=_output(judged.outputs[0]),
            output2=_output(judged.outputs[1]),
            distance_in=_root(stable.input_metric, apart_in),
            distance_out=_root(metric, judged.apart),
            d_in=stable.d_in,
            d_out=stable.d_out,
            input_metric=stable.input_metric,
            output_metric=metric,
            code=self._code(judged, observed),
            inputs=inputs,
        )
        summary = (
            f"Two datasets {result['distance_in']} apart whose outputs are {observed}; replay recomputes both "
            "distances from the recorded outputs, which only the map itself can show."
        )
        return Verdict(
            ID,
            "refuted",
            explanation,
            evidence=(Evidence("witness", summary, {"kind": "stability", "inputs": inputs}),),
            witness=witness,  # type: ignore[arg-type]
            arithmetic="executed",
            warnings=tuple(self.notes),
        )

    def _code(self, judged: _Judged, observed: str) -> str:
        stable = self.stable
        (one, imports1), (two, imports2) = map(_dataset_code, judged.pair)
        needed = {*imports1, *imports2, *([f"from {stable.module} import {stable.name}"] if stable.module else [])}
        call = f"print({stable.name}(dataset1), {stable.name}(dataset2))"
        told = f"# {observed}; {_number(stable.d_out)} claimed"
        return "\n".join([*sorted(needed), *[""] * bool(needed), f"dataset1 = {one}", f"dataset2 = {two}", told, call])


def _score(judged: _Judged) -> float:
    """What Hypothesis makes larger: the distance, up to a finite one."""
    return min(float(min(judged.apart, 1e300)), 1e300)


def _identity(output: Any) -> Any:
    """Equal for outputs that are the same."""
    return type(output).__name__ if isinstance(output, Exception) else key(output)


def _encoded_output(output: Any) -> Any:
    return {"raises": type(output).__name__} if isinstance(output, Exception) else encoded(output)


def _output(output: Any) -> Any:
    return {"raises": type(output).__name__} if isinstance(output, Exception) else output


def _root(metric: str, apart: Exact) -> Exact:
    """The distance itself, which for `l2` is the root of what was computed."""
    if metric != "l2" or not isinstance(apart, Fraction):
        return apart
    p, q = math.isqrt(apart.numerator), math.isqrt(apart.denominator)
    if p * p == apart.numerator and q * q == apart.denominator:
        return Fraction(p, q)
    return Fraction(math.isqrt(apart.numerator * apart.denominator << 2 * ROOT_BITS), apart.denominator << ROOT_BITS)


def _apart(metric: str, apart: Exact) -> str:
    if apart == math.inf:
        return "infinitely far"
    return _number(Fraction(_root(metric, apart)))


def _number(value: Fraction) -> str:
    """An integer, the float that it is, or about which."""
    if value.denominator == 1 and abs(value) < 10**15:
        return f"{value.numerator:,}"
    try:
        near = float(value)
    except OverflowError:
        return f"about 10^{len(str(value.numerator // value.denominator)) - 1}"
    return repr(near) if Fraction(near) == value else f"about {near!r}"


def _dataset_code(dataset: Any) -> tuple[str, Sequence[str]]:
    """As `dataset_code`; a long list by its runs of equal records."""
    if type(dataset) is not list or len(dataset) <= LONG:
        return dataset_code(dataset)
    codes = [dataset_code(record) for record in dataset]
    texts = [code for code, _ in codes]
    parts: list[str] = []
    at = 0
    while at < len(texts):
        period, times = max(((each, _times(texts, at, each)) for each in (1, 2)), key=lambda run: (run[1] > 2, -run[0]))
        if times <= 2:
            period, times = 1, 1
        parts.append(f"[{', '.join(texts[at : at + period])}]" + (f" * {times}" if times > 1 else ""))
        at += period * times
    return " + ".join(parts), sorted({needed for _, imports in codes for needed in imports})


def _times(texts: Sequence[str], start: int, period: int) -> int:
    """How often the first few of a list are repeated."""
    at = start + period
    while texts[at : at + period] == texts[start : start + period]:
        at += period
    return (at - start) // period
