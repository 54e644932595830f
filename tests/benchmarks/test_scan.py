"""The tables of scans: public issues are told from what is reported privately, and controls that are accused show."""

import dataclasses
import json
from pathlib import Path

import pytest

from dpassay.benchmarks import scan_controls, scan_packages
from dpassay.benchmarks.scan import tables
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim


def finding(name: str, outcome: str = "violated") -> dict[str, str]:
    return {"name": name, "outcome": outcome, "engine": "audit of a pair"}


PUBLIC = finding("dp_accounting.rdp.RdpAccountant, replace_one: GaussianDpEvent(1.0)")


def test_public_issues_are_told_from_other_findings() -> None:
    judged = [PUBLIC, finding("dp_accounting.secret"), finding("dp_accounting.sound", "holds")]
    public, private = scan_packages.sorted_out("dp_accounting", judged)
    assert public == {"google/differential-privacy#378"}
    assert private == 1
    assert scan_packages.sorted_out("opendp", judged) == (set(), 2)


def test_no_row_tells_a_private_finding_from_a_sound_claim() -> None:
    rows = []
    for outcome in ("violated", "not refuted"):
        judged = [PUBLIC, finding("dp_accounting.secret", outcome)]
        content = {"judged": judged, "not_judged": [], "files": 3, "package_version": "1"}
        public, _ = scan_packages.sorted_out("dp_accounting", judged)
        rows.append(scan_packages.row("dp_accounting", content, public, 1.0))
    assert rows[0] == rows[1]
    assert "secret" not in json.dumps(rows)
    assert rows[0][-1] == "ok"


@pytest.mark.parametrize(
    ("judged", "seconds", "verdict"),
    [([], 1.0, "FAIL"), ([PUBLIC], 61.0, "FAIL"), ([PUBLIC], 59.0, "ok")],
    ids=["missed", "late", "good"],
)
def test_a_missed_issue_and_a_late_scan_fail(judged: list, seconds: float, verdict: str) -> None:
    content = {"judged": judged, "not_judged": [], "files": 3, "package_version": "1"}
    public, _ = scan_packages.sorted_out("dp_accounting", judged)
    assert scan_packages.row("dp_accounting", content, public, seconds)[-1] == verdict


def test_every_issue_is_about_a_package_that_is_scanned() -> None:
    assert {issue.package for issue in scan_packages.ISSUES} <= set(scan_packages.REQUIREMENTS)
    assert len(scan_packages.REQUIREMENTS) >= 12
    assert all("==" in each for each in scan_packages.REQUIREMENTS.values())


def test_issues_of_opendp_name_what_is_listed() -> None:
    pytest.importorskip("opendp")
    from dpassay.scanning.libraries import candidates

    names = [each.name for each in candidates("opendp")]
    issues = [issue for issue in scan_packages.ISSUES if issue.package == "opendp"]
    assert all(any(name.startswith(issue.name) for name in names) for issue in issues)


def test_packages_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--environments"):
        tables(parts=["packages"])
    with pytest.raises(InvalidInput, match="no part is called 'other'"):
        tables(parts=["other"])


def test_controls_are_there_and_one_that_breaks_its_claim_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("opendp", "dp_accounting"):
        pytest.importorskip(library)
    listed = list(scan_controls.listed())
    for part in (
        "make_laplace(",
        "make_gaussian(",
        "make_randomized_response(",
        "PLDAccountant",
        ".randomized_response(",
    ):
        assert any(part in each.name for each in listed), part
    sound = next(each for each in listed if "make_randomized_response_bool" in each.name)
    broken = dataclasses.replace(sound, name="broken", claim=PrivacyClaim(0.2))
    monkeypatch.setattr(scan_controls, "listed", lambda: iter([sound, broken]))
    monkeypatch.setattr(scan_controls, "LEAST", 0.5)
    (table,) = scan_controls.controls(3, lambda _: None)
    assert [row[-1] for row in table.rows] == ["ok", "FAIL"]
