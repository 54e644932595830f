"""What an experiment is asked for."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Notice
from dpassay.data.domain_files import load_domains, rating_files
from dpassay.data.rating_files import read_ratings
from dpassay.data.ratings import Ratings, synthetic
from dpassay.data.reading import PLAIN, Reading

Data = Ratings | Path | str | tuple[Path | str, Path | str] | None


@dataclass(frozen=True)
class Request:
    """The arguments of `dpassay.experiments.run`, which explains them."""

    data: Data = None
    quick: bool = False
    seed: int = 0
    resume: Path | None = None
    progress: Callable[[str], None] = lambda _: None
    reading: Reading = PLAIN
    executor: Executor | None = None

    @property
    def small(self) -> bool:
        """Whether it is only shown to work."""
        return self.quick or self.data is None

    @property
    def folder(self) -> Path | None:
        """The folder that was given."""
        path = Path(self.data) if isinstance(self.data, Path | str) else None
        return path if path is not None and path.is_dir() else None

    @cached_property
    def ratings(self) -> Ratings:
        """The data as one dataset, the small synthetic one if none are given.

        Raises:
            InvalidInput: they are unreadable, or two.
        """
        if isinstance(self.data, tuple):
            raise InvalidInput("this experiment has no two domains; give one dataset")
        if isinstance(self.data, Ratings):
            return self.data
        return synthetic() if self.data is None else self._noted(read_ratings(self.data, self.reading))

    def domains(self) -> tuple[Ratings, Ratings] | None:
        """Source and target as `dpassay.data.domain_files` reads two paths or a folder of two; None for other data.

        Raises:
            InvalidInput: a file is malformed.
        """
        paths = self.data if isinstance(self.data, tuple) else rating_files(self.folder) if self.folder else ()
        if len(paths) != 2:
            return None
        source, target = load_domains([Path(path) for path in paths], self.reading)
        return self._noted(source), self._noted(target)

    def _noted(self, ratings: Ratings) -> Ratings:
        """Says what a reader must know of how they were read."""
        if ratings.note:
            self.progress(Notice(f"{ratings.name}: {ratings.note}"))
        return ratings


def check_differing(*parts: Ratings) -> None:
    """Refuses ratings of which none differ, as of implicit feedback, where ratings are predicted.

    Raises:
        InvalidInput: all ratings of a part are equal.
    """
    for ratings in parts:
        if ratings.values.min() == ratings.values.max():
            raise InvalidInput(f"all ratings of {ratings.name} are {ratings.values[0]:g}; here some must differ")
