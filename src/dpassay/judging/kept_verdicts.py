"""What an interrupted `verify` had already judged, kept in the user's cache folder until a run completes.

The folder's name is a hash of everything that a verdict depends on: the program's own files, the ratings, the seed and
the amount of work. A run of other code or other data never meets it.
"""

import contextlib
import hashlib
import os
import pickle
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from dpassay.core.claims import Claim, Context

if TYPE_CHECKING:
    from dpassay.judging.judge import Judged

__all__ = ["Kept", "cache_folder"]


class Kept:
    """The verdicts kept for one context. Where the folder cannot be written nothing is kept, and nothing fails."""

    def __init__(self, cache: Path, context: Context) -> None:
        settings = f"{context.data.name} {context.data.fingerprint()} quick={context.quick} seed={context.seed}"
        self.folder = cache / hashlib.sha256(f"{_program()} {settings}".encode()).hexdigest()[:32]

    def load(self, claim: Claim) -> "Judged | None":
        """The claim as it was judged before the interruption, or None."""
        try:
            # Written by this user's own earlier run, and never exchanged: a pickle is enough.
            judged: Judged = pickle.loads((self.folder / claim.id).read_bytes())
        except Exception:  # absent, or cut off by a full disk: judge it again
            return None
        return judged if judged.claim == claim else None

    def keep(self, judged: "Judged") -> None:
        """Writes one verdict, whole or not at all."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = self.folder / f".{judged.claim.id}.{os.getpid()}"
            temporary.write_bytes(pickle.dumps(judged))
            temporary.replace(self.folder / judged.claim.id)

    def clear(self) -> None:
        """Forgets everything: the run is complete."""
        shutil.rmtree(self.folder, ignore_errors=True)


def cache_folder() -> Path:
    """Where the command line keeps verdicts: `dpassay` in the user's cache folder (XDG_CACHE_HOME)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpassay"


def _program() -> str:
    """A hash of the program's files."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(Path(__file__).parents[1], followlinks=True):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".json")):
                path = Path(folder) / name
                digest.update(f"{name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()
