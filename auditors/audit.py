"""`dp.audit`: decides from samples whether a mechanism keeps a privacy claim on given pairs of datasets.

Theorem (docs/theorems/black-box-audits.md). If the mechanism satisfies the claim on every given pair, the verdict is
`refuted`, or the reported lower bound exceeds the true parameter, with probability at most `failure_probability`; over
both directions, every event tried, all pairs, all points of the claim's curve, and in anytime-valid mode however often
the evidence is looked at. It needs one thing of the sampler: that its draws are independent.

Sources: DP-Sniper (Bichsel et al. 2021) for the scheme of learned events; Shafer and Vovk (2019) for betting.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpassay.core.claims import Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim, json_number
from dpassay.core.protocol import Mechanism, as_mechanism
from dpassay.core.records import plain
from dpassay.core.version import __version__
from dpassay.runs.fingerprint import contents

if TYPE_CHECKING:
    from dpassay.auditors.anytime import AnytimeRun
    from dpassay.auditors.events import Tested
    from dpassay.auditors.findings import Findings
    from dpassay.auditors.ledger import Ledger, LedgerRun
    from dpassay.auditors.one_shot import OneShotRun
    from dpassay.auditors.sampling import Sampler

DEFAULT_TIME_LIMIT = 10.0  # seconds, when neither a time nor a number of samples is given
LEAST_SAMPLES = 16  # per dataset
_FROM_RESULT = ("mode", "parameter_lower", "epsilon_lower", "tested", "samples", "looks", "ledger")
_FROM_FINDINGS = ("detectable", "sandwich", "datasets", "certificate", "picture")
_AS_THEY_ARE = (
    *("command", "mechanism", "representation", "mode", "failure_probability", "parameter_lower", "epsilon_lower"),
    *("samples", "looks", "seconds", "seed", "run", "detectable", "ledger"),
)
"""Fields of an audit that its JSON has under the same name."""


@dataclass(frozen=True)
class Audit:
    """Everything one audit did and found; `verdict` is the short form, `to_json()` what reports are made of.

    Printed, it is what `dpassay audit` prints.

    Attributes:
        mechanism: its name, for readers.
        samples: draws per dataset and pair: training, selection, test, total.
        parameter_lower: lower confidence bound of the claim's parameter (epsilon in nats, mu, rho, ...).
        epsilon_lower: the same for epsilon at the claim's delta; None for other kinds of claims.
        tested: the events that were tested, most telling first.
        picture: an event of one number or one output, counted in training samples, where the first tested one is
            neither; no evidence.
        detectable: the smallest epsilon and the rarest event (a probability) that this run would have caught with
            probability 0.9.
        ledger: path, runs, evidence and threshold when a ledger carried evidence over, else None.
    """

    verdict: Verdict
    mechanism: str
    claim: PrivacyClaim
    mode: Literal["fixed", "anytime"]
    representation: str
    failure_probability: float
    parameter_lower: float | None
    epsilon_lower: float | None
    tested: tuple["Tested", ...] = field(repr=False)
    samples: dict[str, int] = field(repr=False)
    looks: int = field(repr=False)
    seconds: float = field(repr=False)
    seed: int = field(repr=False)
    run: int = field(repr=False)
    detectable: dict[str, float | None] = field(repr=False)
    sandwich: dict[str, Any] = field(repr=False)
    datasets: tuple[str, str] = field(repr=False)
    ledger: dict[str, Any] | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()
    command: str = field(default="", repr=False)
    certificate: dict[str, Any] | None = field(default=None, repr=False)
    picture: "Tested | None" = field(default=None, repr=False)

    def __str__(self) -> str:
        from dpassay.report.audit_text import plain_text

        return plain_text(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping, described by `report/audit.schema.json`."""
        evidence = self.verdict.evidence[0].to_json() if self.verdict.evidence else {"tables": [], "plots": []}
        content = {
            "format": "dpassay-audit",
            "version": 1,
            "program": f"dpassay {__version__}",
            "dataset1": self.datasets[0],
            "dataset2": self.datasets[1],
            "relation": None if self.claim.relation is None else str(self.claim.relation),
            "claim": self.claim.to_json(),
            "parameter_name": self.claim.parameter_name,
            "verdict": self.verdict.to_json(),
            "events": [_event(item) for item in self.tested],
            "picture": None if self.picture is None else _event(self.picture),
            "sandwich": plain(self.sandwich),
            "warnings": list(self.warnings),
            "tables": evidence["tables"],
            "plots": evidence["plots"],
            **{name: getattr(self, name) for name in _AS_THEY_ARE},
        }
        return {key: _finite(value) for key, value in content.items()}


def audit(
    mechanism: Any,
    dataset1: Any,
    dataset2: Any,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    failure_probability: float = 0.05,
    num_samples: int | None = None,
    time_limit: float | None = None,
    representation: Literal["values", "bits"] = "values",
    seed: int = 0,
    ledger: "Ledger | Path | str | None" = None,
    claim: PrivacyClaim | None = None,
    more_pairs: Sequence[tuple[Any, Any]] = (),
    executor: Executor | None = None,
) -> Verdict:
    """Tests a privacy claim on samples of a mechanism; `not refuted` never means private.

    Guarantee: P(any false refutation) <= failure_probability, for every delta, both directions, all events and pairs,
    all points of a curve; with a ledger over its whole life. Proof in docs/theorems/black-box-audits.md.

    Args:
        mechanism: anything with `sample(key, dataset)` (a JAX function is batched and compiled), or a Python function
            `fn(rng, dataset)`, wrapped or not by `dp.from_callable`. Outputs may hold numbers, text, arrays, tables,
            and objects with fields of such.
        dataset1: handed to the sampler as it is.
        dataset2: its neighbor.
        epsilon: the claim, nats; or give `claim`. With neither, the claim that the mechanism states itself (`claim`).
        delta: the claim, a probability.
        failure_probability: of a false refutation.
        num_samples: all draws per dataset, training included. Alone, one test with a fixed number of samples; where
            guesses decide, a fair coin chooses the dataset of each that tests, so that either has about half of them.
        time_limit: seconds. With it, or with a ledger, the test is anytime-valid and stops as soon as it can. With
            neither samples nor time, 10 seconds.
        representation: "values" judges the mechanism's values; "bits" also attacks their floating-point form.
        seed: of the random streams and of what is learned; runs that share a ledger use fresh streams by themselves.
        ledger: an SQLite file that carries evidence from run to run.
        claim: another kind of claim (Gaussian DP, zCDP, Renyi DP, a curve) instead of epsilon and delta.
        more_pairs: further pairs of datasets on which the claim must hold.
        executor: whose workers share the draws, for example of processes that are spawned or of a Dask cluster. What is
            drawn and counted does not depend on it; this process alone adds up and writes.

    Raises:
        InvalidInput: unusable input, in one line that says how to mend it.

    Example:
        >>> import dpassay as dp
        >>> def noisy_sum(rng, ratings): return sum(ratings) + rng.laplace(scale=1.0)
        >>> verdict = dp.audit(noisy_sum, [5, 4], [5, 2], epsilon=1.0, num_samples=4000)  # one rating moves it by 2
        >>> verdict.outcome, 1.0 < verdict.epsilon_lower < 2.0
        ('refuted', True)
    """
    stated = claim_of(mechanism, epsilon, delta, claim)
    from dpassay.report.progress import in_notebooks

    with in_notebooks(mechanism_name(mechanism), limit_of(num_samples, time_limit)) as progress:
        return run_audit(
            mechanism,
            dataset1,
            dataset2,
            claim=stated,
            failure_probability=failure_probability,
            num_samples=num_samples,
            time_limit=time_limit,
            representation=representation,
            seed=seed,
            ledger=ledger,
            more_pairs=more_pairs,
            progress=progress,
            executor=executor,
        ).verdict


def limit_of(num_samples: int | None, time_limit: float | None) -> float | None:
    """Seconds after which an audit ends, None where its number of samples ends it."""
    return DEFAULT_TIME_LIMIT if num_samples is None and time_limit is None else time_limit


def run_audit(
    mechanism: Any,
    dataset1: Any,
    dataset2: Any,
    *,
    claim: PrivacyClaim,
    failure_probability: float = 0.05,
    num_samples: int | None = None,
    time_limit: float | None = None,
    representation: Literal["values", "bits"] = "values",
    seed: int = 0,
    ledger: "Ledger | Path | str | None" = None,
    name: str = "",
    more_pairs: Sequence[tuple[Any, Any]] = (),
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
    executor: Executor | None = None,
) -> Audit:
    """`audit`, with everything that was found.

    Arguments and errors are those of `audit`, and: the `name` of the mechanism, for readers and for the ledger, by
    default that of the function or class; the `command` that runs this again, for the reports; `progress`, called with
    a short text when a step advances.
    """
    begin = time.perf_counter()
    _check(failure_probability, num_samples, time_limit, representation)
    pairs = ((dataset1, dataset2), *more_pairs)
    if claim.relation is not None:
        for pair in pairs:
            claim.relation.changed(*pair)
    for number, (one, two) in enumerate(pairs):
        if (held := contents(one)) is not None and held == contents(two):
            which = "the two datasets are" if len(pairs) == 1 else f"the datasets of pair {number + 1} are"
            raise InvalidInput(f"{which} equal, and no mechanism tells them apart; give two that differ")
    sampled, name = as_mechanism(mechanism), name or mechanism_name(mechanism)
    run: LedgerRun | None = None
    if time_limit is None and ledger is None and num_samples is not None:
        samplers = _samplers(sampled, pairs, seed, 0, representation, executor)
        result = _fixed(samplers, claim, failure_probability, num_samples, seed, progress)
    else:
        time_limit = limit_of(num_samples, time_limit)
        from dpassay.auditors.betting import epsilon_grid

        grid = epsilon_grid(claim.parameter)
        nulls = claim.nulls(grid)
        if ledger is not None:
            run = _ledger_run(ledger, name, sampled, pairs, claim, representation, grid)
        samplers = _samplers(sampled, pairs, seed, 0 if run is None else run.run, representation, executor)
        deadline = None if time_limit is None else time.perf_counter() + time_limit  # imports and set-up do not count
        result = _anytime(samplers, claim, grid, nulls, failure_probability, num_samples, deadline, run, seed, progress)
    for sampler in samplers:
        sampler.check_datasets()
    void = next(filter(None, (sampler.dependence() for sampler in samplers)), "")
    from dpassay.auditors import findings

    found = findings.describe(result, samplers, sampled, pairs, claim, failure_probability, name)
    described: dict[str, Any] = {each: getattr(result, each) for each in _FROM_RESULT}
    described |= {each: getattr(found, each) for each in _FROM_FINDINGS}
    warnings = tuple(dict.fromkeys(warning for sampler in samplers for warning in sampler.warnings))
    verdict = _verdict(result, found, name, claim, failure_probability, representation)
    if void:
        verdict, described["certificate"], warnings = _open(verdict, void), None, (void, *warnings)
    return Audit(
        verdict=replace(verdict, warnings=warnings),
        mechanism=name,
        claim=claim,
        representation=representation,
        failure_probability=failure_probability,
        seconds=time.perf_counter() - begin,
        seed=seed,
        run=0 if run is None else run.run,
        warnings=warnings,
        command=command,
        **described,
    )


def _verdict(
    result: "Result", found: "Findings", name: str, claim: PrivacyClaim, failure_probability: float, representation: str
) -> Verdict:
    return Verdict(
        name,
        "refuted" if result.refuted else "not refuted" if result.could_refute else "open",
        found.explanation,
        (Evidence("statistics", found.summary, None, found.tables, found.plots),),
        epsilon_lower=result.epsilon_lower,
        epsilon_claimed=claim.epsilon,
        confidence=1 - failure_probability,
        arithmetic="executed" if representation == "bits" else "ideal",
        assumptions=("the sampler's draws are independent of each other",),
    )


def _open(verdict: Verdict, void: str) -> Verdict:
    """The verdict where the draws are not independent, which everything that was counted rests on."""
    words = (
        f"Nothing was decided: {void}, and the guarantee of every audit is about independent draws. "
        "Draw fresh noise in every call, from the generator or key that is passed in."
    )
    return replace(verdict, outcome="open", explanation=words, epsilon_lower=None, confidence=None)


@dataclass(frozen=True)
class Result:
    """What either procedure found, in one form.

    Attributes:
        could_refute: whether any outcome of the test would have refuted the claim.
        run: the run itself, for the certificate and the pictures.
    """

    refuted: bool
    could_refute: bool
    mode: Literal["fixed", "anytime"]
    parameter_lower: float | None
    epsilon_lower: float | None
    tested: tuple["Tested", ...]
    samples: dict[str, int]
    looks: int
    run: "AnytimeRun | OneShotRun"
    share: float
    ledger: dict[str, Any] | None = None


def _fixed(
    samplers: Sequence["Sampler"],
    claim: PrivacyClaim,
    failure_probability: float,
    num_samples: int,
    seed: int,
    progress: Callable[[str], None],
) -> Result:
    from dpassay.auditors.one_shot import run_one_shot

    run = run_one_shot(
        samplers, claim, failure_probability=failure_probability, num_samples=num_samples, seed=seed, progress=progress
    )
    lower = max(run.parameter_lower)
    best = run.tested[0]
    drawn = samplers[best.pair].drawn
    return Result(
        refuted=lower > claim.parameter,
        could_refute=run.could_refute,
        mode="fixed",
        parameter_lower=lower,
        epsilon_lower=lower if claim.parameter_name == "epsilon" else None,
        tested=run.tested,
        samples={
            "training": drawn["training"][0],
            "selection": drawn["selection"][0],
            "test": (best.counts.trials1 + best.counts.trials2) // 2,
            "total": num_samples,
        },
        looks=1,
        run=run,
        share=failure_probability / len(samplers),
    )


def _anytime(
    samplers: Sequence["Sampler"],
    claim: PrivacyClaim,
    grid: np.ndarray,
    nulls: tuple[np.ndarray, np.ndarray],
    failure_probability: float,
    num_samples: int | None,
    deadline: float | None,
    ledger_run: "LedgerRun | None",
    seed: int,
    progress: Callable[[str], None],
) -> Result:
    from dpassay.auditors.anytime import run_anytime
    from dpassay.auditors.betting import evidence, lower_bound

    share = failure_probability * (1.0 if ledger_run is None else ledger_run.share)
    threshold = math.log(1 / share)

    def commit(log_e: np.ndarray, samples: int) -> np.ndarray:
        if ledger_run is None:
            return log_e
        stamps = [sampler.stamp for sampler in samplers]
        return ledger_run.commit(log_e, samples, "+".join(stamps) if all(stamps) else "")

    run = run_anytime(
        samplers,
        claim,
        grid,
        nulls,
        log_threshold=threshold,
        deadline=deadline,
        num_samples=num_samples,
        seed=seed,
        commit=commit,
        progress=progress,
    )
    # The peak, so that refuted once stays refuted: Ville's inequality bounds the largest product there ever was.
    total = run.log_e if ledger_run is None else ledger_run.peak
    at_claim = run.at_claim
    lower = lower_bound(grid, total, threshold)
    ledger = None
    if ledger_run is not None:
        ledger = {
            "path": str(ledger_run.ledger.path),
            "runs": ledger_run.past_runs + 1,
            "log_e_value": evidence(total, at_claim),
            "log_threshold": threshold,
        }
    return Result(
        refuted=evidence(total, at_claim) >= threshold,
        could_refute=run.could_refute(threshold) or ledger_run is not None,
        mode="anytime",
        parameter_lower=lower,
        epsilon_lower=lower if claim.parameter_name == "epsilon" else None,
        tested=tuple(sorted(run.tested, key=_carried, reverse=True)),
        samples={"training": run.first, "selection": 0, "test": run.drawn - run.first, "total": run.drawn},
        looks=run.looks,
        run=run,
        share=share,
        ledger=ledger,
    )


def _ledger_run(
    ledger: "Ledger | Path | str",
    name: str,
    mechanism: Mechanism,
    pairs: Sequence[tuple[Any, Any]],
    claim: PrivacyClaim,
    representation: str,
    grid: np.ndarray,
) -> "LedgerRun":
    from dpassay.auditors.ledger import Ledger
    from dpassay.runs.fingerprint import fingerprint

    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    ones, twos = ([pair[side] for pair in pairs] for side in (0, 1))
    return book.begin(name, fingerprint(mechanism, ones, twos, claim, representation), grid)


def _samplers(
    mechanism: Mechanism,
    pairs: Sequence[tuple[Any, Any]],
    seed: int,
    run: int,
    representation: Any,
    executor: Executor | None = None,
) -> list["Sampler"]:
    from dpassay.auditors.sampling import Sampler

    # Streams are apart for every pair of every run, however many pairs another hypothesis of the same ledger has.
    return [
        Sampler(mechanism, one, two, seed=seed, run=run << 16 | index, representation=representation, executor=executor)
        for index, (one, two) in enumerate(pairs)
    ]


def claim_of(mechanism: Any, epsilon: float | None, delta: float, claim: PrivacyClaim | None) -> PrivacyClaim:
    """What is claimed: epsilon and delta, or the claim, or else what the mechanism states itself (`claim`).

    Raises:
        InvalidInput: nothing is stated, or two things are.
    """
    if epsilon is not None and claim is not None:
        raise InvalidInput("epsilon and claim are both given; state what is claimed once")
    if epsilon is not None:
        return PrivacyClaim(epsilon, delta)
    stated = claim if claim is not None else getattr(mechanism, "claim", None)
    if not isinstance(stated, PrivacyClaim):
        raise InvalidInput("state what is claimed: epsilon (and delta), or claim=PrivacyClaim...")
    return stated


def mechanism_name(mechanism: Any) -> str:
    """What readers call it: the name of the function or class."""
    function = getattr(mechanism, "function", mechanism)
    return str(getattr(function, "__qualname__", None) or type(function).__name__)


def _check(failure_probability: float, num_samples: int | None, time_limit: float | None, representation: str) -> None:
    if not 0 < failure_probability < 1:
        raise InvalidInput(f"failure_probability is {failure_probability}; give a probability above 0 and below 1")
    if num_samples is not None and (isinstance(num_samples, bool) or int(num_samples) != num_samples):
        raise InvalidInput(f"num_samples is {num_samples!r}; give a whole number")
    if num_samples is not None and num_samples < LEAST_SAMPLES:
        raise InvalidInput(f"num_samples is {num_samples}, too few to say anything; give at least {LEAST_SAMPLES}")
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise InvalidInput(f"time_limit is {time_limit}; give a number of seconds above 0")
    if representation not in ("values", "bits"):
        raise InvalidInput(f"representation is {representation!r}; choose values or bits")


def _carried(item: "Tested") -> float:
    """Logarithm of the event's part of the capital that decides; for sorting."""
    return (item.log_e_value or 0.0) + math.log(item.weight)


def _event(item: "Tested") -> dict[str, Any]:
    first, second = item.by_dataset
    return {
        "pair": item.pair,
        "direction": f"dataset{item.event.direction + 1}",
        "description": item.event.description,
        "scorer": item.event.scorer.name,
        "epsilon": item.event.point[0],
        "delta": item.event.point[1],
        "count1": first[0],
        "samples1": first[1],
        "count2": second[0],
        "samples2": second[1],
        "weight": item.weight,
        "log_e_value": item.log_e_value,
        "p_value": item.p_value,
        "guesses": None if item.guesses is None else _guesses(item),
    }


def _guesses(item: "Tested") -> dict[str, Any]:
    assert item.guesses is not None
    assert item.rule is not None
    return {
        "counts": [list(level) for level in item.guesses.levels],
        "cuts": [float(cut) for cut in item.rule.cuts],
        "weights": list(item.rule.weights),
        "text": item.guesses.words(item.event.point[0]),
    }


def _finite(value: Any) -> Any:
    """Infinities become strings, as everywhere in our JSON."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return json_number(value) if isinstance(value, float) else value
