"""How a file of one's own is to be read, as options of the command line say it. Importing this module costs nothing."""

from dataclasses import dataclass
from typing import Literal

Format = Literal["auto", "ratings", "implicit", "table"]
Duplicates = Literal["error", "first", "last", "mean"]


@dataclass(frozen=True)
class Reading:
    """The arguments of `dpassay.load_ratings` but the path; what they mean stands there.

    The format `table` is for datasets of an audit alone (`dpassay.data.dataset_files`).
    """

    scale: tuple[float, float] | None = None
    format: Format = "auto"
    duplicates: Duplicates = "error"


PLAIN = Reading()
"""What nobody says otherwise."""
