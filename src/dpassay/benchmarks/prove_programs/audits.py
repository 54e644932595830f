"""Audits of the corpus: what is said to hold must not be refuted at its claim, and most of what is broken shows."""

from dataclasses import dataclass

from dpassay.auditors.audit import run_audit
from dpassay.benchmarks.prove_programs import PROGRAMS
from dpassay.benchmarks.prove_programs.record import Program
from dpassay.core.privacy import PrivacyClaim

SAMPLES, FAILURE_PROBABILITY = 20_000, 1e-6


@dataclass(frozen=True)
class Audited:
    """What an audit said of a program.

    Attributes:
        outcome: "refuted" or "not refuted".
        lower: of epsilon, nats, or None where the claim is another.
    """

    program: Program
    outcome: str
    lower: float | None

    @property
    def wrong(self) -> bool:
        """Whether the audit contradicts what is said of the program: a sound audit refutes no claim that holds."""
        return self.program.outcome == "holds" and self.outcome == "refuted"


def audit_program(program: Program, num_samples: int = SAMPLES, seed: int = 0) -> Audited:
    """Audits one program on its pair of datasets, at its claim."""
    claimed = program.claimed()
    claim = PrivacyClaim.zcdp(claimed) if program.zcdp else PrivacyClaim(claimed)
    verdict = run_audit(
        program.run,
        *program.pair,
        claim=claim,
        num_samples=num_samples,
        failure_probability=FAILURE_PROBABILITY,
        seed=seed,
    ).verdict
    return Audited(program, verdict.outcome, verdict.epsilon_lower)


def audit_corpus(num_samples: int = SAMPLES, seed: int = 0) -> list[Audited]:
    """Audits every program; minutes."""
    return [audit_program(program, num_samples, seed) for program in PROGRAMS]
