"""Real certificates and reports, small ones, that the fuzzing begins with."""

import functools
from typing import Any

import numpy as np

from dpassay.core.privacy import PrivacyClaim
from dpassay.core.protocol import from_callable


def total(rng: Any, data: list[float], epsilon: float) -> float:
    """The sum with Laplace noise, of which a proof is known."""
    return sum(data) + rng.laplace(0, 1 / epsilon)


def half(rng: Any, data: list[float], epsilon: float) -> float:
    """The sum with half the noise, which is refuted."""
    return sum(data) + rng.laplace(0, 1 / (2 * epsilon))


def halves(data: list[float], weight: float) -> float:
    """A sum of bounded change."""
    return weight * sum(data) / 2


def noisy(rng: np.random.Generator, dataset: np.ndarray) -> float:
    """An audited function: the sum of a dataset of shape (n,), with noise."""
    return float(dataset.sum() + rng.laplace())


@functools.cache
def _audit() -> Any:
    from dpassay.auditors.audit import run_audit

    pair = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    return run_audit(from_callable(noisy), *pair, claim=PrivacyClaim(0.1), num_samples=20_000, command="dpassay audit")


@functools.cache
def _proof(holds: bool) -> Any:
    from dpassay.prover.proving import run_proof

    return run_proof(total if holds else half, relation="one_query")


def audit() -> dict[str, Any]:
    """Inputs of the certificate of an audit."""
    return dict(_audit().certificate["inputs"])


def alignment() -> dict[str, Any]:
    """Of a proof."""
    return dict(_proof(True).certificate["inputs"])


def integration() -> dict[str, Any]:
    """Of an exact counterexample."""
    return dict(_proof(False).certificate["inputs"])


def accounting() -> dict[str, Any]:
    """Of a composition."""
    event = {"kind": "self_composed", "event": {"kind": "laplace", "noise_multiplier": "2"}, "count": 3}
    return {"event": event, "relation": "add_or_remove_one", "claim": {"epsilon": "5", "delta": "1e-5"}, "step": "1/50"}


def stability() -> dict[str, Any]:
    """Of a pair that breaks a declared stability."""
    metrics = {"input_metric": "insert_delete", "output_metric": "absolute", "d_in": "1", "d_out": "4"}
    pair = {"dataset1": [1], "dataset2": [1, 5], "output1": 1, "output2": 6}
    return {"map": "total", **metrics, **pair}


def sensitivity() -> dict[str, Any]:
    """Of a proved bound of a sensitivity."""
    import dpassay as dp

    return dict(dp.sensitivity(halves, assume=["weight >= 0"]).certificate["inputs"])


def audit_report() -> dict[str, Any]:
    """The JSON of an audit."""
    return dict(_audit().to_json())


def proof_report() -> dict[str, Any]:
    """The JSON of a proof."""
    return dict(_proof(True).to_json())


def attack_report() -> dict[str, Any]:
    """The JSON of a small attack."""
    from dpassay.attacks.sketch.report import run
    from dpassay.data.ratings import synthetic

    return dict(run(synthetic(20, 10), targets=4).to_json("dpassay attack sketch", {"auc": 0.4}))


def verdict_report() -> dict[str, Any]:
    """The JSON of a few verdicts."""
    from dpassay.judging.verification import run

    return dict(run(claims=["RC-T1-ii", "DP-INF", "CD-RQ5"], quick=True, command="dpassay verify").to_json())
