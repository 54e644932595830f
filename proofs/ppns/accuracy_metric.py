"""Whether a larger sum of similarities means better predictions (PP-ACC), the yardstick of Lu and Shen (PPNS)."""

from dataclasses import dataclass

import numpy as np

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings
from dpassay.proofs.decisions import decided, shown
from dpassay.proofs.notation import instance
from dpassay.proofs.ppns.algorithm1 import Formula


@dataclass(frozen=True)
class AccuracyContext:
    """How the sum of similarities and the error of equation (6) go together on real or synthetic ratings.

    Attributes:
        ratings: predicted ratings, each with several random neighbor sets.
        correlation: mean over ratings of the correlation of alpha and absolute error.
        reversed_pairs: share of pairs of sets, differing in both, whose larger alpha has the larger error.
        best_error: mean absolute error of the k most similar raters of the item.
        worst_error: of the k least similar ones.
    """

    ratings: int
    correlation: float
    reversed_pairs: float
    best_error: float
    worst_error: float


def accuracy_context(
    data: Ratings, *, seed: int = 0, num_ratings: int = 400, num_sets: int = 40, num_neighbors: int = 10
) -> AccuracyContext | None:
    """Measures alpha against the absolute error of equation (6) over random neighbor sets of the same rating.

    The predicted rating is left out of the co-rated cosine (5); neighbors are drawn among the item's other raters with
    a co-rated item. Memory: about num_sets * num_ratings * users * 8 bytes.

    Returns:
        None when no rating has more than twice `num_neighbors` such raters.
    """
    generator = np.random.default_rng(seed)
    matrix = data.dense()
    rated = ~np.isnan(matrix)
    values = np.where(rated, matrix, 0.0)
    chosen = generator.permutation(len(data))[: 4 * num_ratings]
    users, items, truth = data.users[chosen], data.items[chosen], data.values[chosen]
    own, own_rated = values[users].copy(), rated[users].astype(float)
    row = np.arange(len(chosen))
    own[row, items] = own_rated[row, items] = 0.0
    norms = np.sqrt((own**2 @ rated.T.astype(float)) * (own_rated @ (values**2).T))
    similarity = np.divide(own @ values.T, norms, out=np.zeros_like(norms), where=norms > 0)
    eligible = rated[:, items].T & (similarity > 0) & (np.arange(data.num_users) != users[:, None])
    keep = np.flatnonzero(eligible.sum(1) > 2 * num_neighbors)[:num_ratings]
    if len(keep) == 0:
        return None
    similarity, eligible, truth = similarity[keep], eligible[keep], truth[keep]
    theirs = values[:, items[keep]].T

    def outcome(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        taken = np.argpartition(np.where(eligible, order, np.inf), num_neighbors, axis=-1)[..., :num_neighbors]
        rows = np.arange(len(keep))[:, None]
        near, ratings = similarity[rows, taken], theirs[rows, taken]
        return near.sum(-1), np.abs((near * ratings).sum(-1) / near.sum(-1) - truth)

    alphas, errors = outcome(generator.random((num_sets, *eligible.shape)))
    first, second = np.triu_indices(num_sets, 1)
    direction = np.sign(alphas[first] - alphas[second]) * np.sign(errors[first] - errors[second])
    centered = alphas - alphas.mean(0), errors - errors.mean(0)
    spread = np.sqrt((centered[0] ** 2).sum(0) * (centered[1] ** 2).sum(0))
    varied = spread > 1e-12
    correlation = (centered[0] * centered[1]).sum(0)[varied] / spread[varied]
    return AccuracyContext(
        len(keep),
        float(correlation.mean()) if varied.any() else 0.0,
        float((direction > 0).sum() / max(1, (direction != 0).sum())),
        float(outcome(-similarity)[1].mean()),
        float(outcome(similarity)[1].mean()),
    )


def decide_accuracy_metric(claim: Claim, context: Context) -> Verdict:
    """PP-ACC: a larger similarity sum with a larger error, and how often that happens."""
    # Co-rated cosine with two co-rated items; with one all similarities are 1, so no smaller matrix can do.
    values = {"target1": 1, "target2": 2, "near1": 1, "near2": 2, "far1": 2, "far2": 1}
    values |= {"truth": 5, "near_rating": 1, "far_rating": 5}

    def cosine(user: str) -> Formula:
        product = ["+", ["*", "target1", f"{user}1"], ["*", "target2", f"{user}2"]]
        norms = [["sqrt", ["+", ["^", f"{name}1", 2], ["^", f"{name}2", 2]]] for name in ("target", user)]
        return ["/", product, ["*", *norms]]

    def error(user: str) -> Formula:
        prediction = ["/", ["*", cosine(user), f"{user}_rating"], ["abs", cosine(user)]]
        return ["abs", ["-", "truth", prediction]]

    formulas = [">", cosine("near"), cosine("far")], [">", error("near"), error("far")]
    certificate = instance({name: str(value) for name, value in values.items()}, *formulas, supports="refuted")
    evidence = [
        shown(
            "Three users, three items, k = 1. The target rated (1, 2) and will give the third item 5. The neighbor "
            "who rated (1, 2, 1) has similarity 1 and predicts 1; the one who rated (2, 1, 5) has similarity 4/5 and "
            "predicts 5.",
            certificate,
        )
    ]
    measured = accuracy_context(context.data, seed=context.seed, num_ratings=100 if context.quick else 400)
    if measured is not None:
        evidence.append(_measured(measured, context.data.name))
    on_data = (
        ""
        if measured is None
        else f" On {context.data.name} the larger sum has the larger error in {measured.reversed_pairs:.0%} of the "
        f"pairs of neighbor sets for the same rating (mean correlation of sum and error {measured.correlation:+.2f})."
    )
    return decided(
        claim,
        "refuted",
        "A larger sum of similarities does not imply a better prediction: two neighbors can rank one way in "
        "similarity and "
        "the other way in how well their rating of the item fits. It is a heuristic about averages at best." + on_data,
        evidence=evidence,
    )


def _measured(measured: AccuracyContext, name: str) -> Evidence:
    table = Table(
        f"Similarity sum and error on {name}, {measured.ratings} ratings, random neighbor sets of 10",
        ["quantity", "value"],
        [
            ["mean correlation of alpha and absolute error", f"{measured.correlation:+.3f}"],
            ["pairs of sets whose larger alpha has the larger error", f"{measured.reversed_pairs:.3f}"],
            ["mean absolute error of the 10 most similar raters", f"{measured.best_error:.3f}"],
            ["mean absolute error of the 10 least similar raters", f"{measured.worst_error:.3f}"],
        ],
    )
    return Evidence(
        "statistics",
        f"Context, not part of the proof: on {name}, among random neighbor sets for the same rating, alpha and the "
        f"absolute error have mean correlation {measured.correlation:+.2f}.",
        None,
        tables=(table,),
    )
