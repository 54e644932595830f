"""How well a recommender ranks one held-out item among items that its user never rated.

With one relevant item per user at rank r = 1, 2, ...: HR@K = [r <= K], NDCG@K = [r <= K] ln 2 / ln(r + 1) and
MRR@K = [r <= K] / r, each averaged over users (Chen et al. 2022, sec. 6.1; He et al. 2017, sec. 4.1). Items with the
score of the held-out one are placed before it, as in the code that Chen et al. released, so that a constant score earns
nothing.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.experiments.pricdr.printed import METRICS
from dpassay.models.task import Scores, Task

CUTOFFS = (5, 10)
PROTOCOLS = {
    "authors": "the epoch that is best on validation, chosen for HR, NDCG and MRR apart, each at 10",
    "clean": "one epoch for all metrics, the best on validation by NDCG@10",
}
"""How the epoch that is tested is chosen. The first is that of the released code of Chen et al.; ties: the first."""


def ranks(heldout: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    """The rank of each user's held-out item, 1 for the best, ties and scores that are no numbers counted against it.

    Its scores have shape (users,), those of the items it is ranked against shape (users, negatives).

    Returns:
        int64, shape (users,).
    """
    return 1 + np.sum(~(negatives < heldout[:, None]), axis=1)


def metrics(rank: np.ndarray) -> dict[str, float]:
    """HR, NDCG and MRR at 5 and 10, averaged over users, from ranks of shape (users,), 1 for the best."""
    values: dict[str, float] = {}
    for cutoff in CUTOFFS:
        met = rank <= cutoff
        gains = {"HR": np.ones(len(rank)), "NDCG": 1 / np.log2(rank + 1), "MRR": 1 / rank}
        values |= {f"{name}{cutoff}": float(np.mean(met * gain)) for name, gain in gains.items()}
    return values


def evaluate(
    epochs: Iterator[Scores], task: Task, limit: int | None = None, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Trains a model and tests it, epochs chosen on the validation items by both `PROTOCOLS`.

    `epochs` is what the model's `train` returns; no `limit` takes all of them.

    Returns:
        A flat record of the test: "authors_HR5" and "clean_HR5", and so on for all `METRICS`; "validation_NDCG10" at
        the epoch of the clean protocol; "epochs" trained; "epoch_HR", "epoch_NDCG" and "epoch_MRR" (from 1), the best
        for each, of which the clean protocol takes the second; "seconds" of training and scoring.

    Raises:
        InvalidInput: the model yields no epoch, or scores of another shape.
    """
    started = time.perf_counter()
    items = np.column_stack([task.validation, task.test, task.negatives])
    validation, test = [], []
    for number, scores in enumerate(itertools.islice(epochs, limit), start=1):
        scored = np.asarray(scores(items))
        if scored.shape != items.shape:
            raise InvalidInput(
                f"the model scored {items.shape} items by an array of shape {scored.shape}; give one score each"
            )
        validation.append(metrics(ranks(scored[:, 0], scored[:, 2:])))
        test.append(metrics(ranks(scored[:, 1], scored[:, 2:])))
        progress(f"epoch {number}: NDCG@10 {validation[-1]['NDCG10']:.4f} on validation")
    if not validation:
        raise InvalidInput("the model yields no epoch; train it for at least one")
    best = {name: int(np.argmax([epoch[f"{name}10"] for epoch in validation])) for name in ("HR", "NDCG", "MRR")}
    return {
        "epochs": len(validation),
        "seconds": round(time.perf_counter() - started, 2),
        **{f"epoch_{name}": index + 1 for name, index in best.items()},
        "validation_NDCG10": validation[best["NDCG"]]["NDCG10"],
        **{f"authors_{name}": test[best[name.rstrip("0123456789")]][name] for name in METRICS},
        **{f"clean_{name}": test[best["NDCG"]][name] for name in METRICS},
    }
