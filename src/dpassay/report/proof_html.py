"""A proof or a counterexample of a program as one HTML file that needs nothing else: no server, network or script."""

from collections.abc import Mapping
from typing import Any

from dpassay.report import proof_text
from dpassay.report.html import OUTCOME_MEANINGS, environment, printable
from dpassay.report.schema import validate_proof

OUTCOMES = ("holds", "refuted", "open")


def render_proof(content: Mapping[str, Any]) -> str:
    """The report as the text of one HTML file; equal proofs give equal bytes.

    Args:
        content: described by `proof.schema.json`.

    Raises:
        InvalidInput: the content does not follow the schema.
    """
    valid = validate_proof(content)
    proof, said = printable(valid), printable(proof_text.notes(valid))
    lines = [(number, text, said.get(number, [])) for number, text in enumerate(proof["text"].splitlines(), 1)]
    used = " ".join(note for notes in said.values() for note in notes)
    return (
        environment()
        .get_template("proof.html.j2")
        .render(
            proof=proof,
            outcome=proof["verdict"]["outcome"],
            headline=proof_text.headline(proof),
            facts=proof_text.facts(proof),
            lines=lines,
            notation=[
                (symbol, meaning) for symbol, meaning in proof_text.NOTATION.items() if symbol.strip("x") in used
            ],
            outcomes=[(outcome, OUTCOME_MEANINGS[outcome]) for outcome in OUTCOMES],
        )
    )
