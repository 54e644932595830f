"""What Lu and Shen say about fake users: PP-SEC, PP-SEC2, PP-SUCC, PP-ATK and PP-BATK."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from statsmodels.stats.proportion import proportion_confint

from dpassay.attacks.beta_knn.premise import (
    CHOICES,
    SIMILARITIES,
    TIE_RULES,
    Premise,
    attack_premise,
    known_items,
    some_list_has_target,
)
from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.proofs.decisions import decided, established, shown, supported
from dpassay.proofs.notation import instance, proof, smt

NUMBERS_KNOWN = (4, 8, 16, 32)
FACTORS = (1, 2, 4, 8)  # beta
Formula = Any

_CONFIGURATION = (
    "Two fakes (rows 0 and 1) and the target (row 2) agree on two items; two more users rated them otherwise; k = 2, "
    "p = 1/2. By symmetry both fakes' lists contain the target with the same probability."
)
_SOME_FAKE = [">", ["-", 1, ["^", ["-", 1, "target"], 2]], "1/2"]


def decide_security(claim: Claim, context: Context) -> Verdict:
    """PP-SEC: the first half is true, the second fails for every p of the range."""
    evidence = (
        shown(_CONFIGURATION, _attack_law(["<=", "top", 0], _SOME_FAKE)),
        _attack_table(),
        shown("First half: for p <= (k-1)/k at least one neighbor is from outside the top k.", outsider_proof()),
    )
    outcomes = [supported(record.certificate) for record in evidence if record.certificate]
    refuted = outcomes[:2] == ["refuted", "refuted"]
    first_half = "true" if outcomes[2] == "holds" else "not proved here"
    return Verdict(
        claim.id,
        "refuted" if refuted else "open",
        f"The first half is {first_half}: for p <= (k-1)/k the selected set is never exactly the top k. The "
        "conclusion is false: in the attack the top k of a fake user are the other fakes and the target, and "
        "ceil(pk) of them are still selected, the target with probability ceil(pk)/k. With k fakes at least one "
        "list contains the target with probability 1 - (1 - ceil(pk)/k)^k, at least 0.99 at k = 50 for p >= 0.1; "
        "the larger p, the closer to certainty.",
        evidence=evidence,
        repair="Bound every user's probability of selection, as differential privacy of the set does.",
    )


decide_security_inference = established(
    "refuted",
    "That the selected set is never exactly the top k says nothing about who is in it. An attacker does not need "
    "all top k users in one list: one list with the target shows her ratings.",
    evidence=lambda: shown(
        _CONFIGURATION + " The top k is impossible, and yet the list contains the target half the time.",
        _attack_law(["<=", "top", 0], [">", "target", 0]),
    ),
)


def decide_success(claim: Claim, context: Context) -> Verdict:
    """PP-SUCC: a lower bound on the chance that some list contains the target, whatever the other ratings."""
    fakes, further = 50, 942
    uniform = Fraction(fakes, fakes + further)
    evidence = (
        shown(
            "The target has the largest weight, hence a probability of selection of at least k/n.",
            largest_weight_proof(),
        ),
        shown(
            "k = 50 fakes and 942 further candidates: every list contains the target with probability at least 50/992, "
            f"some list with at least {float(some_list_has_target(uniform, fakes)):.3f}.",
            uniform_instance(fakes, further),
            tables=(_uniform_table(),),
        ),
    )
    return decided(
        claim,
        "refuted",
        "Even uniform selection of k of all candidates puts the target into some fake's list most of the time, "
        f"because there are k lists with k places each: at k = {fakes} and {further} further users the chance is at "
        f"least {float(some_list_has_target(uniform, fakes)):.3f}, and at least {float(fakes * uniform):.2f} lists "
        "contain her on average. Weighting by similarity only raises it. What random selection does achieve is that "
        "the attacker cannot tell the target's contribution from the other neighbors' at once.",
        evidence=evidence,
        assumptions=("the lists of the k fakes are drawn independently", "the target has similarity 1 to the fakes"),
    )


def decide_attack_premise(claim: Claim, context: Context) -> Verdict:
    """PP-ATK: how often the fakes' nearest neighbors are what the attack supposes."""
    failure, k = Fraction(1, 100), 50
    seeds = range(context.seed, context.seed + (1 if context.quick else 3))
    rows, lines, judged = _measured_premise(context, seeds, k, failure)
    if judged is None:
        return Verdict(claim.id, "open", "The setting that the predicate names was not measured.")
    certificate = {
        "kind": "statistics",
        "inputs": {
            "successes": judged[0],
            "trials": judged[1],
            "failure_probability": str(failure),
            "outcomes": {"holds": [">", "lower", "1/2"], "refuted": ["<", "upper", "1/2"]},
            "description": "trials in which a fake's 50 nearest neighbors were the other fakes and the target",
        },
    }
    table = Table(
        f"Probability that a fake's {k} nearest neighbors are the other fakes and the target, by tie rule",
        ["similarity", "known items", "m", "trials", *TIE_RULES, "99% interval (random)", "target in list"],
        rows,
    )
    plot = Plot(
        "The attack's premise (random known items; fakes win ties against real users)",
        "ratings known to the attacker",
        "probability",
        [_with_intervals(similarity, points) for similarity, points in lines.items()],
    )
    low, high = proportion_confint(*judged, float(failure), method="beta")
    paper, full = ({m: mean for m, mean, *_ in lines[s]} for s in ("cosine", "full_cosine"))
    evidence = shown(
        f"All users with more than m ratings as targets, {len(seeds)} draws of random known items, k = {k}; exact "
        "ties; one look at the predicate's setting, Clopper-Pearson, 99%.",
        certificate,
        tables=(table,),
        plots=(plot,),
    )
    return Verdict(
        claim.id,
        supported(certificate),
        "With the paper's similarity (cosine over co-rated items) and m = 8 random known ratings the fakes' "
        f"neighbors were the other fakes and the target in {judged[0]} of {judged[1]} trials (99% interval {low:.4f} "
        f"to {high:.4f}): every real user who shares one item, or rated all shared ones in proportion, has "
        f"similarity 1 too. If the fakes win their ties the chance is {paper[8]:.4f}. The premise is true for another "
        f"similarity: with norms over all own ratings it holds with probability {full[4]:.2f}, {full[8]:.2f}, "
        f"{full[16]:.2f}, {full[32]:.3f} at m = 4, 8, 16, 32, less if the attacker only knows popular items.",
        evidence=(evidence,),
        confidence=float(1 - failure),
    )


def decide_beta_attack(claim: Claim, context: Context) -> Verdict:
    """PP-BATK: how often beta k fakes get a list that shows the target's ratings and nobody else's."""
    failure, k, m = Fraction(1, 100), 50, 8
    rows: list[list[Any]] = []
    series: list[Series] = []
    counts: dict[str, dict[str, int]] = {}
    targets, known = known_items(context.data, m, "random", context.seed)
    for similarity in SIMILARITIES:
        premise = attack_premise(context.data, known, targets, similarity)
        measured: list[float] = []
        for factor in FACTORS:
            chances = {ties: premise.alone_in_list(k, factor, ties) for ties in ("random", "fakes_first")}
            generator = np.random.default_rng([context.seed, factor, SIMILARITIES.index(similarity)])
            successes = int((generator.random(len(targets)) < chances["random"]).sum())
            low, high = proportion_confint(successes, len(targets), float(failure / len(FACTORS)), method="beta")
            means = [f"{float(each.mean()):.4f}" for each in chances.values()]
            rows.append([similarity, factor, factor * k, len(targets), *means, f"[{low:.4f}, {high:.4f}]"])
            measured.append(float(chances["fakes_first"].mean()))
            if similarity == "cosine":
                counts[f"beta{factor}"] = {"successes": successes, "trials": len(targets)}
        series.append(Series(similarity, list(FACTORS), measured))
    certificate = {
        "kind": "statistics",
        "inputs": {
            "counts": counts,
            "failure_probability": str(failure),
            "outcomes": {
                "holds": ["and", *([">", f"lower_{name}", "1/2"] for name in counts)],
                "refuted": ["or", *(["<", f"upper_{name}", "1/2"] for name in counts)],
            },
            "description": "targets for whom some fake's list held fakes and the target only, by beta",
        },
    }
    table = Table(
        f"Some fake's list shows the target alone: beta k fakes, uniform k = {k} of the top beta k, m = {m}",
        ["similarity", "beta", "fakes", "targets", "random ties", "fakes first", "99% interval (random, joint)"],
        rows,
    )
    plot = Plot(
        "beta k fakes against uniform selection from the top beta k (fakes win ties)",
        "beta",
        "probability that some list shows the target alone",
        series,
    )
    evidence = shown(
        f"All users with more than m ratings, one draw of random known items, k = {k}, fresh randomness for every "
        "fake; exact ties; Clopper-Pearson, 99% for all beta together.",
        certificate,
        tables=(table,),
        plots=(plot,),
    )
    drawn = {line.label: line.y for line in series}

    return Verdict(
        claim.id,
        supported(certificate),
        "With the paper's similarity (cosine over co-rated items), random ties and m = 8 the list of some fake showed "
        f"the target alone for {', '.join(str(each['successes']) for each in counts.values())} of {len(targets)} "
        f"targets at beta = {', '.join(map(str, FACTORS))}: strangers with similarity 1 crowd her out, as at beta = 1 "
        "(PP-ATK). The idea is sound where its premise is: with norms over all own ratings the share is "
        f"{', '.join(f'{value:.2f}' for value in drawn['full_cosine'])}. It hardly falls with beta, since each of the "
        "beta k fakes lists the target with probability 1/beta: beta raises the number of accounts, not the chance to "
        "fail.",
        evidence=(evidence,),
        confidence=float(1 - failure),
    )


def outsider_proof() -> dict[str, Any]:
    """For p <= (k-1)/k at least one neighbor is from outside the top k."""
    return proof(
        "The quota c = ceil(pk) is the smallest integer that is at least pk. For p <= (k-1)/k the integer k - 1 is one "
        "of these, so c <= k - 1; all other neighbors are from outside the top k.",
        smt("pk is at most k - 1", "k >= 2, p > 0, p <= (k - 1) / k", "p * k <= k - 1"),
        smt(
            "at most k - 1 neighbors are from the top k",
            "p * k <= k - 1, implies(p * k <= k - 1, c <= k - 1), top <= c",
            "top < k",
        ),
    )


def largest_weight_proof() -> dict[str, Any]:
    """The candidate of largest weight is selected with probability at least k/n."""
    return proof(
        "In successive weighted draws, exchange i and j in every order of draws that contains i and not j. The factor "
        "of the exchanged draw and the later factors are not smaller for the larger weight, so neither is the product, "
        "and the candidate of largest weight has the largest probability mu of selection. The n probabilities sum to "
        "k, so mu >= k/n. The target has similarity 1 to the fake, the largest there is, and any weight that grows "
        "with similarity is largest for it.",
        smt("the draw itself is likelier", "wj > 0, wi >= wj, total > wi + wj", "wi / total >= wj / total"),
        smt(
            "a later draw is likelier, since less weight is left",
            "wj > 0, wi >= wj, w > 0, rest >= w",
            "w / (rest + wj) >= w / (rest + wi)",
        ),
        smt("products of larger factors are larger", "b >= 0, a >= b, d >= 0, c >= d", "a * c >= b * d"),
        smt(
            "the largest of n numbers with sum k is at least k/n",
            "n >= 1, others <= (n - 1) * mu, mu + others == k",
            "mu >= k / n",
            model="mu = 1, others = 1, n = 2, k = 2",
        ),
        supports="refuted",
    )


def uniform_instance(fakes: int, further: int) -> dict[str, Any]:
    """Uniform selection puts the target into some fake's list more often than not, and PNCF truncates nothing."""
    return instance(
        {"k": str(fakes), "further": str(further)},
        "1 - (1 - k / (k + further)) ** k > 1 / 2",
        # PNCF: 4k RS/eps = 200 and rho < 1, so lambda = sim_k = 1 and nobody is cut off or taken surely.
        "200 * ln(k * further) >= 1",
        supports="refuted",
    )


def _uniform_table() -> Table:
    rows: list[list[Any]] = []
    for n in (942, 2000, 6040, 100_000):
        for k in (10, 50, 100):
            inclusion = Fraction(k, k + n)
            rows.append(
                [
                    n,
                    k,
                    f"{float(inclusion):.5f}",
                    f"{float(some_list_has_target(inclusion, k)):.4f}",
                    f"{float(k * inclusion):.3f}",
                ]
            )
    return Table(
        "nPNS and PNCF under the attack, lower bounds whatever the other users' ratings",
        ["further candidates", "k = fakes", "one list has the target", "some list has it", "expected lists"],
        rows,
    )


def _with_intervals(label: str, points: Sequence[tuple[float, ...]]) -> Series:
    x, y, low, high = (list(values) for values in zip(*points, strict=True))
    return Series(label, x, y, low=low, high=high)


def _measured_premise(
    context: Context, seeds: range, k: int, failure: Fraction
) -> tuple[list[list[Any]], dict[str, list[tuple[float, ...]]], tuple[int, int] | None]:
    """Rows of the table, points (m, mean, low, high) by similarity, and successes and trials of the judged setting."""
    rows: list[list[Any]] = []
    lines: dict[str, list[tuple[float, ...]]] = {}
    judged: tuple[int, int] | None = None
    matrix = context.data.dense()
    for similarity in SIMILARITIES:
        for m in NUMBERS_KNOWN:
            context.progress(f"{similarity}, {m} known ratings")
            for choice in CHOICES:
                runs = [
                    attack_premise(matrix, known, targets, similarity)
                    for targets, known in (
                        known_items(matrix, m, choice, seed) for seed in (seeds if choice == "random" else seeds[:1])
                    )
                ]
                successes = {rule: _count(runs, k, rule, context.seed) for rule in TIE_RULES}
                trials = sum(len(run.targets) for run in runs)
                listed = float(np.concatenate([run.target_in_list(k) for run in runs]).mean())
                low, high = proportion_confint(successes["random"], trials, float(failure), method="beta")
                means = [float(np.concatenate([run.probability(k, rule) for run in runs]).mean()) for rule in TIE_RULES]
                rows.append(
                    [
                        similarity,
                        choice,
                        m,
                        trials,
                        *(f"{mean:.4f}" for mean in means),
                        f"[{low:.4f}, {high:.4f}]",
                        f"{listed:.3f}",
                    ]
                )
                if choice == "random":
                    low, high = proportion_confint(successes["fakes_first"], trials, float(failure), method="beta")
                    lines.setdefault(similarity, []).append((m, means[1], low, high))
                    if similarity == "cosine" and m == 8:
                        judged = (successes["random"], trials)
    return rows, lines, judged


def _attack_law(*conditions: Formula) -> dict[str, Any]:
    """Exact law of one fake's list under Algorithm 1 in the smallest attack: k = 2 fakes."""
    return {
        "kind": "law",
        "inputs": {
            "mechanism": {
                "id": "ppns",
                "variant": "paper",
                "parameters": {
                    "num_neighbors": 2,
                    "target": 0,
                    "similarity": "cosine",
                    "ties": "index",
                    "no_overlap": "zero",
                    "epsilon": "1",
                    "weight": "exponential",
                    "sensitivity": "1",
                    "probability": "1/2",
                    "rule": "algorithm",
                    "last": "exponential",
                },
            },
            "dataset": [[5, 1, None], [5, 1, None], [5, 1, 4], [1, 5, None], [1, 4, None]],
            "events": {"top": [[1, 2]], "target": [[1, 2], [2, 3], [2, 4]]},
            "condition": ["and", *conditions],
            "supports": "refuted",
        },
    }


def _attack_table() -> Evidence:
    """The same at k = 50, for every printed p and up to the end of the range."""
    k = 50
    formulas: list[Formula] = []
    rows: list[list[Any]] = []
    for p in [Fraction(i, 10) for i in range(1, 10)] + [Fraction(k - 1, k)]:
        quota = math.ceil(p * k)
        formulas.append(["<=", ["*", str(p), "k"], ["-", "k", 1]])
        inclusion = ["/", ["ceil", ["*", str(p), "k"]], "k"]
        formulas.append([">", ["-", 1, ["^", ["-", 1, inclusion], "k"]], "99/100"])
        some = some_list_has_target(Fraction(quota, k), k)
        rows.append([str(p), quota, f"{quota / k:.2f}", f"{float(some):.6f}", quota])
    table = Table(
        f"PPNS in the attack configuration, k = {k} fakes",
        ["p", "ceil(pk)", "one list has the target", "some list has it", "expected lists"],
        rows,
    )
    return shown(
        "k = 50 fakes of similarity 1 to each other and to the target, so with equal weights: for p = 0.1, ..., 0.98 "
        "some fake's list contains the target with probability above 0.99.",
        instance({"k": str(k)}, *formulas, supports="refuted"),
        tables=(table,),
    )


def _count(runs: Sequence[Premise], num_neighbors: int, ties: str, seed: int) -> int:
    """Successes when every tie is really broken: one draw per trial.

    Trials of unequal probability: their tail beyond the mean is lighter than the binomial's, so that a Clopper-Pearson
    interval stays valid (Hoeffding, "On the distribution of the number of successes in independent trials", 1956).
    """
    generator = np.random.default_rng([seed, num_neighbors, TIE_RULES.index(ties)])
    chances = np.concatenate([run.probability(num_neighbors, ties) for run in runs])
    return int((generator.random(len(chances)) < chances).sum())
