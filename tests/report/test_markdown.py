"""The Markdown page holds every verdict and escapes what would break a table."""

from dpassay.report.markdown import render

RUN = {
    "dpassay": "0",
    "seed": 0,
    "command": "dpassay verify --data /home/somebody/ml-100k --markdown /tmp/page.md",
    "data": {"name": "synthetic", "users": 2, "items": 3, "ratings": 4},
    "papers": {"t": "A paper"},
    "claims": {
        "T-1": {"id": "T-1", "statement": "A | B.", "place": "sec. 1", "formula": "a | b", "predicate": "", "data": ""}
    },
    "verdicts": [
        {
            "id": "T-1",
            "outcome": "refuted",
            "explanation": "Because *x* | y.",
            "assumptions": ["z"],
            "repair": "",
            "epsilon_lower": "inf",
            "epsilon_claimed": 1.0,
            "evidence": [
                {
                    "kind": "witness",
                    "tables": [{"title": "T", "columns": ["a", "b"], "rows": [["x|y", 0.123456], [1, None]]}],
                }
            ],
        }
    ],
}


def test_page_is_whole_and_names_no_folder():
    page = render(RUN)
    assert "| [T-1](#t-1) | refuted | witness | infinite / 1 | A \\| B. |" in page
    assert "| x\\|y | 0.1235 |" in page
    assert "| 1 |  |" in page
    assert "Because \\*x\\* \\| y." in page
    assert "/home" not in page
    assert "/tmp" not in page
    assert "--data ml-100k --markdown page.md" in page
