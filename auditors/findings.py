"""What an audit found, in words, tables and pictures: the evidence of its verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpassay.auditors import fixed_sample, guesses
from dpassay.auditors.detectable import POWER, detectable
from dpassay.auditors.picture import picture
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.protocol import FiniteMechanism, Mechanism
from dpassay.core.records import Plot, Series, Table
from dpassay.core.text import nats, rounded_up

if TYPE_CHECKING:
    from dpassay.auditors.audit import Result
    from dpassay.auditors.events import Tested
    from dpassay.auditors.sampling import Sampler

LARGEST_ENUMERATION = 4096  # outputs, up to which the exact loss is computed for the picture
EVENTS_SHOWN = 8
BINS = 40


@dataclass(frozen=True)
class Findings:
    """The parts of an audit's record that are made for readers; see `Audit`."""

    explanation: str
    summary: str
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...]
    detectable: dict[str, float | None]
    sandwich: dict[str, Any]
    datasets: tuple[str, str]
    certificate: dict[str, Any] | None
    picture: "Tested | None"


def describe(
    result: "Result",
    samplers: Sequence["Sampler"],
    mechanism: Mechanism,
    pairs: Sequence[tuple[Any, Any]],
    claim: PrivacyClaim,
    failure_probability: float,
    name: str,
) -> Findings:
    """Puts a procedure's result into words, tables and pictures."""
    caught = detectable(result, claim)
    exact = _exact(mechanism, pairs, claim)
    upper = _upper(mechanism, claim)
    from dpassay.auditors.upper_bounds import sandwich

    between = sandwich(claim, result.parameter_lower, exact, upper)
    plots = [plot for plot in (between.pop("plot", None), _growth(result), _scores(result)) if plot]
    confidence = f"{1 - failure_probability:.10g}"
    simple = None
    if result.refuted:
        pair = result.tested[0].pair
        simple = picture(result.tested[0], result.run.pictured[pair], samplers[pair].encoder)
        explanation = _violation(result, claim, confidence, simple)
        if found := samplers[pair].encoder.found:
            explanation += f" In the training samples: {'; '.join(found)}."
    elif result.could_refute:
        explanation = _nothing_found(result, claim, caught)
    else:
        explanation = (
            f"The {result.samples['total']:,} samples per dataset are too few to refute {claim}, whatever they "
            f"had shown; give more samples or time, or a larger failure probability."
        )
    summary = _method(result, claim, failure_probability, len(pairs))
    texts = [(_text(one), _text(two)) for one, two in pairs]
    certificate = _certificate(result, texts, claim, name)
    return Findings(
        explanation, summary, (_events(result),), tuple(plots), caught, between, texts[0], certificate, simple
    )


def _violation(result: "Result", claim: PrivacyClaim, confidence: str, simple: "Tested | None") -> str:
    lower = result.parameter_lower
    bound = f"{'more than' if lower == claim.parameter else 'at least'} {nats(lower) or 'unknown'}"
    words = (
        f"{claim} is violated: the {claim.parameter_name} is {bound} with confidence {confidence}. "
        f"The event {_happened(result.tested[0])}."
    )
    if (found := result.tested[0].guesses) is not None:
        words += f" What decides: {found.words(result.tested[0].event.point[0])}."
    if simple is not None:
        words += f" In training samples, to picture it and no evidence, {_happened(simple)}."
    if result.ledger and result.ledger["runs"] > 1:
        words += f" The evidence of {result.ledger['runs']} runs was put together."
    return words


def _happened(item: "Tested") -> str:
    one, two = (side + 1 for side in ((0, 1) if item.event.direction == 0 else (1, 0)))
    counts = item.counts
    return (
        f'"{item.event.description}" happened in {_share(counts.successes1, counts.trials1)} runs on '
        f"dataset {one} and in {_share(counts.successes2, counts.trials2)} on dataset {two}"
    )


def _nothing_found(result: "Result", claim: PrivacyClaim, would: dict[str, float | None]) -> str:
    words = (
        f"No violation of {claim} was found with {result.samples['total']:,} samples per dataset; this does not show "
        f"the mechanism private."
    )
    smallest, rarest = would["smallest_epsilon"], would["rarest_event"]
    caught = []
    if smallest is not None:
        caught.append(f"a loss of {rounded_up(smallest):g} nats or more in an event as frequent as the one tested")
    if rarest is not None:
        caught.append(
            "an output beyond all others, or of a kind of its own, that only one of the datasets can give, if its "
            f"probability is {rounded_up(rarest, 2):g} or more"
        )
    return words + (f" With probability {POWER:g} this run would have caught {' and '.join(caught)}." if caught else "")


def _method(result: "Result", claim: PrivacyClaim, failure_probability: float, num_pairs: int) -> str:
    pairs = "" if num_pairs == 1 else f" on {num_pairs} pairs of datasets"
    if result.mode == "fixed":
        guessed = result.tested[0].guesses is not None
        how = (
            f"one {'rule of guesses' if guessed else 'event'} for each pair, learned on "
            f"{result.samples['training']:,} and chosen on {result.samples['selection']:,} samples per dataset, was "
            f"{'tried' if guessed else 'counted'} in {result.samples['test']:,} fresh ones"
            f"{' on average, as a coin chose the dataset of each' if guessed else ''}; exact test, certified for every "
            f"number of samples"
        )
    else:
        how = (
            f"bets on {len(result.tested)} events at a time, {result.looks} looks at {result.samples['total']:,} "
            f"samples per dataset; e-process, valid however often one looks"
        )
    return (
        f"Samples{pairs}: {how}. The probability of a false refutation is at most {failure_probability:.10g}, over "
        f"both directions and everything tried."
    )


def _events(result: "Result") -> Table:
    rows = [
        [
            item.event.description,
            f"dataset {item.event.direction + 1}",
            *(_share(*pair) for pair in item.by_dataset),
            _evidence(item),
        ]
        for item in result.tested[:EVENTS_SHOWN]
    ]
    measure = "p-value" if result.mode == "fixed" else "evidence, nats"
    return Table(
        "Events and how often they happened in fresh samples",
        ["event", "likelier under", "dataset 1", "dataset 2", measure],
        rows,
    )


def _share(successes: int, trials: int) -> str:
    return f"{successes:,} of {trials:,}"


def _evidence(item: "Tested") -> str:
    if item.p_value is not None:
        return f"{item.p_value:.3g}{'' if item.guesses is None else ', of guesses'}"
    return "" if item.log_e_value is None else f"{item.log_e_value:.2f}"


def _certificate(
    result: "Result", datasets: Sequence[tuple[str, str]], claim: PrivacyClaim, name: str
) -> dict[str, Any] | None:
    """This run's counts and bets against the claim, as `replay` recomputes them; None where there are none."""
    if not result.tested or not math.isfinite(claim.parameter):
        return None
    if result.mode == "anytime" and not result.refuted:
        run: Any = result.run
        if run.log_e[run.at_claim] >= math.log(1 / result.share):
            return None  # enough against the claim alone, not yet against all smaller parameters
    pair = result.tested[0].pair
    stated = {key: _decimal(value) for key, value in claim.to_json().items() if key not in ("text", "multiplier")}
    inputs = {
        "mode": result.mode,
        "mechanism": name,
        "dataset1": datasets[pair][0],
        "dataset2": datasets[pair][1],
        "claim": stated,
        "failure_probability": _decimal(result.share / (len(datasets) if result.mode == "anytime" else 1)),
    }
    if result.mode == "fixed":
        item = result.tested[0]
        epsilon, delta = item.event.point
        if item.guesses is not None and item.rule is not None:
            record = _as_stated(guesses.certificate_inputs(item.guesses, item.rule, epsilon), None, claim)
        else:
            record = fixed_sample.certificate_inputs(item.counts, epsilon, delta, failure_probability=result.share)
            record = _as_stated(record, item.event, claim)
        return {"kind": "audit", "inputs": {**inputs, "events": [record]}}
    epochs = [
        [_as_stated(event, None, claim) for event in wager.process.certificate_inputs()]
        for wager in result.run.wagers  # type: ignore[union-attr]
        if wager.pair == pair and wager.trials
    ]
    return {"kind": "audit", "inputs": {**inputs, "epochs": epochs}}


def _as_stated(record: dict[str, Any], event: Any, claim: PrivacyClaim) -> dict[str, Any]:
    """Against the claim as a decimal, not as the float nearest to it, which may lie on the other side."""
    if claim.kind in ("dp", "profile"):
        record = {**record, **{key: repr(float(Fraction(record[key]))) for key in ("log_slope", "offset")}}
    if event is not None:
        record = {**record, "direction": f"dataset{event.direction + 1}", "description": event.description}
    return record


def _decimal(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_decimal(item) for item in value]
    return value if isinstance(value, str) else repr(float(value))


def _exact(mechanism: Mechanism, pairs: Sequence[tuple[Any, Any]], claim: PrivacyClaim) -> float | None:
    """The exact epsilon of the first pair where the law is known and small: for the picture, never for the verdict."""
    if claim.kind != "dp" or claim.delta or not isinstance(mechanism, FiniteMechanism):
        return None
    from dpassay.auditors.exact import exact

    try:
        if len(mechanism.outputs(pairs[0][0])) > LARGEST_ENUMERATION:
            return None
        return exact(mechanism, *pairs[0]).epsilon
    except (InvalidInput, TypeError, ValueError, NotImplementedError):
        return None


def _upper(mechanism: Mechanism, claim: PrivacyClaim) -> float | None:
    """An accountant's bound, where the mechanism brings the event it is made of."""
    event = getattr(mechanism, "dp_event", None)
    if event is None or claim.kind != "dp":
        return None
    from dpassay.auditors.upper_bounds import upper_bound

    try:
        return upper_bound(event, claim.delta)
    except InvalidInput:
        return None


def _growth(result: "Result") -> Plot | None:
    growth = getattr(result.run, "growth", ())
    if len(growth) < 2:
        return None
    samples, evidence = zip(*growth, strict=True)
    threshold = math.log(1 / result.share)
    return Plot(
        "Evidence against the claim",
        "samples per dataset",
        "log e-value, nats",
        [Series("evidence", list(samples), [float(value) for value in evidence])],
        marks=[{"axis": "y", "at": threshold, "label": "refuted above"}],
    )


def _scores(result: "Result") -> Plot | None:
    """How the order of outputs behind the first event tells the datasets apart, in samples that were not its test."""
    if not result.tested:
        return None
    item = result.tested[0]
    event = item.event
    scores = [np.asarray(event.scorer(rows), float) for rows in result.run.pictured[item.pair]]
    low, high = np.quantile(np.concatenate(scores), [0.001, 0.999])
    low, high = min(low, event.cut), max(high, event.cut)
    if not low < high:
        return None
    edges = np.linspace(low, high, BINS + 1)
    series = []
    for side, values in enumerate(scores):
        shares = np.histogram(np.clip(values, low, high), edges)[0] / len(values)
        heights = [*shares.tolist(), float(shares[-1])]  # the last repeats, to close the steps
        series.append(Series(f"dataset {side + 1}", edges.tolist(), heights, shape="steps"))
    inside = (event.cut, high) if event.above else (low, event.cut)
    return Plot(
        f"The order of outputs behind the event: {event.scorer.name}",
        "value or score of the output",
        "share of the samples",
        series,
        shaded=[{"low": float(inside[0]), "high": float(inside[1]), "label": "the event"}],
    )


def _text(dataset: Any) -> str:
    """A dataset for readers: short ones whole, larger ones by their shape."""
    shape = getattr(dataset, "shape", None)
    if shape is not None and math.prod(shape) > 64:
        return f"{type(dataset).__name__} of shape {tuple(shape)}"
    text = " ".join(str(np.asarray(dataset).tolist() if shape is not None else dataset).split()) or "(empty)"
    return text if len(text) <= 120 else f"{type(dataset).__name__}: {text[:100]}..."
