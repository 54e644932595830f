"""PureSVD: the rating matrix by its largest singular values, missing ratings as zeros.

Cremonesi, Koren and Turrin (2010), sec. 3.3: scores = R V V', V the right singular vectors.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import svds

from dpassay.core.errors import InvalidInput
from dpassay.models.task import Scores, Task


@dataclass(frozen=True)
class Settings:
    """How many singular values are kept; the authors tried up to 300 on far larger data."""

    factors: int = 32


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores once; the seed only starts the solver.

    Raises:
        InvalidInput: as many factors as users or items.
    """
    if not 0 < settings.factors < (most := min(task.target.shape)):
        raise InvalidInput(f"{settings.factors} factors of a {task.target.shape} matrix; give 1 to {most - 1}")
    right = svds(task.target, k=settings.factors, return_singular_vectors="vh", random_state=seed)[2]
    scores = (task.target @ right.T) @ right
    yield lambda items: np.take_along_axis(scores, items, axis=1)
