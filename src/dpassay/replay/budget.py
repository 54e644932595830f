"""Certificates of strangers: each file is read and checked in a process that has a limit of time and of memory.

One process checks file after file; it is killed and replaced when a file goes past a limit.
"""

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import one_line
from dpassay.replay import Replay, replay
from dpassay.replay.worker import Ended, Worker, serve

SECONDS = 300.0
MEGABYTES = 2048


@dataclass(frozen=True)
class Limits:
    """What one file may take.

    Attributes:
        seconds: by the clock, above 0.
        megabytes: address space of each process, where the system can limit it, above 0.
    """

    seconds: float = SECONDS
    megabytes: int = MEGABYTES


class BudgetedReplay:
    """`replay` under limits; use it as a context manager, which ends the process."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self._limits = limits
        self._worker = Worker(
            f"from dpassay.replay.budget import answer_within; answer_within({limits.seconds!r}, {limits.megabytes!r})",
            own_group=True,
        )

    def __enter__(self) -> "BudgetedReplay":
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.stop()

    def __call__(self, path: str | Path) -> Replay:
        """Re-checks the certificate in a file as `replay` does.

        Raises:
            InvalidInput: as `replay`, or the file takes more time or memory than allowed.
        """
        try:
            answer = self._worker.ask(os.fspath(path), self._limits.seconds)
        except Ended as end:
            kind = f"{self._limits.seconds:g} seconds" if end.timed_out else f"{self._limits.megabytes} megabytes"
            raise InvalidInput(_too_much(path, kind)) from None
        if answer["spent"]:
            self._worker.stop()
        if "unusable" in answer:
            raise InvalidInput(answer["unusable"])
        return Replay(**answer["replay"])


def answer_within(seconds: float, megabytes: int) -> None:
    """What the process does: it limits itself, and answers paths with replays."""
    limit = megabytes * 2**20
    _limit("RLIMIT_AS", limit)
    _limit("RLIMIT_CORE", 0)

    def answer(path: str) -> dict[str, Any]:
        # Of use once nobody is left to watch the clock.
        _limit("RLIMIT_CPU", math.ceil(sum(os.times()[:2]) + 2 * seconds) + 1)
        try:
            return {"replay": asdict(replay(path)), "spent": _peak() > limit / 2}
        except InvalidInput as error:
            return {"unusable": str(error), "spent": False}
        except MemoryError:
            return {"unusable": _too_much(path, f"{megabytes} megabytes"), "spent": True}
        except Exception as error:  # whatever a file provokes, the next one is checked
            return {"unusable": f"{path} cannot be checked: {one_line(error)}", "spent": True}

    serve(answer)


def _too_much(path: str | Path, what: str) -> str:
    return f"{path} needs more than {what}; raise the limit if you trust its author"


def _limit(name: str, value: int) -> None:
    try:
        import resource

        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
    except (ImportError, AttributeError, ValueError, OSError):
        return  # a system without that limit: the clock is watched all the same


def _peak() -> int:
    """Bytes, the most that this process ever held; 0 where the system does not say."""
    try:
        import resource
        import sys
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
