"""Every registered mechanism and variant with a claim about it and a pair of datasets, for black-box audits.

Pairs are the witnesses of `dpassay.proofs.ppns.privacy`, `dpassay.proofs.xmap.privacy` and `dpassay.proofs`; those
of claims that hold are worst ones by proof, or the worst that `dpassay.worst_case` found. The true epsilon of a pair is
that of the trusted checker's laws or of the enumerated ones, a closed form, or what a proof allows at most.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dpassay.core.privacy import NeighboringRelation, PrivacyClaim

PROBE = 1.0  # nats; what a mechanism that claims nothing is audited against

FEW = 40_000  # samples where outputs have several columns: from more a network is learned, which takes half a minute

Knowledge = Literal["enumeration", "trusted checker", "closed form", "proof: at most", "proof"]
Truth = tuple[float, Knowledge]

_ = np.nan


@dataclass(frozen=True, eq=False)
class Subject:
    """One row: a mechanism, a claim about it, and a pair of datasets on which it is audited.

    Attributes:
        id: of the registered mechanism.
        variant: likewise.
        reading: the parameters that matter, in words; empty for the mechanism as printed.
        parameters: of the mechanism, those that differ from the defaults.
        datasets: makes the pair.
        pair: the same in words.
        truth: the smallest epsilon, nats, that the pair allows at the claimed delta, and how that is known.
        decided: id of the claim that `verify` decided; empty where the paper claims nothing about it.
        breaks: whether the decided claim says that privacy is broken, so that it holds when the audit refutes.
        claim: what is audited; None takes the mechanism's own.
        num_samples: per dataset.
        beyond: why samples cannot show a violation; empty where they can.
        representation: "values", or "bits" for a claim about the executed program.
        seen: what is audited of the mechanism, if not its output.
    """

    id: str
    variant: str
    parameters: Mapping[str, Any]
    datasets: Callable[[], tuple[Any, Any]]
    pair: str
    truth: Callable[["Subject"], Truth]
    decided: str = ""
    reading: str = ""
    breaks: bool = False
    claim: PrivacyClaim | None = None
    num_samples: int = 200_000
    beyond: str = ""
    representation: Literal["values", "bits"] = "values"
    seen: Callable[[Any], Any] = lambda mechanism: mechanism

    def build(self) -> Any:
        """What is audited: the mechanism, or post-processing of its output."""
        from dpassay.mechanisms import mechanism

        return self.seen(mechanism(self.id, self.variant, **self.parameters))

    @property
    def name(self) -> str:
        """For readers."""
        variant = "" if self.variant == "paper" else f" {self.variant}"
        return f"{self.id}{variant}" + (f", {self.reading}" if self.reading else "")

    @property
    def audited_claim(self) -> PrivacyClaim:
        """The claim, or epsilon = 1 where the mechanism claims nothing."""
        claim = self.build().claim if self.claim is None else self.claim
        return claim if math.isfinite(claim.epsilon) else PrivacyClaim(PROBE)

    @property
    def claims_nothing(self) -> bool:
        """Whether the mechanism promises no privacy."""
        return self.claim is None and math.isinf(self.build().claim.epsilon)


# What is audited.


@dataclass(frozen=True)
class _Profile:
    """An alter ego: every source item replaced by a draw of its own (X-Map)."""

    items: tuple[Any, ...]

    @classmethod
    def of(cls, item: Any) -> "_Profile":
        return cls(tuple(replace(item, source_item=number) for number in range(item.num_source_items)))

    @property
    def claim(self) -> PrivacyClaim:
        return self.items[0].claim

    def sample(self, key: Any, dataset: Any) -> Any:
        import jax
        import jax.numpy as jnp

        keys = jax.random.split(key, len(self.items))
        return jnp.concatenate([item.sample(one, dataset) for item, one in zip(self.items, keys, strict=True)])


@dataclass(frozen=True)
class _Slope:
    """What a reader computes from a published sketch: the regression of the first column on the sum of the others."""

    sketch: Any

    @property
    def claim(self) -> PrivacyClaim:
        return self.sketch.claim

    def sample(self, key: Any, dataset: Any) -> Any:
        published = self.sketch.sample(key, dataset)
        others = published[:, 1:].sum(axis=1)
        return (published[:, 0] @ others) / (others @ others)


@dataclass(frozen=True)
class _Eigenvectors:
    """What EigenvalueSampling returns as printed: the eigenvectors whose coins fell heads, else zeros."""

    coins: Any

    @property
    def claim(self) -> PrivacyClaim:
        return self.coins.claim

    def sample(self, key: Any, dataset: Any) -> Any:
        return self.coins.spectrum(dataset).vectors * self.coins.sample(key, dataset)


# Pairs of datasets.


def _without(matrix: Any, user: int, item: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A dataset, and the same without one rating, or without one user."""
    first = np.array(matrix, float)
    second = first.copy()
    second[user, slice(None) if item is None else item] = np.nan
    return first, second


def _two(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.array(first, float), np.array(second, float)


def _family(num_items: int) -> tuple[np.ndarray, np.ndarray]:
    from dpassay.proofs.ppns.privacy import ADD, sensitivity_family

    return sensitivity_family(ADD, num_items)


def _item_family(kind: str, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
    from dpassay.proofs.xmap import privacy as xmap_claims

    pair: tuple[np.ndarray, np.ndarray] = getattr(xmap_claims, kind)(*arguments)
    return pair


def _opposed(num_sources: int, num_targets: int) -> tuple[np.ndarray, np.ndarray]:
    """One user with strong tastes leaves, and every similarity turns to its opposite.

    Both users rate the source items high; the first likes the first target item and dislikes the others, the second,
    hardly, the other way round.
    """
    strong = [5.0] * (num_sources + 1) + [1.0] * (num_targets - 1)
    weak = [3.0] * num_sources + [2.0] + [3.0] * (num_targets - 1)
    return _without([strong, weak], user=0)


# True values.


def _enumerated(subject: Subject) -> Truth:
    from dpassay.auditors.exact import exact

    loss = exact(subject.build(), *subject.datasets())
    return loss.epsilon, "enumeration"


def _checked(subject: Subject) -> Truth:
    """By the trusted checker's laws, in rational and ball arithmetic."""
    from flint import arb, fmpq

    from dpassay.auditors.exact import registered
    from dpassay.replay.laws import law_module
    from dpassay.replay.numbers import precision

    record = registered(subject.build()) or {}
    levels = [
        [[None if math.isnan(value) else fmpq(int(value)) for value in row] for row in side.tolist()]
        for side in subject.datasets()
    ]
    with precision():
        one, two = (law_module(record).law(record, side) for side in levels)
        if one.keys() != two.keys():
            return math.inf, "trusted checker"
        return max(abs(float((arb(one[output]) / two[output]).log())) for output in one), "trusted checker"


def _known(epsilon: float, known_by: Knowledge) -> Callable[[Subject], Truth]:
    return lambda _: (epsilon, known_by)


def _profile_truth(subject: Subject) -> Truth:
    """The draws of an alter ego are independent: their losses add up on the pair where one output is worst for all."""
    from dpassay.auditors.exact import exact

    losses = [exact(item, *subject.datasets()) for item in subject.build().items]
    one = sum(loss.epsilon_forward for loss in losses)
    two = sum(loss.epsilon_backward for loss in losses)
    return max(one, two), "enumeration"


def _prediction_truth(subject: Subject) -> Truth:
    """With one neighbor j of noisy similarity s the prediction is r_j sign(s): a law on plus and minus the ratings."""
    import jax
    from scipy.special import logsumexp

    mechanism, laws = subject.build(), []
    selection = mechanism.selection
    for dataset in subject.datasets():
        outputs = np.asarray(selection.outputs(dataset))
        chances = np.array([float(selection.log_prob(output, dataset)) for output in outputs])
        ratings = dataset[mechanism.user]
        law: dict[float, list[float]] = {}
        with jax.enable_x64(True):
            similarity = np.asarray(selection._candidates(np.asarray(dataset, float).T).score)
        scales = np.asarray(mechanism.noise_scales(dataset))
        for (item,), chance in zip(outputs, chances, strict=True):
            place = item - (item > mechanism.target)
            tail = 0.5 * math.exp(-abs(similarity[place]) / scales[place]) if scales[place] > 0 else 0.0
            positive = 1 - tail if similarity[place] >= 0 else tail
            for sign, probability in ((1, positive), (-1, 1 - positive)):
                if probability > 0:
                    law.setdefault(sign * float(ratings[item]), []).append(chance + math.log(probability))
        laws.append({output: float(logsumexp(logs)) for output, logs in law.items()})
    outputs_seen = laws[0].keys() | laws[1].keys()
    losses = [abs(laws[0].get(output, -math.inf) - laws[1].get(output, -math.inf)) for output in outputs_seen]
    return max(losses), "closed form"


def _crowd(num_others: int) -> tuple[np.ndarray, np.ndarray]:
    """One item that all rated, and the first user's rating removed."""
    return _without([[1.0] * (num_others + 1)], 0, 0)


def _sketch_truth(subject: Subject) -> Truth:
    """The exact profile of the Gaussian sketch over all ratings bounds that of one pair."""
    from dpassay.mechanisms.sketch_profile import exact_epsilon

    built = subject.build()
    sketch = getattr(built, "sketch", built)
    return exact_epsilon(subject.audited_claim.delta, sketch.num_rows, sketch.noise), "proof: at most"


_INFINITE: Callable[[Subject], Truth] = _known(math.inf, "proof")
_AT_MOST_ONE: Callable[[Subject], Truth] = _known(1.0, "proof: at most")

_RATING = NeighboringRelation("add_or_remove_one", "rating")
_ONE_RATING = partial(_without, [[1], [_], [_], [1]], 0, 0)
_NOBODY = [[0.0] * 3, [1.0] * 3]
_CLICKS = [[4, _, _, _], [_, 5, _, _], [_, _, 3, _], [_, _, _, 5]]
_LINES = partial(_two, [[1, _], [_, _]], [[1, _], [1, _]])
_ROW_SPACE = partial(_two, [[1, _, _]], [[1, 1, _]])
_UNLINKED = partial(_without, [[1, _, 2], [1, 2, _]], 0)
_READER = [[_, 5, 3, 1]]


def _reader_family(num_agreeing: int) -> tuple[np.ndarray, np.ndarray]:
    """The family of XM-PNSA, with a reader in row 0 whose rating of the drawn neighbor is what she is shown."""
    pair = _item_family("sensitivity_family", num_agreeing)
    return tuple(np.concatenate([np.array(_READER), side]) for side in pair)  # type: ignore[return-value]


def _membership(user: int) -> Callable[[Any], Any]:
    def seen(mechanism: Any) -> Any:
        from dpassay.proofs.ppns.privacy import Membership

        return Membership(mechanism, user)

    return seen


def _one_row_claim() -> PrivacyClaim:
    """Theorem 5.1 for a sketch of one row at epsilon = 1 and delta = 1e-4."""
    return PrivacyClaim(1 / math.sqrt(4 * math.log(2 / 1e-4)), 1e-4 / 2)


SUBJECTS: tuple[Subject, ...] = (
    # PPNS
    Subject("knn", "paper", {}, _ONE_RATING, "4 users, 1 item, one rating removed", _checked, num_samples=FEW),
    Subject("npns", "paper", {"num_neighbors": 1}, partial(_family, 11), "the family of PP-EM with 10 co-rated items",
        _checked, "PP-EM"),
    Subject("npns", "repaired", {"norm_floor": 6.0},
        partial(_without, [[5, 3, _, 1], [5, 3, 1, 1], [_, _, 1, _], [_, _, 1, _]], 1, 0),
        "4 users, 4 items, the worst found", _checked, "PP-EM-REP", num_samples=FEW),
    Subject("pncf", "paper", {"num_neighbors": 1}, partial(_without, [[4, 4, 4, 4], [5, 5, 5, 4], [1, _, _, _]], 2, 0),
        "3 users, 4 items, one rating removed", _checked, "PP-PNCF-NOT", breaks=True),
    Subject("ppns", "paper", {}, _ONE_RATING, "4 users, 1 item, one rating removed", _checked, "PP-DP",
        num_samples=FEW),
    Subject("ppns", "paper", {"rule": "original"}, _ONE_RATING, "4 users, 1 item, one rating removed", _checked,
        "PP-ORIG", "original rule", breaks=True, num_samples=FEW),
    Subject("ppns", "paper", {}, partial(_without, [[1], [1], [_], [_], [_], [1], [_], [_], [1]], 1, 0),
        "9 users, 1 item, one rating removed", _enumerated, "PP-MARG-INF", "one user's membership",
        claim=PrivacyClaim(1.0, relation=_RATING), seen=_membership(8)),
    Subject("ppns", "repaired", {"norm_floor": 5.0}, partial(_without, [[5], [5], [_], [_], [_]], 1, 0),
        "5 users, 1 item, one rating removed", _AT_MOST_ONE, "PP-DP-REP", "one user's membership",
        claim=PrivacyClaim(1.0, relation=_RATING), seen=_membership(1)),
    Subject("wallenius", "paper", {}, partial(_two, [5, 1, 1, 0.2], [1, 1, 1, 0.2]),
        "weights (5, 1, 1, 0.2) and (1, 1, 1, 0.2)", _enumerated, num_samples=FEW),
    # X-Map
    Subject("prs", "paper", {}, _UNLINKED, "2 users, 3 items, one user leaves", _checked, "XM-T1"),
    Subject("prs", "paper", {"sensitivity": 0.058},
        partial(_without, [[4, 4, 4, 2, 2, 2], [4, 4, 4, 2, 2, 2], [4, 5, 2, 2, 2, 3]], 2),
        "3 users, 6 items, one user leaves", _checked, "XM-GS-DEF", "the sensitivity as defined"),
    Subject("prs", "released", {}, partial(_item_family, "list_cut"), "12 users, 12 items, the list holds 10", _checked,
        "XM-T1-REL"),
    Subject("prs", "repaired", {}, partial(_opposed, 1, 10), "2 users, 11 items, every similarity turns", _checked,
        "XM-T1-REP"),
    Subject("prs", "repaired", {"num_source_items": 2}, partial(_opposed, 2, 10),
        "2 users, 12 items, every similarity turns", _profile_truth, "XM-T1-COMP", "a profile of two items",
        num_samples=FEW, seen=_Profile.of),
    Subject("pnsa", "paper", {"num_neighbors": 1}, partial(_item_family, "sensitivity_family", 16),
        "the family of XM-PNSA with 16 users who agree", _checked, "XM-PNSA"),
    Subject("pnsa", "paper", {"num_neighbors": 1}, partial(_without, [[3, 3, 3, 1]] * 16 + [[5, 5, _, 1]], 16),
        "16 users who agree, and one more who leaves", _checked, "XM-T2-MAX", "similarities stay, SS moves"),
    Subject("pnsa", "released", {"num_neighbors": 1}, partial(_without, [[1, _, 1], [1, 1, _]], 0),
        "2 users, 3 items, one user leaves", _checked, "XM-PNSA-REL"),
    Subject("pnsa", "released", {"num_neighbors": 1}, partial(_item_family, "released_family", 100),
        "103 users, 3 items, all links kept", _checked, "XM-PNSA-REL", "all links kept"),
    Subject("pnsa", "repaired", {"threshold": 2.0},
        partial(_without, [[1, 5, 2, 5], [2, 5, 3, 5], [1, 3, 1, 3], [5, 2, 4, 2]], 3),
        "4 users, 4 items, the worst found", _checked, "XM-PNSA-REP", num_samples=FEW),
    Subject("pnsa_pncf", "paper", {"num_neighbors": 1}, partial(_reader_family, 32),
        "the family of XM-PNSA with 32 users who agree, and a reader", _prediction_truth, "XM-PNSA"),
    Subject("pnsa_pncf", "repaired", {"num_neighbors": 1, "threshold": 2.0},
        partial(_without, [[_, 5, 3, 1], [1, 5, 2, 5], [2, 5, 3, 5], [1, 3, 1, 3], [5, 2, 4, 2]], 4),
        "5 users, 4 items, one user leaves", _prediction_truth, "XM-PNSA-REP"),
    # Rating collection
    Subject("modified_laplace", "paper", {}, partial(_two, [[1]], [[-1]]), "ratings 1 and -1",
        _known(1.0, "closed form"), "RC-T1-TIGHT", num_samples=FEW),
    Subject("modified_laplace", "paper", {"coupling": "shared"}, partial(_two, [[0, 0]], [[0, _]]),
        "entries (0, 0) and (0, missing)", _INFINITE, "RC-IND2", "one noise for all entries", claim=PrivacyClaim(2.0),
        num_samples=FEW),
    Subject("modified_laplace", "repaired", {}, partial(_two, [[1]], [[-1]]), "ratings 1 and -1",
        lambda subject: (float(subject.build().loss), "closed form"), "RC-EXE-REP", num_samples=FEW),
    Subject("randomized_response", "paper", {}, partial(_two, [[1]], [[2]]), "ratings 1 and 2", _enumerated, "RC-T2"),
    Subject("randomized_response", "paper", {"indexing": "value"}, partial(_two, [[0, 0]], [[0, 1]]),
        "entries (0, 0) and (0, 1)", _enumerated, "RC-IND3", "one draw per value", claim=PrivacyClaim(2.0),
        num_samples=FEW),
    Subject("randomized_response", "repaired", {}, partial(_two, [[1]], [[2]]), "ratings 1 and 2", _enumerated,
        "RC-EXE-REP"),
    Subject("nuclear_norm_completion", "paper", {"penalty": 1.0},
        partial(_without, [[5, 1, 4], [4, 2, 5], [1, 5, 1]], 0, 0), "3 users, 3 items, one rating removed", _INFINITE,
        num_samples=2000),
    # PriCDR
    Subject("jlt", "paper", {"num_rows": 2}, _ROW_SPACE, "1 item, 3 users, one rating removed", _INFINITE, "CD-T52",
        num_samples=FEW),
    Subject("jlt", "paper", {"num_rows": 1}, _ROW_SPACE, "1 item, 3 users, one rating removed", _INFINITE, "CD-T51",
        "one row", claim=_one_row_claim(), num_samples=FEW),
    Subject("jlt", "released", {"num_rows": 2}, _ROW_SPACE, "1 item, 3 users, one rating removed", _INFINITE,
        "CD-T52-REL", num_samples=FEW),
    Subject("jlt", "released", {"epsilon": 3.0, "delta": 1 / 924, "num_rows": 400},
        partial(_without, [[1, 1000], *[[_, _]] * 99], 0, 0),
        "100 items, 2 users, one rating removed beside one of 1000", _sketch_truth, "CD-T52-REL",
        "400 rows, seen by regression", num_samples=30_000, seen=_Slope),
    Subject("jlt", "repaired", {"num_rows": 4}, partial(_crowd, 15), "1 item, 16 users, one rating removed",
        _sketch_truth, "CD-T52-REP", "seen by regression", seen=_Slope),
    Subject("sjlt", "paper", {"num_rows": 2}, _LINES, "2 items, 2 users, one rating added", _INFINITE, "CD-SJLT",
        num_samples=FEW),
    Subject("sjlt", "released", {"num_rows": 2}, _LINES, "2 items, 2 users, one rating added", _INFINITE, "CD-SJLT-REL",
        num_samples=FEW),
    Subject("sjlt", "repaired", {"num_rows": 4}, partial(_crowd, 15), "1 item, 16 users, one rating removed",
        _AT_MOST_ONE, "CD-SJLT-REP", "seen by regression", seen=_Slope),
    # Determinantal point processes
    Subject("dpp", "paper", {"max_square_norm": 3.0}, partial(_without, _NOBODY, 1),
        "3 items, a reader of everything leaves", _checked, "DP-EPS-REP", num_samples=FEW),
    Subject("dpp", "paper", {"jitter": 0.0}, partial(_without, _NOBODY, 1), "3 items, a reader of everything leaves",
        _checked, "DP-INF", "no jitter", breaks=True, num_samples=FEW),
    Subject("dpp_eigen", "paper", {"max_square_norm": 3.0}, partial(_without, _NOBODY, 1),
        "3 items, a reader of everything leaves", _checked, "DP-EPS", num_samples=FEW),
    Subject("dpp_eigen", "paper", {}, partial(_without, [[1, 0], [1, 1]], 1), "2 items, 2 users, one leaves", _INFINITE,
        "DP-EVEC", "the eigenvectors", breaks=True, num_samples=FEW, seen=_Eigenvectors),
    Subject("dpp_subset_jittered", "paper", {"max_square_norm": 3.0},
        partial(_without, [[5, 5, 4, 4], [4, 3, 2, 2], [_, _, 3, _]], 2), "3 users, 4 items, one user leaves",
        _enumerated, num_samples=FEW),
    Subject("kdpp", "paper", {"max_square_norm": 2.0}, partial(_without, _CLICKS, 0),
        "4 users, 4 items, one user leaves", _checked, "DP-KDPP-REP", num_samples=FEW),
    # Programs
    Subject("modified_laplace", "paper", {}, partial(_two, [[0]], [[1]]), "ratings 0 and 1", _INFINITE, "RC-EXE",
        representation="bits", num_samples=FEW),
    Subject("modified_laplace", "repaired", {}, partial(_two, [[0]], [[1]]), "ratings 0 and 1", _AT_MOST_ONE,
        "RC-EXE-REP", representation="bits", num_samples=FEW),
    Subject("sjlt", "repaired", {"num_rows": 1}, partial(_two, [[_]], [[1]]), "1 item, 1 user, 1 row", _INFINITE,
        "CD-EXE", representation="bits", num_samples=FEW),
    Subject("jlt", "paper", {"num_rows": 1, "epsilon": 1.2}, partial(_two, [[1, 3]], [[2, 3]]),
        "1 item, 2 users, 1 row", _INFINITE, "CD-EXE", claim=PrivacyClaim(1.2, 1e-4), representation="bits",
        num_samples=FEW),
    Subject("randomized_response", "paper", {"epsilon": 60.0}, partial(_two, [[1]], [[2]]), "ratings 1 and 2",
        _INFINITE, "RC-EXE", "epsilon = 60", representation="bits",
        beyond="another symbol has chance 4e-26 and is never drawn", num_samples=FEW),
    Subject("npns", "repaired", {"num_neighbors": 1, "norm_floor": 50.0},
        partial(_without, [[5] * 81, [5] * 81, [_] * 81], 1, 80), "3 users, 81 items, one rating removed", _INFINITE,
        "PP-EXE", representation="bits", beyond="the neighbor who is never drawn has ideal chance 4e-18",
        num_samples=FEW),
    Subject("pnsa", "repaired", {"num_neighbors": 1, "threshold": 100.0, "width": 2.0},
        partial(_without, [[5, _, 1]] * 162, 161), "162 users, 3 items, one user leaves", _INFINITE, "XM-EXE",
        representation="bits", beyond="the neighbor who is never drawn has ideal chance 4e-18", num_samples=FEW),
    Subject("dpp", "paper", {"jitter": 1e-17, "max_square_norm": 1.0}, partial(_without, [[1.0]], 0),
        "1 item, 1 user who leaves", _INFINITE, "DP-EXE", "jitter 1e-17", representation="bits",
        beyond="the item has ideal chance 1e-17 without the user, and 38.5 nats are claimed", num_samples=FEW),
)  # fmt: skip
