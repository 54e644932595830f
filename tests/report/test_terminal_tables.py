"""Tables in the terminal: nothing is cut off, numbers and names stay on one line."""

import pytest

from dpassay.report.terminal import LONGEST_LINE, print_tables

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
