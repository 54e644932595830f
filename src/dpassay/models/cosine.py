"""Neighborhood recommenders with the cosine of implicit ratings, without training.

A target item scores the sum of similarities to the user's items (`item`), or of the similarities of the users who have
it: by their target items (`user`), or by their source items alone (`source`), which tells what the source domain
knows about taste in the target. All neighbors count (Cremonesi, Koren and Turrin 2010, sec. 3.2, without a cut-off).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from dpassay.core.checks import check_choices
from dpassay.models.task import Scores, Task


@dataclass(frozen=True)
class Settings:
    """Whose similarity: of target items, of users by their target items, or of users by their source items.

    Raises InvalidInput for another one.
    """

    similarity: Literal["item", "user", "source"] = "user"

    def __post_init__(self) -> None:
        check_choices(self)


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores once; nothing is random."""
    target = task.target
    if settings.similarity == "item":
        scores = (target @ _cosines(csr_array(target.T))).toarray()
    else:
        scores = (_cosines(target if settings.similarity == "user" else task.source) @ target).toarray()
    yield lambda items: np.take_along_axis(scores, items, axis=1)


def _cosines(rows: csr_array) -> csr_array:
    """Cosines between the rows, 0 with an empty one and with itself."""
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)))
    unit = csr_array(rows.multiply(1 / np.where(norms > 0, norms, 1)[:, None]))
    cosines = csr_array(unit @ unit.T)
    cosines.setdiag(0)
    return cosines
