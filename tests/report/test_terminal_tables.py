"""Tables in the terminal: nothing is cut off, numbers and names stay on one line."""

import re

import pytest

from dpassay.core.claims import Claim, Evidence, Verdict
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import Judged
from dpassay.judging.verification import Run
from dpassay.report.terminal import LONGEST_LINE, TABLE_WIDTH, print_tables, print_verdicts

COLUMNS = ["mechanism", *(f"bound number {place}" for place in range(20)), "remark"]
REMARK = "bar above the best possible; " * 6
TABLE = {
    "title": "t",
    "columns": COLUMNS,
    "rows": [["ReportNoisyMax1", *[0.0123456] * 20, REMARK], ["SVT5", *[64] * 20, ""]],
}


def test_a_log_has_no_width_to_fit(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([TABLE])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:21] == ["ReportNoisyMax1", *["0.01235"] * 20] for line in lines)
    assert any(line.split() == ["SVT5", *["64"] * 20] for line in lines)
    start = next(line for line in lines if "remark" in line).index("remark")
    said = [line[start:].strip() for line in lines]
    assert " ".join(filter(None, said)).endswith(REMARK.strip())
    assert max(len(line) for line in said if line.startswith("bar")) <= LONGEST_LINE


def test_a_narrow_terminal_folds_what_it_cannot_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    columns = ["mechanism", *["bound"] * 4, "remark"]
    print_tables([{"title": "t", "columns": columns, "rows": [["ReportNoisyMax1", *[0.0123456] * 4, "q" * 40]]}])
    shown = capsys.readouterr().out
    assert "ReportNoisyMax1" in shown
    assert shown.count("0.01235") == 4
    assert shown.count("q") == 40


@pytest.mark.parametrize("width", [80, TABLE_WIDTH])
def test_verdicts_are_a_table_where_one_fits_and_lines_elsewhere(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    claim = Claim("T-1", "test", "nowhere", "Squares are not negative.", "x^2 >= 0", "nowhere:decide")
    why = "each square is a number times itself and " * 4
    verdict = Verdict("T-1", "refuted", why, evidence=(Evidence("witness", "one"), Evidence("proof", "two")))
    item = Judged(claim, verdict, (), (), (), "holds", 1.0)
    print_verdicts(Run((item,), synthetic(), quick=False, seed=0, seconds=1.0))
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()]
    if width == 80:
        assert lines[0] == "T-1  refuted (expected holds)  witness, proof"
        assert all(line.startswith("    ") for line in lines[1:4])
        assert " ".join(line.strip() for line in lines[1:4]) == why.strip()
    else:
        assert lines[0].split()[:2] == ["claim", "verdict"]
        assert any(line.split()[:4] == ["T-1", "refuted", "(expected", "holds)"] for line in lines)
    assert max(map(len, lines)) <= width
    assert "1 claim of the papers: 1 refuted" in " ".join(lines)
