"""Adds new evidence to the files that a person reviews: `proofs/<paper>/evidence.json`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpassay.core.files import write_file
from dpassay.judging.judge import NOT_REVIEWED, Judged
from dpassay.replay.says import says


def add_evidence(judged: Sequence[Judged], folder: Path) -> int:
    """Adds what certificates say and no one has reviewed to `<folder>/<paper>/evidence.json`; returns how many.

    Each is written with the outcome that its decider had in mind, or "measured" where its numbers decide: whoever
    reviews it asks whether what it says concludes that, with the other parts (`"part": true`) or alone, or is a note
    beside the claim (`"concludes": ""`). Parts and notes get an `"id"` and a statement of their own (`"shows"`).
    """
    added = 0
    for paper in dict.fromkeys(item.claim.paper for item in judged):
        path = folder / paper.replace("-", "_") / "evidence.json"
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for item in judged:
            entries = _new(item) if item.claim.paper == paper else []
            if entries:
                known = content.setdefault(item.claim.id, {"claim": "", "evidence": []})
                if known["claim"] != item.claim.digest():  # the claim reads otherwise: all of it is to be reviewed
                    known |= {"claim": item.claim.digest(), "evidence": []}
                known["evidence"] += entries
                added += len(entries)
        write_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return added


def _new(item: Judged) -> list[dict[str, Any]]:
    bodies = [record.certificate for record in item.verdict.evidence if record.certificate is not None]
    found: list[dict[str, Any]] = []
    for body, certificate, concluded in zip(bodies, item.certificates, item.concluded, strict=True):
        meant = "measured" if "supports" in certificate.result else body["inputs"].get("supports", "refuted")
        entry = {"kind": certificate.kind, "concludes": meant, "says": list(says(certificate.kind, certificate.inputs))}
        if concluded == NOT_REVIEWED and entry not in found:
            found.append(entry)
    return found
