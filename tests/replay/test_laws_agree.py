"""The checker's laws and the mechanisms', written apart from one definition, agree on random ratings."""

from typing import Any

import jax
import numpy as np
import pytest
from flint import arb

import dpassay as dp
from dpassay.core.numerics import float64
from dpassay.mechanisms import describe
from dpassay.replay.laws import Undefined
from dpassay.replay.neighbor_laws import law as exact_law
from dpassay.replay.numbers import precision, rational

# Each row: mechanism, then parameters that together meet every choice at least once.
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("knn", "paper", {"ties": "random", "similarity": "pearson"}),
    ("npns", "paper", {"sensitivity": "local_dot", "similarity": "full_cosine", "target": 2}),
    ("npns", "paper", {"weight": "similarity", "no_overlap": "exclude"}),
    ("npns", "repaired", {"norm_floor": 2.5, "max_rating": 3.0, "protect": "candidates"}),
    ("pncf", "paper", {"sensitivity": "pairwise", "epsilon": 50.0, "rho": 0.1}),
    ("pncf", "paper", {"sensitivity": 0.3, "epsilon": 20.0, "truncation": "soft", "no_overlap": "exclude"}),
    ("ppns", "paper", {"probability": 0.7, "last": "uniform", "ties": "last"}),
    ("ppns", "paper", {"probability": 0.5, "num_neighbors": 3, "rule": "formula", "sensitivity": "pairwise"}),
    ("ppns", "paper", {"probability": 0.3, "ties": "random", "rule": "original", "similarity": "full_cosine"}),
]


@float64
def log_probabilities(mechanism: Any, datasets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    def law(dataset: Any) -> Any:
        return jax.vmap(lambda output: mechanism.log_prob(output, dataset))(outputs)

    return np.asarray(jax.jit(jax.vmap(law))(datasets))


@pytest.mark.parametrize(("id", "variant", "parameters"), CASES)
def test_laws_agree(id: str, variant: str, parameters: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    mechanism = dp.mechanism(id, variant, **parameters)
    users = 5 if parameters.get("ties") == "random" else 7
    datasets = rng.integers(1, 6, (100, users, 3)).astype(float)
    datasets[rng.random(datasets.shape) < 0.3] = np.nan
    outputs = mechanism.outputs(datasets[0])
    logs = log_probabilities(mechanism, datasets, outputs)
    described = describe(mechanism)
    exact = {name: value if isinstance(value, str) else str(value) for name, value in described["parameters"].items()}
    defined = 0
    for dataset, theirs in zip(datasets, np.exp(logs), strict=True):
        rows = [[None if np.isnan(value) else rational(int(value)) for value in row] for row in dataset]
        try:
            with precision():
                law = exact_law({**described, "parameters": exact}, rows)
        except Undefined:
            assert np.isnan(theirs).all()
            continue
        defined += 1
        chances = [law.get(tuple(int(row) for row in output)) for output in outputs]
        ours = [0.0 if chance is None else float(arb(chance)) for chance in chances]
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9)
        # Impossible is impossible, not improbable.
        assert [chance is None for chance in chances] == [value == 0 for value in theirs]
    assert defined > 50
