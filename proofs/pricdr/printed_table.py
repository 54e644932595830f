"""Table 1 of Chen et al. (PriCDR), digits as printed, and what follows from the printed digits alone.

With one held-out item per user, each metric is a sum over the item's rank k: HR@K counts k <= K, NDCG@K adds
1/log2(k+1) and MRR@K adds 1/k. Averages over users and runs are such sums over the shares p_k of held-out items at rank
k. So a row of six printed numbers must come, up to rounding, from one list p_1, ..., p_10 >= 0. By Farkas' lemma a row
that does not is exposed by six multipliers, which a certificate can carry.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.experiments.pricdr.printed import CROSS_DOMAIN, METRICS, PROPOSED, SINGLE_DOMAIN, SYMMETRIC, TABLE
from dpassay.proofs.decisions import checked, decided, shown
from dpassay.proofs.notation import formula, instance
from dpassay.replay.formula import variables

TASKS = tuple(TABLE)
BASELINES = (*SINGLE_DOMAIN, *CROSS_DOMAIN)
RANKS = range(1, 11)
HALF_DIGIT = Fraction(1, 20_000)


@dataclass(frozen=True)
class Violation:
    """One inequality that a printed row breaks by more than rounding allows.

    Attributes:
        task, method: the row.
        broken: the inequality, in words of the table.
        text: the comparison that shows it, in the names of `_name`.
        excess: by how much it fails, float64.
    """

    task: str
    method: str
    broken: str
    text: str
    excess: float


def decide_identities(claim: Claim, context: Context) -> Verdict:
    """CD-TAB-ID: six inequalities for each of 60 rows."""
    found = violations()
    worst = {(v.task, v.method): v for v in sorted(found, key=lambda v: v.excess)}
    certificate = _instance("refuted", [v.text for v in worst.values()])
    if not worst:
        return Verdict(claim.id, "open", "No printed row breaks an inequality.")
    baselines = sum(method in BASELINES for _, method in worst)
    rows = [[method, sum(m == method for _, m in worst)] for method in (*BASELINES, SYMMETRIC, *PROPOSED)]
    return decided(
        claim,
        "refuted",
        f"{len(worst)} of 60 rows break one of the inequalities by more than rounding allows, {baselines} of them "
        f"rows of baselines (42 rows), {len(worst) - baselines} of the paper's own models (18 rows). DMF on Amazon "
        "Movie to Book even has a smaller MRR at 10 than at 5. Such numbers come from no ranking with one held-out "
        "item, whatever the model; as a yardstick they say nothing.",
        evidence=shown(
            "The most violated inequality of each such row, allowing half a digit per printed number.",
            certificate,
            tables=(Table("Tasks (of 6) whose row breaks an inequality", ["method", "rows"], rows),),
        ),
        assumptions=("NDCG and MRR have the usual logarithmic and reciprocal gains",),
    )


def decide_table1(claim: Claim, context: Context) -> Verdict:
    """CD-TAB1: which rows no shares of ranks can give; nothing is trained."""
    certified: dict[tuple[str, str], list[str]] = {}
    for task, method in product(TASKS, TABLE[TASKS[0]]):
        texts = _farkas(task, method)
        if texts and checked(_instance("refuted", texts)):
            certified[task, method] = texts
    corrections = {row: least_correction(*row) for row in product(TASKS, TABLE[TASKS[0]])}
    worst = [
        max(product(TASKS, methods), key=lambda row: corrections[row])
        for methods in (SINGLE_DOMAIN, CROSS_DOMAIN, (SYMMETRIC, *PROPOSED))
    ]
    impossible = [certified[row] for row in worst if row in certified]
    if not impossible:
        return Verdict(claim.id, "open", "No row is impossible; the models were not trained here.")
    baselines = sum(method in BASELINES for _, method in certified)

    def largest(methods: Sequence[str]) -> float:
        return max(correction for (_, method), correction in corrections.items() if method in methods)

    rows = [[method, *(f"{corrections[task, method]:.5f}" for task in TASKS)] for method in TABLE[TASKS[0]]]
    table = Table("How wrong each of the six numbers must at least be (rounding: 0.00005)", ["method", *TASKS], rows)
    return Verdict(
        claim.id,
        "refuted",
        f"{len(certified)} of the 60 rows cannot come from the described experiment: no shares of held-out items at "
        f"the ranks 1 to 10 give the six numbers, rounding allowed ({baselines} of 42 rows of baselines, "
        f"{len(certified) - baselines} of 18 of the paper's models). For baselines all six numbers would have to be "
        f"wrong by up to {largest(BASELINES):.3f} each, for the paper's own models by up to "
        f"{largest((SYMMETRIC, *PROPOSED)):.4f}, as might happen if each metric was taken at its own best epoch. The "
        "remaining rows, and what a correct run gives, are not decided: no model was trained here.",
        evidence=(
            shown(
                "For the worst row of each kind of model, multipliers under which the printed numbers are negative "
                "though every rank's gain is not.",
                _instance("refuted", [text for texts in impossible for text in texts]),
                tables=(table,),
            ),
        ),
        assumptions=("NDCG and MRR have the usual logarithmic and reciprocal gains",),
    )


def decide_all(claim: Claim, context: Context) -> Verdict:
    """CD-ALL: the printed numbers of J and S against seven baselines."""
    compared = list(product(TASKS, METRICS, PROPOSED, BASELINES))
    lost = [(t, m, own, other) for t, m, own, other in compared if _number(t, own, m) <= _number(t, other, m)]
    certificate = _instance("refuted", [f"{_name(t, own, m)} <= {_name(t, other, m)}" for t, m, own, other in lost])
    if not lost:
        return Verdict(claim.id, "open", "No printed number contradicts it.")
    task, metric, own, other = lost[0]
    return decided(
        claim,
        "refuted",
        f"By the paper's own Table 1: on {task}, {own} has {metric} {TABLE[task][own][METRICS.index(metric)]}, {other} "
        f"has {TABLE[task][other][METRICS.index(metric)]}. The other {len(compared) - len(lost)} of {len(compared)} "
        "printed comparisons go the claimed way; most baseline rows, however, are impossible (CD-TAB1).",
        evidence=shown(f"{len(lost)} of {len(compared)} printed comparisons.", certificate),
    )


def decide_cross_domain(claim: Claim, context: Context) -> Verdict:
    """CD-CDR-SD: every cross-domain row against every single-domain row."""
    better = (*CROSS_DOMAIN, SYMMETRIC, *PROPOSED)
    return _ordering(
        claim,
        better,
        SINGLE_DOMAIN,
        "True of the printed numbers, in all 756 comparisons. But every row of a single-domain model is impossible "
        "for the described experiment (CD-TAB1), so that what the comparison shows is unclear.",
    )


def decide_symmetric(claim: Claim, context: Context) -> Verdict:
    """CD-JS-SYM: J and S against SYM."""
    return _ordering(
        claim,
        PROPOSED,
        (SYMMETRIC,),
        "True of the printed numbers, in all 72 comparisons; the smallest margin is "
        f"{float(_smallest_margin(PROPOSED, (SYMMETRIC,))):.4f}. No spread over the five runs is printed, so that the "
        "smaller margins may be chance.",
    )


def violations() -> list[Violation]:
    """The inequalities of CD-TAB-ID that fail by more than rounding allows, for all rows."""
    return [found for task, method in product(TASKS, TABLE[TASKS[0]]) for found in _row_violations(task, method)]


def least_correction(task: str, method: str) -> float:
    """The smallest c such that some shares of ranks give all six numbers up to c each (float64 linear program)."""
    from scipy.optimize import linprog

    gains, printed = _gains(), np.array([float(number) for number in TABLE[task][method]])
    slack = -np.ones((len(METRICS), 1))
    solution = linprog(
        np.append(np.zeros(len(RANKS)), 1.0),
        A_ub=np.vstack([np.hstack([gains, slack]), np.hstack([-gains, slack])]),
        b_ub=np.concatenate([printed, -printed]),
    )
    return float(solution.fun)


def _gains() -> np.ndarray:
    """What one held-out item at each rank adds to each metric: shape (metrics, ranks)."""
    rank = np.array(RANKS, dtype=np.float64)
    rows = [np.ones_like(rank), 1 / np.log2(rank + 1), 1 / rank]
    return np.array([row * (rank <= 5) for row in rows] + rows)


def _farkas(task: str, method: str) -> list[str]:
    """Comparisons that show that no shares of ranks give the row; empty when the search finds no multipliers."""
    from scipy.optimize import linprog

    gains, printed = _gains(), np.array([float(number) for number in TABLE[task][method]])
    # Minimize y . printed + half a digit per |y| over -1 <= y <= 1 with every rank's gain at least 0; y = plus - minus.
    half = float(HALF_DIGIT)
    solution = linprog(
        np.concatenate([printed + half, -printed + half]),
        A_ub=np.hstack([-gains.T, gains.T]),
        b_ub=np.zeros(len(RANKS)),
        bounds=(0, 1),
    )
    plus, minus = np.split(solution.x, 2)
    multipliers = [Fraction(round(value * 10**6), 10**6) for value in plus - minus]
    multipliers[METRICS.index("HR10")] += Fraction(1, 10**5)  # rounding must not make a rank's gain negative
    allowed = sum(abs(y) for y in multipliers) * HALF_DIGIT
    row = [Fraction(number) for number in TABLE[task][method]]
    if sum(y * number for y, number in zip(multipliers, row, strict=True)) + allowed >= 0:
        return []
    texts = []
    for rank in RANKS:
        gain = ("1", f"(ln(2) / ln({rank + 1}))", f"(1 / {rank})")
        terms = [
            f"({y}) * {g}" for y, g, k in zip(multipliers, gain * 2, (5,) * 3 + (10,) * 3, strict=True) if rank <= k
        ]
        texts.append(f"{' + '.join(terms)} >= 0")
    total = " + ".join(f"({y}) * {_name(task, method, metric)}" for y, metric in zip(multipliers, METRICS, strict=True))
    return [*texts, f"{total} + {allowed} < 0"]


def _row_violations(task: str, method: str) -> Iterator[Violation]:
    names = {metric: _name(task, method, metric) for metric in METRICS}
    number = {metric: float(_number(task, method, metric)) for metric in METRICS}
    slack = 2 * float(HALF_DIGIT)  # of a difference of two printed numbers
    for k, (small, large) in product((5, 10), (("MRR", "NDCG"), ("NDCG", "HR"))):
        excess = number[f"{small}{k}"] - number[f"{large}{k}"] - slack
        if excess > 0:
            text = f"{names[f'{small}{k}']} - {names[f'{large}{k}']} > 1 / 10000"
            yield Violation(task, method, f"{small}@{k} <= {large}@{k}", text, excess)
    gain = {metric: number[f"{metric}10"] - number[f"{metric}5"] for metric in ("HR", "NDCG", "MRR")}
    change = {metric: f"({names[f'{metric}10']} - {names[f'{metric}5']})" for metric in gain}
    for metric, low, high, low_text, high_text in (
        ("NDCG", 1 / np.log2(11), 1 / np.log2(7), "ln(2) / ln(11)", "ln(2) / ln(7)"),
        ("MRR", 1 / 10, 1 / 6, "1 / 10", "1 / 6"),
    ):
        above = gain[metric] - slack - (gain["HR"] + slack) * high
        below = (gain["HR"] - slack) * low - gain[metric] - slack
        if above > 0:
            text = f"{change[metric]} - 1 / 10000 > ({change['HR']} + 1 / 10000) * {high_text}"
            yield Violation(task, method, f"d{metric} <= dHR {high_text}", text, float(above))
        if below > 0:
            text = f"{change[metric]} + 1 / 10000 < ({change['HR']} - 1 / 10000) * {low_text}"
            yield Violation(task, method, f"d{metric} >= dHR {low_text}", text, float(below))


def _ordering(claim: Claim, better: Sequence[str], worse: Sequence[str], explanation: str) -> Verdict:
    """Holds when the smallest number of `better` exceeds the largest of `worse` for every task and metric."""

    def extreme(name: str, methods: Sequence[str], task: str, metric: str) -> str:
        names = [_name(task, method, metric) for method in methods]
        return names[0] if len(names) == 1 else f"{name}({', '.join(names)})"

    texts = [
        f"{extreme('min', better, task, metric)} > {extreme('max', worse, task, metric)}"
        for task, metric in product(TASKS, METRICS)
    ]
    certificate = _instance("holds", texts)
    evidence = shown("All comparisons, by task and metric, on the printed numbers.", certificate)
    return decided(claim, "holds", explanation, evidence=evidence, assumptions=("the printed numbers",))


def _smallest_margin(better: Sequence[str], worse: Sequence[str]) -> Fraction:
    pairs = product(TASKS, METRICS, better, worse)
    return min(_number(t, own, m) - _number(t, other, m) for t, m, own, other in pairs)


def _number(task: str, method: str, metric: str) -> Fraction:
    return Fraction(TABLE[task][method][METRICS.index(metric)])


def _name(task: str, method: str, metric: str) -> str:
    """The name of a printed number in certificates: "PriCDR_J_HR10_task2" for the second task of the table."""
    return f"{method.replace('-', '_')}_{metric}_task{TASKS.index(task) + 1}"


def _instance(supports: str, texts: Sequence[str]) -> dict[str, Any]:
    """A formula certificate on the printed numbers that the comparisons name."""
    formulas = [formula(text) for text in texts]
    printed = {
        _name(task, method, metric): TABLE[task][method][METRICS.index(metric)]
        for task, method, metric in product(TASKS, TABLE[TASKS[0]], METRICS)
    }
    used = frozenset().union(*(variables(f) for f in formulas)) if formulas else frozenset()
    values = {name: number for name, number in printed.items() if name in used}
    return instance(values, *formulas, supports=supports)
