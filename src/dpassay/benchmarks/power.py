"""What the statistics of the auditor are worth: bounds, samples to a refutation, and exact false-alarm rates.

Works on binomial counts of a known event, so nothing is sampled, learned or selected here, except in the table of
calls: whole anytime-valid audits of samplers that are called once per output. Laplace noise with the
dataset's half-line {output > 0}: p = 1/2, q = e^-epsilon / 2, which is the best event for small epsilon; randomized
response: p = e^epsilon / (1 + e^epsilon), q = 1 - p. Both have log(p/q) = epsilon exactly.
"""

import itertools
import math
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize, stats

from dpassay.auditors.betting import EProcess, lower_bound
from dpassay.auditors.fixed_sample import METHODS, Counts, epsilon_lower, largest_where, predicted_lower, size
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.progress import Say, part, silent, told
from dpassay.core.records import Table

ALPHA = 0.01
EVENTS: dict[str, Callable[[float], tuple[float, float]]] = {
    "Laplace": lambda epsilon: (0.5, 0.5 * math.exp(-epsilon)),
    "randomized response": lambda epsilon: (1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))),
}
LOOKS = 40
FIRST, GROWTH = 16, 0.03
"""Samples per side of the first batch, and how much each further batch adds to all before it."""
SAMPLES_COLUMNS = (
    "mechanism", "epsilon", "Clopper-Pearson, power 0.9", "exact, power 0.9", "anytime, mean", "anytime, median",
    "anytime, 90%", "mean / Clopper-Pearson",
)  # fmt: skip
NULLS = ((0.0, 0.0), (0.1, 0.0), (1.0, 0.0), (3.0, 0.0), (1.0, 0.01))
"""(epsilon, delta) of the exact sizes."""


def tables(quick: bool, seed: int, progress: Callable[[str], None] = lambda _: None) -> list[Table]:
    """Four tables {"title", "columns", "rows"}: power, samples and calls to a refutation, exact sizes.

    Quick: fewer repetitions and smaller cases.
    """
    power = bound_fractions(quick, seed, part(progress, 0, 4))
    samples = samples_to_refute(quick, seed, part(progress, 1, 4))
    calls = calls_to_refute(20 if quick else 200, seed, part(progress, 2, 4))
    exact = sizes(quick, part(progress, 3, 4))
    return [
        Table(
            f"Bound at confidence {1 - ALPHA:g} as a fraction of the true epsilon, mean",
            ["mechanism", "epsilon", "samples", *METHODS, f"e-process, {LOOKS} looks", "best possible"],
            power,
        ),
        Table(
            f"Samples (both datasets) to refute a claim 20% too low at failure probability {ALPHA:g}",
            list(SAMPLES_COLUMNS),
            samples,
        ),
        Table(
            f"Calls (both datasets) of a sampler of epsilon 2 to refute a claim of 1 at failure probability "
            f"{ALPHA:g}, whole anytime-valid audits",
            ["mechanism", "audits", "refuted", "median", "mean", "90%"],
            calls,
        ),
        Table(
            f"Largest probability of a false refutation at failure probability {ALPHA:g}, summed exactly",
            ["n", "m", "epsilon", "delta", *METHODS],
            exact,
        ),
    ]


def bound_fractions(quick: bool, seed: int, progress: Say = silent) -> list[list[Any]]:
    """Rows of the first table: a fifth of the samples chose the event, except in the last column, which needs none.

    The best possible spends all samples on the exact test of the optimal event.
    """
    generator = np.random.default_rng(seed)
    rows = []
    repeats, exact_repeats = (40, 3) if quick else (400, 12)
    totals = (10**4, 10**5) if quick else (10**4, 10**5, 10**6, 10**7)
    plan = list(itertools.product(EVENTS, (0.1, 1.0), totals))
    said = told(
        plan, progress, lambda each: f"power of the bounds: {each[0]}, epsilon {each[1]:g}, {each[2]:,} samples"
    )
    for name, epsilon, total in said:
        p, q = EVENTS[name](epsilon)
        test = int(0.8 * total) // 2
        means = _mean_bounds(METHODS, p, q, test, repeats, exact_repeats, generator)
        best = _mean_bounds(("score", "exact"), p, q, total // 2, repeats, exact_repeats, generator)["exact"]
        sequential = _sequential_bound(p, q, epsilon, test, repeats // 4, generator)
        values = [*(means[method] for method in METHODS), sequential, best]
        rows.append([name, epsilon, total, *(round(value / epsilon, 3) for value in values)])
    return rows


def samples_to_refute(quick: bool, seed: int, progress: Say = silent) -> list[list[Any]]:
    """Rows of the second table: mean, median and 90% quantile over runs that bet until the claim is refuted."""
    rows = []
    plan = list(itertools.product(EVENTS, (0.1, 1.0, 3.0)))
    for name, epsilon in told(plan, progress, lambda each: f"samples to refute: {each[0]}, epsilon {each[1]:g}"):
        p, q = EVENTS[name](epsilon)
        fixed = [_fixed_samples(p, q, 0.8 * epsilon, method) for method in ("clopper-pearson", "exact")]
        taken = _anytime_samples(p, q, 0.8 * epsilon, 100 if quick else 1000, np.random.default_rng(seed))
        mean = float(taken.mean())
        row = [*fixed, round(mean), int(np.median(taken)), int(np.quantile(taken, 0.9)), round(mean / fixed[0], 3)]
        rows.append([name, epsilon, *row])
    return rows


def calls_to_refute(audits: int, seed: int, progress: Say = silent) -> list[list[Any]]:
    """Rows of the third table; an audit that spends all its samples counts with them."""
    from dpassay.auditors.audit import run_audit

    def laplace(rng: np.random.Generator, answer: float) -> float:
        return answer + rng.laplace(0, 1 / 2)

    def response(rng: np.random.Generator, bit: float) -> bool:
        return bool(rng.random() < EVENTS["randomized response"](2.0)[0 if bit else 1])

    rows: list[list[Any]] = []
    for name, sampler in (("Laplace", laplace), ("randomized response", response)):
        calls, refuted = [], 0
        own = part(progress, len(rows), 2)
        for audit in told(range(audits), own, lambda audit: f"calls of slow samplers: {name}, audit {audit + 1}"):  # noqa: B023
            with tempfile.TemporaryDirectory() as folder:
                found = run_audit(
                    sampler, 0.0, 1.0, claim=PrivacyClaim(1.0), failure_probability=ALPHA, num_samples=1500,
                    ledger=f"{folder}/ledger.db", name=name, seed=1000 * seed + audit,
                )  # fmt: skip
            calls.append(2 * found.samples["total"])
            refuted += found.verdict.outcome == "refuted"
        tail = int(np.quantile(calls, 0.9))
        rows.append([name, audits, refuted, int(np.median(calls)), round(float(np.mean(calls))), tail])
    return rows


def sizes(quick: bool, progress: Say = silent) -> list[list[Any]]:
    """Rows of the fourth table: the largest over a grid of q; None where a method does not apply or costs too much."""
    cases = [(20, 20)] if quick else [(20, 20), (100, 60), (1000, 1000), (10**4, 10**4)]
    rows = []
    for n, m in told(cases, progress, lambda case: f"exact sizes: {case[0]} and {case[1]} samples"):
        for epsilon, delta in NULLS[1::2] if quick else NULLS:
            largest = (1 - delta) * math.exp(-epsilon)
            grid = np.unique(
                np.concatenate([np.geomspace(2 / m * largest, largest, 12), np.linspace(0.05, 1, 9) * largest])
            )
            found: list[float | None] = []
            for method in METHODS:
                if (method == "conditional" and delta) or (method == "exact" and n > 100):
                    found.append(None)
                    continue
                found.append(float(f"{max(size(method, n, m, epsilon, delta, q, ALPHA) for q in grid):.3g}"))
            rows.append([n, m, epsilon, delta, *found])
    return rows


def _mean_bounds(
    methods: Sequence[str],
    p: float,
    q: float,
    trials: int,
    repeats: int,
    exact_repeats: int,
    generator: np.random.Generator,
) -> dict[str, float]:
    """Mean bound per method; the exact one, which costs more, from its mean difference to the score bound."""
    found: dict[str, list[float]] = {method: [] for method in methods}
    for repeat in range(repeats):
        counts = Counts(generator.binomial(trials, p), trials, generator.binomial(trials, q), trials)
        for method, values in found.items():
            if method != "exact" or repeat < exact_repeats:
                values.append(epsilon_lower(counts, failure_probability=ALPHA, method=method))
    means = {method: float(np.mean(values)) for method, values in found.items()}
    difference = np.array(found["exact"]) - np.array(found["score"][: len(found["exact"])])
    return {**means, "exact": means["score"] + float(difference.mean())}


def _sequential_bound(
    p: float, q: float, epsilon: float, test: int, repeats: int, generator: np.random.Generator
) -> float:
    """Mean bound of the e-process after LOOKS equal batches; all runs share one process, one event each."""
    grid = np.concatenate([[0.0], epsilon * np.linspace(0.005, 1.1, 220)])
    weights = np.full(repeats, 1 / repeats)
    claim = int(np.argmin(np.abs(grid - 0.8 * epsilon)))
    process = EProcess(np.tile(grid, (repeats, 1)), 0.0, weights, claim_index=claim)
    batch = test // LOOKS
    for _ in range(LOOKS):
        process.update(generator.binomial(batch, p, repeats), batch, generator.binomial(batch, q, repeats), batch)
    return float(np.mean([lower_bound(grid, row, -math.log(ALPHA)) for row in process.log_e_events]))


def _anytime_samples(p: float, q: float, claim: float, runs: int, generator: np.random.Generator) -> np.ndarray:
    """Samples of both sides that each run took until the claim was refuted."""
    process = EProcess(np.full((runs, 1), claim), 0.0, np.full(runs, 1 / runs), claim_index=0)
    taken, seen = np.zeros(runs), 0
    while not taken.all():
        batch = max(FIRST, int(GROWTH * seen))
        process.update(generator.binomial(batch, p, runs), batch, generator.binomial(batch, q, runs), batch)
        seen += batch
        done = (process.log_e_events[:, 0] >= -math.log(ALPHA)) & (taken == 0)
        taken[done] = 2 * seen
    return taken


def _fixed_samples(p: float, q: float, claim: float, method: str) -> int:
    """Samples of both sides with which the fixed test refutes the claim with probability 0.9.

    By quadrature over the counts; for the exact test with `predicted_lower` in its place.
    """
    slope = math.exp(claim)

    def power(trials: float) -> float:
        n = int(trials)
        x = np.unique(stats.binom.ppf(np.linspace(5e-4, 1 - 5e-4, 800), n, p))
        weight = np.diff(stats.binom.cdf(x, n, p), prepend=0.0)
        if method == "clopper-pearson":
            low = stats.beta.ppf(ALPHA / 2, x, n - x + 1)
            y = np.arange(0, n + 1) if n < 2000 else np.unique(stats.binom.ppf(np.linspace(1e-5, 1 - 1e-5, 4000), n, q))
            high = stats.beta.ppf(1 - ALPHA / 2, y + 1, n - y)
            limit = np.searchsorted(slope * high, low, side="left") - 1
            limits = np.where(limit >= 0, y[np.maximum(limit, 0)], -1)
        else:
            limits = largest_where(
                lambda some, y: predicted_lower(x[some], n, y, n, failure_probability=ALPHA) > claim, x.shape, n
            )
        return float((weight * stats.binom.cdf(limits, n, q)).sum())

    low, high = 20, 40
    while power(high) < 0.9:
        low, high = high, 2 * high
    found = optimize.brentq(lambda trials: power(trials) - 0.9, low, high, xtol=max(1.0, high * 1e-3))
    return 2 * round(float(found))
