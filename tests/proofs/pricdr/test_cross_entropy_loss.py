"""Equation (6): its verdict, and what breaks the proof."""

from dpassay.core.claims import Context
from dpassay.core.registry import select
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.notation import formula, proof
from dpassay.proofs.pricdr import cross_entropy_loss


def test_verdict_is_certified():
    judged = judge(select(None, ["CD-BCE"])[0], Context(synthetic()))
    assert judged.verdict.outcome == "refuted"
    assert judged.concluded == ("refuted",)


def test_normalized_embeddings_have_no_such_product():
    """With unit vectors the product is the cosine, so that a product above 1 is impossible."""
    (step,) = [s for s in cross_entropy_loss.cross_entropy_proof()["inputs"]["steps"] if "parallel" in s["name"]]
    unit = [*step["hypotheses"], formula("u1 ** 2 + u2 ** 2 == 1"), formula("v1 ** 2 + v2 ** 2 == 1")]
    mutated = {**step, "hypotheses": unit}
    assert "does not satisfy" in objections(proof("false", mutated))
