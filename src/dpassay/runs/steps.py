"""Steps of a search with a time limit, kept in a file so that one that was killed goes on with the time it had left."""

import hashlib
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpassay.runs.fingerprint import fingerprint
from dpassay.runs.kept import Kept


class Steps:
    """The steps of one search, each with a kind and a name, and a clock that stands still while it does not run.

    A search that goes on asks for the steps in the order in which it made them; each that is in the file sets the clock
    to when it was made, so that what depends on the time is decided as it was then. The first that is not there sets it
    to the time that all earlier runs took.

    Args:
        path: the file; None keeps nothing.
        mechanism: that is searched; changed code or parameters begin anew.
        claim: that it is searched against.
        about: JSON-able; all other settings but the time limit.
        modules: names of those that search.

    Attributes:
        seconds: that the search took in earlier runs.

    Raises:
        InvalidInput: a file that cannot be read, or a mechanism whose contents cannot.
    """

    def __init__(
        self, path: Path | str | None, mechanism: Any = None, claim: Any = None, about: Any = (), *modules: str
    ) -> None:
        self.seconds = 0.0
        self._kept: Kept | None = None
        self._made: dict[str, dict[str, Any]] = {}
        self._kinds: Counter[str] = Counter()
        if path is not None:
            self._kept = Kept(Path(path), [fingerprint(mechanism, None, None, claim), about], *modules)
            while (step := self._kept.find({"step": self._kinds.total()})) is not None:
                self._note(step)
                self.seconds = step["seconds"]
        self._reading = bool(self._made)
        self._set(0.0)

    def now(self) -> float:
        """Seconds since the search began, without those between its runs."""
        return time.monotonic() - self._begin

    def count(self, kind: str) -> int:
        """How many steps of a kind were made, in all runs."""
        return self._kinds[kind]

    def find(self, kind: str, name: Any) -> dict[str, Any] | None:
        """What a step came to, as `keep` was given it; None where it is not in the file. Names are told by `repr`."""
        if self._kept is None:
            return None
        step = self._made.get(_digest(kind, name))
        if self._reading:
            self._reading = step is not None
            self._set(max(self.now(), self.seconds if step is None else step["seconds"]))
        return None if step is None else step["result"]

    def keep(self, kind: str, name: Any, result: Mapping[str, Any]) -> dict[str, Any]:
        """Keeps what a step came to, JSON-able, and returns it.

        Raises:
            InvalidInput: the file cannot be written.
        """
        if self._kept is not None:
            step = {"kind": kind, "name": _digest(kind, name), "result": dict(result), "seconds": self.now()}
            self._kept.keep({"step": self._kinds.total()}, step)
            self._note(step)
        return dict(result)

    def _set(self, seconds: float) -> None:
        self._begin = time.monotonic() - seconds

    def _note(self, step: dict[str, Any]) -> None:
        self._made[step["name"]] = step
        self._kinds[step["kind"]] += 1


def _digest(kind: str, name: Any) -> str:
    return hashlib.sha256(repr((kind, name)).encode()).hexdigest()[:32]
