"""What an experiment is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dpassay.data.rating_files import ratings_or_synthetic
from dpassay.data.ratings import Ratings


@dataclass(frozen=True)
class Request:
    """The arguments of `dpassay.experiments.run`, which explains them."""

    data: Ratings | Path | str | None = None
    quick: bool = False
    seed: int = 0
    resume: Path | None = None
    progress: Callable[[str], None] = lambda _: None

    @property
    def small(self) -> bool:
        """Whether it is only shown to work."""
        return self.quick or self.data is None

    @cached_property
    def ratings(self) -> Ratings:
        """The data as one dataset.

        Raises:
            InvalidInput: they are unreadable.
        """
        return ratings_or_synthetic(self.data)
