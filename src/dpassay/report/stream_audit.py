"""What two datasets did on the same random streams, in the form of an audit, so that every report can show it."""

from typing import TYPE_CHECKING, Any

from dpassay.core.claims import Evidence, Outcome, Verdict
from dpassay.core.version import __version__

if TYPE_CHECKING:
    from dpassay.auditors.same_stream import StreamReport
    from dpassay.core.privacy import PrivacyClaim


def stream_audit(
    report: "StreamReport",
    *,
    mechanism: str,
    datasets: tuple[str, str],
    claim: "PrivacyClaim | None" = None,
    command: str = "",
    seed: int = 0,
    seconds: float = 0.0,
) -> dict[str, Any]:
    """The report as JSON described by `audit.schema.json`, with mode `same-stream` and no probability of error.

    Args:
        report: of `dpassay.auditors.same_stream`.
        mechanism: its name, for readers.
        datasets: both, for readers.
        claim: what the mechanism claims; None when only its noise is in question.
        command: how to run this again.
        seed: of the streams.
        seconds: taken.
    """
    declared, observed = report.sensitivity, report.observed_sensitivity
    moves = "" if declared is None else f", and moves by at most {declared:g}"
    said = {"kind": "same-stream", "text": f"noisy wherever it depends on the data{moves}"}
    return {
        "format": "dpassay-audit",
        "version": 1,
        "program": f"dpassay {__version__}",
        "command": command,
        "mechanism": mechanism,
        "dataset1": datasets[0],
        "dataset2": datasets[1],
        "relation": None if claim is None or claim.relation is None else str(claim.relation),
        "representation": "values",
        "claim": said if claim is None else claim.to_json(),
        "mode": "same-stream",
        "failure_probability": 0.0,
        "parameter_name": "sensitivity",
        "parameter_lower": observed,
        "epsilon_lower": None,
        "verdict": _verdict(report).to_json(),
        "events": [],
        "samples": {"training": 0, "selection": 0, "test": report.streams, "total": report.streams},
        "looks": 1,
        "seconds": seconds,
        "seed": seed,
        "run": 0,
        "detectable": {"probability": 0.9, "smallest_epsilon": None, "rarest_event": None},
        "ledger": None,
        "sandwich": {"lower": observed, "exact": None, "upper": None, "claim": "inf" if declared is None else declared},
        "warnings": [_sentence(text) + "." for text in report.notes],
        "tables": [],
        "plots": [],
    }


def _verdict(report: "StreamReport") -> Verdict:
    assumptions = ("equal generators give equal random numbers",)
    if not report.findings and not report.streams:
        words = ". ".join(_sentence(text) for text in report.notes) + "."
        return Verdict("SAME-STREAM", "open", words, assumptions=assumptions, arithmetic="executed")
    words = "No part of the output depends on the data without noise on these streams; this does not show privacy."
    if report.findings:
        words = ". ".join(_sentence(text) for text in report.findings) + "."
    outcome: Outcome = "refuted" if report.findings else "not refuted"
    evidence = (Evidence("statistics", words),)
    return Verdict("SAME-STREAM", outcome, words, evidence, assumptions=assumptions, arithmetic="executed")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
