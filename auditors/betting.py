"""Evidence that may be looked at any time: e-processes against p <= s q + d from counts that come in batches.

Under one dataset x of n outputs fall into an event of probability p, under the other y of m into one of probability q.
For any boundary point (p0, q0), p0 = s q0 + d, any bet mu in [0, min(1/p0, m / (n s (1-q0)))] and nu = mu s n / m

    E = (1 + mu (1-p0))^x (1 - mu p0)^(n-x) (1 - nu (1-q0))^y (1 + nu q0)^(m-y)

has mean at most 1 under the null: with D = s (q - q0) >= p - p0,

    E[E] = (1 + mu (p-p0))^n (1 - nu (q-q0))^m <= (1 + mu D)^n (1 - nu D/s)^m <= exp(n mu D - m nu D / s) = 1.

Slope s > 0, offset d >= 0 and the numbers of trials are free and may change from batch to batch; the bet may depend on
everything seen before the batch. So products over batches are e-processes, and so are weighted means over events:
Ville's inequality (1939) bounds the probability of ever reaching 1/alpha by alpha. Bets: the plug-in likelihood ratio
against its closest null (Grünwald, de Heide and Koolen 2024: growth-rate optimal). docs/theorems/black-box-audits.md.
"""

import copy
import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from dpassay.auditors.fixed_sample import closest_null
from dpassay.core.errors import InvalidInput

RATIO = 1.004
"""Of neighboring points of the grid."""
SPAN = 64.0
EXPECTED, SHARES = (0.3, 1.2), (0.7, 0.3)
"""Strategies: the excess over a null that each expects, as a multiple of the null's own log-ratio, and its share."""

_STEEPEST = 150.0  # log slopes beyond which nothing is staked

Array = np.ndarray[Any, np.dtype[np.float64]]


def epsilon_grid(claimed: float) -> Array:
    """The fixed grid of parameters, ascending, that a lower bound walks: a function of the claim alone, which is on it.

    Shape (points,): geometric, from claimed / 64 to max(64 claimed, 50), neighbors 0.4% apart; for a claim of 0 the
    points are 0 and 1e-4 to 50. For any other parameter of a claim (mu, rho, a multiplier) the same.

    Raises:
        InvalidInput: a claim that is negative or not finite.
    """
    if not 0 <= claimed < math.inf:
        raise InvalidInput(f"the claim is {claimed}; a bound needs a finite claim >= 0")
    if claimed == 0:
        steps = math.ceil(math.log(50 / 1e-4) / math.log(RATIO))
        return np.concatenate([[0.0], 1e-4 * RATIO ** np.arange(steps + 1)])
    below = math.ceil(math.log(SPAN) / math.log(RATIO))
    above = math.ceil(math.log(max(SPAN, 50 / claimed)) / math.log(RATIO))
    grid = claimed * RATIO ** np.arange(-below, above + 1, dtype=float)
    grid[below] = claimed
    return grid


def lower_bound(grid: Array, log_e: Array, log_threshold: float) -> float:
    """The last grid point of the run from the first one on which log_e reaches the threshold; 0 when there is none.

    The first grid point that is not below the truth is a true null; as long as its evidence stays below the threshold,
    the run ends before it. Shapes (G,), (G,).
    """
    rejected = np.asarray(log_e) >= log_threshold
    run = int(rejected.size if rejected.all() else np.argmin(rejected))
    return float(grid[run - 1]) if run else 0.0


def evidence(log_e: Array, at_claim: int) -> float:
    """The least of log_e, shape (G,), up to the claim's place on the grid: what refutes at the threshold.

    So the `lower_bound` of a refuted claim is never below the claim, and the claim's own null is among the rejected.
    """
    return float(np.min(log_e[: at_claim + 1]))


class EProcess:
    """Weighted mixture of e-processes, one per event, against a grid of nulls p <= exp(log_slope) q + offset.

    Args:
        log_slopes: shape (K, G), nats: event k, null g.
        offsets: shape (K, G), >= 0.
        weights: shape (K,) or (K, G), of sum at most 1 over the events; fixed before these events' test counts.
        log_wealth: shape (G,), log evidence of earlier epochs (with other events) against the same G nulls; multiplied
            in. These events may depend on everything those epochs saw.
        prior: counts (successes1, trials1, successes2, trials2), each a number or of shape (K,), that chose the events,
            never their test counts: they guide the first bets and are no evidence.
        claim_index: column of the claim's own null: bets expect a truth near it, and those against it are recorded for
            `certificate_inputs`. None: no such guess, no record.
        cash: share of the evidence that is on no event, a number or of shape (G,); with the weights at most 1.

    Raises:
        InvalidInput: shapes that do not fit, offsets or weights out of range.
    """

    def __init__(
        self,
        log_slopes: Any,
        offsets: Any,
        weights: Any,
        *,
        log_wealth: Any = None,
        prior: tuple[Any, Any, Any, Any] | None = None,
        claim_index: int | None = None,
        cash: Any = 0.0,
    ) -> None:
        self.log_slopes = np.atleast_2d(np.asarray(log_slopes, float))
        self.offsets = np.broadcast_to(np.asarray(offsets, float), self.log_slopes.shape)
        events, nulls = self.log_slopes.shape
        given = np.asarray(weights, float)
        if given.shape not in ((events,), (events, nulls)):
            raise InvalidInput(f"weights must be {events} positive numbers of sum at most 1, got {weights}")
        self.weights = np.broadcast_to(given[:, None] if given.ndim == 1 else given, (events, nulls))
        self.cash = np.broadcast_to(np.asarray(cash, float), (nulls,))
        all_positive = bool(np.all(given > 0) if given.ndim == 1 else np.all(given >= 0)) and bool(
            np.all(self.cash >= 0)
        )
        if not all_positive or np.any(self.weights.sum(axis=0) + self.cash > 1 + 1e-12):
            raise InvalidInput(f"weights must be {events} positive numbers of sum at most 1, got {weights}")
        if not np.all(self.offsets >= 0) or np.any(np.isnan(self.log_slopes)):
            raise InvalidInput("offsets must be >= 0 and slopes numbers")
        self.log_wealth = np.zeros(nulls) if log_wealth is None else np.asarray(log_wealth, float)
        if self.log_wealth.shape != (nulls,):
            raise InvalidInput(f"log_wealth needs one number per null, {nulls}, got shape {self.log_wealth.shape}")
        self._log_e = np.zeros((len(SHARES), events, nulls))
        self._seen = tuple(np.asarray(part, float) for part in prior or (0.0,) * 4)
        self.claim_index = claim_index
        self._history: list[tuple[Array, int, Array, int, Array, Array]] = []

    @property
    def log_e_events(self) -> Array:
        """Log evidence of this epoch per event, shape (K, G), nats, without weights."""
        result: Array = special.logsumexp(self._log_e + np.log(np.array(SHARES))[:, None, None], axis=0)
        return result

    @property
    def log_e(self) -> Array:
        """Log evidence against every null, shape (G,), nats: earlier epochs plus the weighted mixture over events."""
        result: Array = np.logaddexp(special.logsumexp(self.log_capital, axis=0), self.log_cash)
        return result

    @property
    def log_capital(self) -> Array:
        """Log of what each event's share of the evidence became, shape (K, G), nats; with the cash it is `log_e`."""
        with np.errstate(divide="ignore"):
            result: Array = self.log_wealth + self.log_e_events + np.log(self.weights)
        return result

    @property
    def log_cash(self) -> Array:
        """Log of the evidence that is on no event, shape (G,), nats."""
        with np.errstate(divide="ignore"):
            result: Array = self.log_wealth + np.log(self.cash)
        return result

    def copy(self) -> "EProcess":
        """An independent process in the same state."""
        twin = copy.copy(self)
        twin._history = list(self._history)
        return twin

    def update(self, successes1: Any, trials1: int, successes2: Any, trials2: int) -> None:
        """Takes in the counts of one batch of fresh samples, shapes (K,); the bets use earlier batches only.

        Raises:
            InvalidInput: counts that do not fit the trials or the number of events.
        """
        x, y = np.atleast_1d(np.asarray(successes1, float)), np.atleast_1d(np.asarray(successes2, float))
        n, m = int(trials1), int(trials2)
        if x.shape != self.log_slopes.shape[:1] or y.shape != self.log_slopes.shape[:1]:
            raise InvalidInput(
                f"a batch needs {len(self.log_slopes)} counts per side, one per event; got {x.size}, {y.size}"
            )
        if n < 1 or m < 1 or np.any((x < 0) | (x > n) | (y < 0) | (y > m)):
            raise InvalidInput(f"counts must be between 0 and their trials ({n} and {m}), with at least one trial each")
        bets, points = self._bets(n, m)
        gains = _log_e(x[:, None], n, y[:, None], m, self.log_slopes, self.offsets, bets, points)
        self._log_e = self._log_e + gains
        seen_x, seen_n, seen_y, seen_m = self._seen
        self._seen = (seen_x + x, seen_n + n, seen_y + y, seen_m + m)
        if self.claim_index is not None:
            index = self.claim_index
            self._history.append((x, n, y, m, points[:, index].copy(), bets[:, :, index].copy()))

    def certificate_inputs(self, *, lost: float = 1e-4) -> list[dict[str, Any]]:
        """This epoch's evidence against the null at `claim_index`, as `dpassay.replay.audit` reads it.

        The heaviest events, and the cash as one never looked at; what is left out lowers the evidence, by a share of
        `lost` at most. One mapping for each: weight, log_slope, offset, strategies (shares), looks: [x, n, y, m, q0,
        bet per strategy], numbers exact decimals in strings.
        """
        if self.claim_index is None:
            raise InvalidInput("no bets were recorded; build the EProcess with claim_index")
        value = self.log_capital[:, self.claim_index] - self.log_e[self.claim_index]
        order = np.argsort(value)
        order = order[np.cumsum(np.exp(value[order])) > lost][::-1]
        kept = float(self.cash[self.claim_index])
        cash = {
            "weight": _exact(kept),
            "log_slope": _exact(self.log_slopes[0, self.claim_index]),
            "offset": _exact(self.offsets[0, self.claim_index]),
            "strategies": ["1"],
            "looks": [],
        }
        return [
            {
                "weight": _exact(self.weights[k, self.claim_index]),
                "log_slope": _exact(self.log_slopes[k, self.claim_index]),
                "offset": _exact(self.offsets[k, self.claim_index]),
                "strategies": [_exact(share) for share in SHARES],
                "looks": [
                    [int(x[k]), n, int(y[k]), m, f"{point[k]:.12g}", *(f"{bet:.12g}" for bet in bets[:, k])]
                    for x, n, y, m, point, bets in self._history
                ],
            }
            for k in order
        ] + ([cash] if kept > 0 else [])

    def _bets(self, n: int, m: int) -> tuple[Array, Array]:
        """Bets (J, K, G) and boundary points q0 (K, G) for a batch of n and m trials, from what was seen before.

        Moving from the closest null (p0, q0) against the null changes the log-ratio by eta = log(p/p0) - log(q/q0).
        A strategy expects eta to be normal, above 0, with a standard deviation of its own, and bets on the mean given
        the counts so far; a bare plug-in would stake on noise until the counts are large.
        """
        x, seen_n, y, seen_m = (np.atleast_1d(part)[:, None] for part in self._seen)
        p, q = (x + 0.5) / (seen_n + 1), (y + 0.5) / (seen_m + 1)
        slope = np.exp(np.minimum(self.log_slopes, _STEEPEST))
        point = np.maximum(closest_null(p, q, n, m, slope, self.offsets, rounds=12), 1e-300)
        null = slope * point + self.offsets
        steep1, steep2 = 1 - null, slope * (n / m) * (1 - point)  # of log(p/p0) and -log(q/q0), per unit of the bet
        with np.errstate(all="ignore"):
            scale = np.log(slope + self.offsets / point)
            claimed = 0.0 if self.claim_index is None else scale[:, self.claim_index, None]
            scale = np.maximum(scale, np.where(claimed > 0, 1e-3, 0.1))
            # Against a null below the claim no less than against the claim: else evidence that refutes the claim could
            # leave a smaller parameter standing, where the walk of the bound would end.
            expected = np.multiply.outer(np.array(EXPECTED), np.maximum(scale, claimed))
            expected = np.maximum(expected, claimed - scale)
            seen = np.log(p / null) - np.log(q / point)
            variance = slope**2 * point * (1 - point)
            noise = np.sqrt(null * (1 - null) / seen_n + variance / seen_m)
            noise = np.where((seen_n > 0) & (seen_m > 0), noise, np.inf)
            noise = (steep1 + steep2) / (null * (1 - null) + variance * (n / m)) * noise
            share = 1 / (1 + (noise / expected) ** 2)
            deviation = expected * np.sqrt(1 - share)
            ratio = np.where(np.isfinite(noise), seen, 0.0) * share / deviation
            mean = deviation * (ratio + np.exp(-(ratio**2) / 2 - special.log_ndtr(ratio)) / math.sqrt(2 * math.pi))
            growth = np.exp(np.clip(mean, 0.0, 300.0))
            bets = (growth - 1) / (steep1 + steep2 * growth)
            most = np.minimum(1 / null, 1 / steep2)
        usable = (null < 1) & (self.log_slopes <= _STEEPEST) & np.isfinite(bets)
        return np.where(usable, np.clip(bets, 0.0, most * (1 - 1e-9)), 0.0), point


def _log_e(x: Any, n: int, y: Any, m: int, log_slope: Array, offset: Array, bet: Array, point: Array) -> Array:
    """log E of one batch, nats; where the bet is 0 nothing is staked."""
    slope = np.exp(np.minimum(log_slope, _STEEPEST))
    null = slope * point + offset
    other = bet * slope * (n / m)
    with np.errstate(all="ignore"):
        total: Array = (
            special.xlog1py(x, bet * (1 - null))
            + special.xlog1py(n - x, -bet * null)
            + special.xlog1py(y, -other * (1 - point))
            + special.xlog1py(m - y, other * point)
        )
    return np.where(bet > 0, total, 0.0)


def _exact(value: float) -> str:
    """The very number as a fraction."""
    return str(Fraction(float(value)))
