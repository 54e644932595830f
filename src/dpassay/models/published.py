"""What the source domain of PriCDR publishes: its rating matrix, sketched (Chen et al., WWW 2022, Algorithm 1).

Orientation: the mechanisms sketch items x users and publish rows x users; a model reads one row per user, so the
published matrix is transposed here.

A Gaussian sketch with noise added to it needs no dense matrix and no singular values. The repair is one; Algorithm 1
with JLT has the law of one, on the centered matrix, where there are at least as many items as users.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import numpy as np
from scipy.sparse import csr_array

from dpassay.core.checks import check_choices
from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.jlt import AbstractSketch

Transform = Literal["jlt", "sjlt", "plaintext", "zero"]


@dataclass(frozen=True)
class Publication:
    """How the source matrix is published.

    Attributes:
        transform: "jlt" or "sjlt", a mechanism of that name; "plaintext", the matrix itself; "zero", only zeros.
        variant: of the mechanism: "paper", "released" or "repaired" (the last at the exact privacy profile).
        epsilon: nats, as the mechanism is told; delta is one over the number of users.
        num_rows: the paper's n'_1.
        density: the paper's sp, for "sjlt" as in the paper and as released.
        ratings: False publishes an empty matrix by the same mechanism: noise of the same shape and scale that knows
            nothing of any user.

    Raises InvalidInput for an unknown transform or variant; the mechanism checks the rest.
    """

    transform: Transform = "jlt"
    variant: Literal["paper", "released", "repaired"] = "paper"
    epsilon: float = 1.0
    num_rows: int = 400
    density: float = 0.5
    ratings: bool = True

    def __post_init__(self) -> None:
        check_choices(self)

    def mechanism(self, num_users: int) -> AbstractSketch:
        """The mechanism, for a number of users; its `noise` is w.

        Raises:
            InvalidInput: nothing is sketched, or a parameter is out of range.
        """
        if self.transform in ("plaintext", "zero"):
            raise InvalidInput(f"{self.transform} is published without a mechanism")
        given = {"epsilon": self.epsilon, "delta": 1 / num_users, "num_rows": self.num_rows}
        if self.transform == "sjlt" and self.variant != "repaired":
            given["density"] = self.density
        sketch = mechanism(self.transform, variant=self.variant, **given)
        assert isinstance(sketch, AbstractSketch)
        return sketch


RELEASED = Publication(variant="released", num_rows=204, density=0.8)
"""What the README of the authors' code runs."""


def published(source: csr_array, publication: Publication, *, seed: int = 0) -> np.ndarray:
    """The matrix that the target domain trains on; the same for the same seed.

    The source has shape (users, source_items).

    Returns:
        float32, shape (users, num_rows); (users, source_items) for plaintext.
    """
    users, items = source.shape
    if publication.transform == "plaintext":
        return source.toarray().astype(np.float32)
    if publication.transform == "zero":
        return np.zeros((users, publication.num_rows), np.float32)
    given = source if publication.ratings else csr_array(source.shape)
    sketch = publication.mechanism(users)
    printed = publication.variant == "paper"
    if publication.transform == "jlt" and (publication.variant == "repaired" or (printed and items >= users)):
        return _noisy_product(given, sketch, printed, np.random.default_rng(seed))
    return np.asarray(sketch.sample(jax.random.key(seed), given.toarray().T), np.float32).T


def _noisy_product(
    source: csr_array, sketch: AbstractSketch, centered: bool, generator: np.random.Generator
) -> np.ndarray:
    """(R M + w N) / sqrt(r), float32, shape (users, rows), of ratings R in [0, 1] or their difference from item means.

    The draw of M and N does not depend on R.
    """
    users, items = source.shape
    columns = generator.standard_normal((items, sketch.num_rows))
    product = source @ columns
    if centered:
        product -= source.mean(axis=0) @ columns
    product += sketch.noise * generator.standard_normal((users, sketch.num_rows))
    return (product / np.sqrt(sketch.num_rows)).astype(np.float32)
