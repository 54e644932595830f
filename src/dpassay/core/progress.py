"""What long work says of itself: lines of text that may know which share of the work is done."""

from collections.abc import Callable, Iterator, Sequence
from typing import Self, TypeVar

Say = Callable[[str], None]
"""Called with a short text, a `Step` where the share is known, whenever long work advances."""

_Item = TypeVar("_Item")


class Step(str):
    """A line about work, and the share of it that is done, from 0 to 1, or what computes it when it is asked."""

    share: float | Callable[[], float]

    def __new__(cls, text: str, share: float | Callable[[], float]) -> Self:
        """The line with its share."""
        step = super().__new__(cls, text)
        step.share = share
        return step


class Notice(str):
    """A line that a reader must see, however quick the work is."""


def silent(_: str) -> None:
    """Says nothing."""


def share_of(text: str) -> float | None:
    """The share that is done, None where it is not known."""
    share = getattr(text, "share", None)
    return share() if callable(share) else share


def part(progress: Say, number: float, total: float) -> Say:
    """What to give to part `number`, counted from 0, of `total` parts of equal size: its shares become the whole's."""

    def say(text: str) -> None:
        progress(text if isinstance(text, Notice) else Step(text, lambda: (number + (share_of(text) or 0.0)) / total))

    return say


def told(items: Sequence[_Item], progress: Say, text: Callable[[_Item], str]) -> Iterator[_Item]:
    """The items one after the other, each announced with the share of those that are done."""
    for number, item in enumerate(items):
        progress(Step(text(item), number / len(items)))
        yield item
