"""The jitter of a determinantal process for an epsilon per list: by the exact theorem, and by the paper's own bound.

Rows are binary, or counts: a rating up to 5 taken as the number of times a user has the item. One user is added or
removed. See docs/theorems/determinantal-privacy.md, Theorems 1 and 4.
"""

import math
from typing import Literal

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import dpp
from dpassay.mechanisms.kdpp import FixedSizeProcess

SIZE = 10
"""Items in a list."""
LARGEST_COUNT = 5
"""Counts are ratings, up to this."""

Features = Literal["binary", "counts"]
Family = Literal["k-DPP", "DPP"]


def required_jitter(family: Family, features: Features, num_items: int, epsilon: float) -> float:
    """The jitter at which one list costs `epsilon` by the exact theorem, within a rounding.

    DPP: `dpassay.mechanisms.dpp.required_jitter`. k-DPP: log(1 + B^2/s) = epsilon, where B^2 bounds the sum of a row's
    k largest squares: k for binary rows, 25 k for ratings up to 5 taken as counts.

    Raises:
        InvalidInput: an epsilon that is not > 0.
    """
    bound = _square_norm(family, features, num_items)
    if family == "DPP":
        return dpp.required_jitter(epsilon, bound)
    if not epsilon > 0:
        raise InvalidInput(f"epsilon is {epsilon}; it must be above 0")
    jitter = bound / math.expm1(epsilon)
    while true_epsilon(family, features, num_items, jitter) > epsilon:
        jitter = math.nextafter(jitter, math.inf)
    return jitter


def paper_jitter(features: Features, num_items: int, epsilon: float) -> float:
    """The jitter at which the paper's bound for phase 1, 2 n log(1 + Delta_L/(s sqrt n)), is `epsilon` (sec. 3.2).

    Delta_L is n for binary rows (sec. 3, special case) and 25 n for ratings up to 5. The paper bounds neither phase 2
    nor lists of a fixed size; this is what a reader of the paper could use.
    """
    sensitivity = _square_norm("DPP", features, num_items)
    return sensitivity / (math.sqrt(num_items) * math.expm1(epsilon / (2 * num_items)))


def true_epsilon(family: Family, features: Features, num_items: int, jitter: float) -> float:
    """What one list costs exactly when one user is added or removed, nats: the claim of the mechanism itself."""
    bound = _square_norm(family, features, num_items)
    if family == "DPP":
        return dpp.DeterminantalPointProcess(jitter=jitter, max_square_norm=bound).claim.epsilon
    return FixedSizeProcess(jitter=jitter, max_square_norm=bound, size=SIZE).claim.epsilon


def _square_norm(family: Family, features: Features, num_items: int) -> float:
    """B^2: of a whole row, or of its `SIZE` largest entries."""
    entries = SIZE if family == "k-DPP" else num_items
    return float(entries * (LARGEST_COUNT**2 if features == "counts" else 1))
