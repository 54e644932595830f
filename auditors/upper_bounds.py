"""Upper bounds on the privacy loss from dp-accounting's events, to stand beside what an audit shows from below.

Accountants: privacy loss distributions, rounded pessimistically (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022),
and Renyi differential privacy (Mironov 2017); the smaller bound counts. At delta = 0 a discretized distribution has
lost its tail and bounds nothing, so pure mechanisms are composed by adding up (Dwork and Roth 2014, theorem 3.16) and
amplified by Poisson sampling (Balle, Barthe and Gaboardi 2018, theorem 8).
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library, one_line
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.records import Plot, Series

_CONTRIBUTIONS = {"add_or_remove_one": 1, "replace_one": 2}  # of one record to the difference of two datasets
_REPETITIONS = 1000  # of an event that are written out
_LABELS = {"lower": "shown, at least", "exact": "exact value", "upper": "proved, at most"}


def upper_bound(event: Any, delta: float = 0.0, *, relation: str | None = None) -> float:
    """The smallest epsilon for which an accountant proves (epsilon, delta)-privacy of an event.

    Args:
        event: of dp-accounting, a `DpEvent`.
        delta: a probability.
        relation: "add_or_remove_one" or "replace_one" of one record; None takes the first that the event is defined
            for. An event's noise multiplier is relative to one record's contribution, of which a replacement makes two.

    Returns:
        epsilon in nats; infinite when no accountant bounds it.

    Raises:
        InvalidInput: dp-accounting is not installed, no event, an event no accountant supports, or delta out of range.
    """
    probability = PrivacyClaim(0.0, delta).delta
    accountants, pure = _accounted(event, relation)
    return max(min([float(accountant.get_epsilon(probability)) for accountant in accountants] + [pure]), 0.0)


def upper_delta(event: Any, epsilon: float, *, relation: str | None = None) -> float:
    """The smallest delta for which an accountant proves (epsilon, delta)-privacy of an event; see `upper_bound`."""
    slope = PrivacyClaim(epsilon).epsilon
    accountants, pure = _accounted(event, relation)
    bounds = [float(accountant.get_delta(slope)) for accountant in accountants]
    return min([*bounds, PrivacyClaim(pure).delta_at(slope)])


def sandwich(
    claim: PrivacyClaim,
    lower: float | None,
    exact: float | None = None,
    upper: float | None = None,
    *,
    curves: Mapping[str, Iterable[tuple[float, float]]] | None = None,
) -> dict[str, Any]:
    """Lower bound, exact value, upper bound and claim in the unit of the claim's parameter.

    `lower` is what an audit showed, `exact` the true value where it is known, and `upper` what an accountant proves;
    `curves` has points (epsilon, delta) under the same names, drawn over the claim's own curve.

    Returns:
        {"lower", "exact", "upper", "claim"}, and with curves "plot", a record like those of `Evidence.plots`.

    Raises:
        InvalidInput: a curve has another name.
    """
    picture: dict[str, Any] = {"lower": lower, "exact": exact, "upper": upper, "claim": claim.parameter}
    if curves:
        picture["plot"] = _plot(claim, {name: sorted(points) for name, points in curves.items()})
    return picture


def _plot(claim: PrivacyClaim, curves: dict[str, list[tuple[float, float]]]) -> Plot:
    if unknown := set(curves) - set(_LABELS):
        raise InvalidInput(f"no curve is called {sorted(unknown)[0]!r}; use {', '.join(_LABELS)}")
    series = [
        Series(label, [float(e) for e, _ in curves[name]], [float(d) for _, d in curves[name]])
        for name, label in _LABELS.items()
        if curves.get(name)
    ]
    last = max((max(line.x) for line in series), default=0.0)
    epsilons = np.linspace(0.0, last if last > 0 else 1.0, 65)
    stated = Series(f"claim {claim.text}", epsilons.tolist(), claim.delta_at(epsilons).tolist())
    return Plot("Privacy curve: lower bound, upper bound, claim", "epsilon, nats", "delta", [*series, stated])


def _accounted(event: Any, relation: str | None) -> tuple[list[Any], float]:
    """The accountants that support the event, with the event composed, and its epsilon by adding up pure mechanisms."""
    accounting = library("dp_accounting")
    if not isinstance(event, accounting.DpEvent):
        raise InvalidInput(f"an upper bound needs a dp_accounting DpEvent, got {type(event).__name__}")
    if relation not in (None, *_CONTRIBUTIONS):
        raise InvalidInput(f"relation {relation!r}: use one of {', '.join(_CONTRIBUTIONS)}")
    for kind, contributions in _CONTRIBUTIONS.items():
        if relation not in (None, kind):
            continue
        neighbors = accounting.NeighboringRelation[kind.upper()]
        accountants = [accounting.pld.PLDAccountant(neighbors), accounting.rdp.RdpAccountant(None, neighbors)]
        try:
            supporting = [accountant for accountant in accountants if accountant.supports(event)]
            if kind == "replace_one":  # the second does not count the two contributions of a replaced record
                supporting = supporting[:1]
            if supporting:
                whole = _written_out(event)
                composed = [accountant.compose(whole) for accountant in supporting] if whole is not None else []
                return composed, _pure(event, contributions)
        except ZeroDivisionError:  # an event without noise
            return [], math.inf
        except (ValueError, NotImplementedError) as error:
            raise InvalidInput(f"dp-accounting refuses the event: {one_line(error)}") from error
    raise InvalidInput(f"no accountant of dp-accounting supports {' '.join(str(event).split())}")


def _written_out(event: Any) -> Any:
    """The event with every repetition of randomized responses part by part; None when those are too many."""
    accounting, kind = library("dp_accounting"), type(event).__name__
    if kind == "SelfComposedDpEvent" and "RandomizedResponse" in str(event):
        part = _written_out(event.event)
        written = event.count <= _REPETITIONS and part is not None
        return accounting.ComposedDpEvent([part] * event.count) if written else None
    if kind == "ComposedDpEvent":
        parts = [_written_out(part) for part in event.events]
        return None if None in parts else accounting.ComposedDpEvent(parts)
    return event


def _pure(event: Any, contributions: int) -> float:
    """Epsilon of an event made of pure mechanisms; infinite for any other."""
    match type(event).__name__:
        case "NoOpDpEvent":
            return 0.0
        case "LaplaceDpEvent":
            return contributions / event.noise_multiplier if event.noise_multiplier > 0 else math.inf
        case "DiscreteLaplaceDpEvent":
            return contributions * event.noise_parameter * event.sensitivity
        case "RandomizedResponseDpEvent":
            other = event.noise_parameter / event.num_buckets
            return math.log1p((1 - event.noise_parameter) / other) if other > 0 else math.inf
        case "SelfComposedDpEvent":
            return event.count * _pure(event.event, contributions) if event.count else 0.0
        case "ComposedDpEvent":
            return math.fsum(_pure(part, contributions) for part in event.events)
        case "PoissonSampledDpEvent" if contributions == 1:
            inner, rate = _pure(event.event, contributions), event.sampling_probability
            return inner if inner > 700 else math.log1p(rate * math.expm1(inner))
    return math.inf
