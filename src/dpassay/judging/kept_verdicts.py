"""What an interrupted `verify` had already judged, kept in the user's cache folder until a run completes."""

import contextlib
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpassay.core.claims import Claim, Context
from dpassay.core.errors import InvalidInput
from dpassay.judging.judge import Judged, judge
from dpassay.runs.code import code_digest, data_digest
from dpassay.runs.kept import Kept


class KeptVerdicts:
    """The verdicts on one context. Where the folder cannot be used nothing is kept, and nothing fails.

    A verdict depends on its claim, the code that its decider and the judge reach, the data files that the package
    carries, the ratings, the seed and the amount of work. Those of one context are one file, which ends with the run.
    """

    def __init__(self, cache: Path, context: Context) -> None:
        inputs = [context.data.name, context.data.fingerprint(), context.quick, context.seed]
        name = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:32]
        self.path = cache / f"verify-{name}.jsonl"
        self._kept = Kept(None)
        with contextlib.suppress(OSError, InvalidInput):
            self._kept = Kept(self.path, [*inputs, data_digest()])

    def find(self, claim: Claim) -> Judged | None:
        """The claim as it was judged before the interruption, or None."""
        run = self._kept.find(_settings(claim))
        return None if run is None else Judged.from_json(claim, run["judged"])

    def keep(self, judged: Judged) -> None:
        """Writes one verdict, whole or not at all."""
        with contextlib.suppress(InvalidInput):
            self._kept.keep(_settings(judged.claim), {"judged": judged.to_json()})

    def clear(self) -> None:
        """Forgets everything: the run is complete."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def _settings(claim: Claim) -> dict[str, Any]:
    return {"claim": asdict(claim), "code": code_digest(claim.decide.partition(":")[0], judge.__module__)}
