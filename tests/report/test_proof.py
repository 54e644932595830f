"""What a proof or a counterexample says in the terminal and on its page."""

from typing import Any

import pytest

from dpassay.core.errors import InvalidInput
from dpassay.report.proof_html import render_proof
from dpassay.report.proof_text import expression, notes, plain_text

TEXT = """def above(rng, queries, epsilon, c: int):
    level = rng.laplace(0, 2 / epsilon)
    for query in queries:
        if query + rng.laplace(scale=4 * c / epsilon) >= level:  # <script>alert(1)</script>
            return True
    return rng.exponential(epsilon)
"""
ALIGNMENT = {
    "conditions": 12,
    "shifts": {
        "2:12": [{"when": {}, "shift": "1"}],
        "4:19": [{"when": {"4:8": True}, "shift": "d(level) - d(query)"}, {"when": {}, "shift": "0"}],
        "6:11": [{"when": {}, "shift": "delta()"}],
    },
    "loops": {"3:4": {"invariant": ["d(level) == 1", "cost() <= epsilon / 2"]}},
    "free": ["4:8"],
}
REFUTATION = {
    "data1": ["0", "1"],
    "data2": ["1", "0"],
    "values": {"epsilon": "1"},
    "output": "[False, True]",
    "probability1": "0.21",
    "probability2": "0.06",
    "loss": "1.25",
    "allowed": "1",
    "code": "print(above(rng, [0, 1], 1, 1))",
}


def _proof(outcome: str, **changed: Any) -> dict[str, Any]:
    verdict = {"id": "above", "outcome": outcome, "explanation": "Why.", "assumptions": ["c >= 1"]}
    return {
        "format": "dpassay-proof",
        "version": 1,
        "program": "dpassay 1",
        "command": "",
        "mechanism": "above",
        "location": {"file": "mine.py", "line": 3},
        "text": TEXT,
        "neighbors": "one entry changes",
        "claim": {"notion": "epsilon", "bound": "2 * epsilon"},
        "verdict": {**verdict, "level": "steps", "warnings": []},
        "alignment": ALIGNMENT if outcome == "holds" else None,
        "refutation": REFUTATION if outcome == "refuted" else None,
        "inferred": "",
        "largest_loss": "",
        "tried": ["a proof by alignment"],
        "seconds": 1.0,
        **changed,
    }


def test_each_line_of_the_program_has_its_notes() -> None:
    assert notes(_proof("holds")) == {
        2: ["shift 1, which costs epsilon / 2"],
        3: ["before every pass: Δlevel = 1; spent <= epsilon / 2"],
        4: [
            "where line 4 is true: shift Δlevel - Δquery, which costs |Δlevel - Δquery| * epsilon / (4 * c)",
            "else: shift 0, which costs nothing",
            "the two runs may go different ways here",
        ],
        6: ["shift δ, which costs |δ| / epsilon"],
    }
    assert (
        expression('d(x[k]) == delta() and other(y) <= prophecy("K") + index("3:4")')
        == "Δ(x[k]) = δ and y′ <= K + passes"
    )


def test_what_is_printed_says_the_finding() -> None:
    assert "(2 * epsilon)-DP is proved for lists of every length" in plain_text(_proof("holds"))
    refuted = plain_text(_proof("refuted"))
    assert "[0, 1] and [1, 0], with epsilon = 1" in refuted
    assert "1.25 where at most 1 is claimed" in refuted
    assert refuted.endswith(str(REFUTATION["code"]))
    assert "a proof by alignment" in plain_text(_proof("open"))


@pytest.mark.parametrize("outcome", ["holds", "refuted", "open"])
def test_pages_escape_the_program(outcome: str) -> None:
    page = render_proof(_proof(outcome))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page == render_proof(_proof(outcome))


def test_what_is_no_proof_is_refused() -> None:
    with pytest.raises(InvalidInput, match="prove --json"):
        render_proof(_proof("vacuous"))
    with pytest.raises(InvalidInput, match=r"at alignment"):
        render_proof(_proof("holds", alignment={}))
