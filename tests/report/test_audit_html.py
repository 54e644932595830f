"""The report of audits: complete, self-contained, well formed, and it never calls a mechanism private."""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpassay.report import audit_text
from dpassay.report.audit_html import render_audits
from dpassay.report.plots import render_plot, render_sandwich

FILE = Path(__file__).with_name("audits.json")
CONTENT = json.loads(FILE.read_text(encoding="utf-8"))
HOSTILE = "</style></script><script>alert(1)</script><img src=x onerror=alert(1)> & {{ 7*7 }} 数 \u202egnp.exe \x00"


def audit(index: int = 0, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(CONTENT["audits"][index]), **changes}


@pytest.fixture(scope="module")
def text() -> str:
    return render_audits(CONTENT)


def words(source: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", source).split())


def section(text: str, index: int) -> str:
    start = text.index(f'<section class="audit" id="audit-{index}"')
    end = text.find('<section class="audit"', start + 1)
    return text[start : end if end > 0 else text.index('<section class="legend"')]


def test_nothing_is_loaded_from_outside_and_no_script_runs(parse: Callable[[str], Any], text: str) -> None:
    page = parse(text)
    (policy,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert not [tag for tag, _ in page.elements if tag in ("script", "link", "img", "iframe", "object", "base", "form")]
    targets = [a[name] for _, a in page.elements for name in ("href", "src") if name in a]
    assert targets
    assert all(target.startswith("#") for target in targets)
    assert "url(http" not in text
    assert "@import" not in text


def test_links_lead_somewhere_and_ids_are_unique(parse: Callable[[str], Any], text: str) -> None:
    elements = parse(text).elements
    ids = [a["id"] for _, a in elements if "id" in a]
    assert len(set(ids)) == len(ids)
    assert {a["href"][1:] for _, a in elements if "href" in a} <= set(ids)


def test_the_top_counts_the_outcomes_and_leads_to_each_audit(text: str) -> None:
    assert "<h1>4 audits: 2 refuted, 1 not refuted, 1 open</h1>" in text
    for index, one in enumerate(CONTENT["audits"], start=1):
        assert f'<a href="#audit-{index}">{audit_text.title(one)}</a>' in text


def test_a_section_has_the_numbers_of_the_json(text: str) -> None:
    said = words(section(text, 1))
    one = audit()
    event = one["events"][0]
    for value in (one["parameter_lower"], one["failure_probability"]):
        assert audit_text.number(value) in said
    assert "if its probability is below 7.1e-06, or" in words(section(text, 2))
    assert "What this run could not have seen" not in said  # it saw enough
    assert f"{event['count1']:,} of {event['samples1']:,}" in said
    assert f"{event['count2']:,} of {event['samples2']:,}" in said
    assert "shop/release.py" in said
    assert one["command"] in said
    assert "Seed 7" in said
    assert "exact, certified 1.93123 yes" in said


def test_a_picture_is_the_headline_and_said_to_be_no_evidence() -> None:
    learned = audit()["events"][0] | {"description": "product of histograms over 3 columns, score < -3"}
    simple = learned | {"description": "output['m']['income'] >= 16.76", "count1": 7, "samples1": 500, "p_value": None}
    text = render_audits(audit(events=[learned], picture=simple))
    box = words(text[text.index('<div class="finding') : text.index('<div class="audit-grid">')])
    assert "output[&#39;m&#39;][&#39;income&#39;] &gt;= 16.76 7 of 500 samples of dataset 1 (0.014) and" in box
    assert "no evidence; what the verdict rests on stands under Evidence" in box
    assert "product" not in box
    evidence = words(text[text.index("<h3>Evidence</h3>") :])
    assert evidence.startswith("Evidence product of histograms over 3 columns, score &lt; -3 :")
    assert "16.76" not in evidence
    plain = render_audits(audit(events=[simple]))
    assert "no evidence" not in plain
    assert "16.76" in plain[plain.index('<div class="finding') : plain.index('<div class="audit-grid">')]


def test_numbers_of_the_event_table_are_short() -> None:
    event = audit()["events"][0] | {"weight": 0.1839685, "log_e_value": 4.526962, "p_value": None}
    text = render_audits(audit(events=[event], mode="anytime"))
    table = text[text.index("Events, counted") :]
    assert "0.184" in table
    assert "4.53" in table
    assert not re.search(r"\d\.\d{5}", table[: table.index("</table>")])


def test_not_refuted_and_open_never_read_as_private(text: str) -> None:
    for index in (2, 4):
        said = words(section(text, index))
        assert "What this run could not have seen" in said
        assert not re.search(r"\bis (differentially )?private\b", said)
    assert "does not show the mechanism private" in words(section(text, 2))
    assert "would have been caught with probability 0.9" in words(section(text, 2))
    assert "No violation of 0.3-GDP, however large, would have been caught" in words(section(text, 4))


def test_the_ledger_the_warning_and_the_infinite_loss_are_told(text: str) -> None:
    assert "ci.sqlite: 11 runs, together evidence of -1.73 nats; 2.99573 nats refute" in words(section(text, 2))
    assert "Warning: the sampler took 12 us a call" in words(section(text, 3))
    assert "epsilon is infinite" in words(section(text, 3))


def test_the_events_table_of_the_audit_is_not_shown_twice() -> None:
    table = {"title": "Events and how often", "columns": ["event", "dataset 1"], "rows": [["x", 3]]}
    other = {"title": "Other tests", "columns": ["test"], "rows": [["score"]]}
    page = render_audits(audit(tables=[table, other]))
    assert "Events and how often" not in page
    assert "Other tests" in page


def test_a_curve_and_several_pairs_have_columns_of_their_own() -> None:
    one = audit(1)
    assert "judged at" not in render_audits(one)
    one["events"][1] |= {"pair": 1, "delta": 1e-5}
    page = words(render_audits(one))
    assert "judged at (epsilon, delta)" in page
    assert "(1, 1e-05)" in page


def test_hostile_text_stays_text(parse: Callable[[str], Any]) -> None:
    one = audit(name=HOSTILE, mechanism=HOSTILE, command=HOSTILE, dataset1=HOSTILE, warnings=[HOSTILE])
    one["events"][0]["description"] = one["verdict"]["explanation"] = one["claim"]["text"] = HOSTILE
    one["plots"][0]["title"] = one["plots"][0]["shaded"][0]["label"] = HOSTILE
    one["location"] = {"file": HOSTILE, "line": 1}
    page = render_audits(one)
    parse(page)
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "{{ 7*7 }}" in page


def test_equal_audits_give_equal_bytes_in_another_process(text: str) -> None:
    program = (
        "import json, sys; from dpassay.report.audit_html import render_audits; "
        "sys.stdout.buffer.write(render_audits(json.load(sys.stdin)).encode())"
    )
    run = subprocess.run([sys.executable, "-c", program], input=FILE.read_bytes(), check=True, capture_output=True)
    assert run.stdout.decode() == text


def test_no_audit_is_said_to_be_none() -> None:
    assert "No audit was made" in render_audits({"format": "dpassay-audits", "version": 1, "audits": []})


@pytest.mark.parametrize("claim", [1.0, "inf"])
@pytest.mark.parametrize("lower", [None, 0.0, 1.7, "inf"])
def test_the_sandwich_shows_what_is_known(parse: Callable[[str], Any], lower: Any, claim: Any) -> None:
    drawing = str(render_sandwich({"lower": lower, "exact": None, "upper": 2.0, "claim": claim}, "epsilon", "s"))
    parse(drawing)
    assert ("shown, at least" in drawing) == (lower is not None)
    assert ("var(--refuted)" in drawing) == (claim == 1.0 and lower in (1.7, "inf"))
    assert ("claim 1" in drawing) == (claim == 1.0)
    assert "exact value" not in drawing


def test_marks_and_shaded_ranges_are_drawn_and_scales_may_be_logarithmic() -> None:
    plot = audit()["plots"][0]
    plain = {key: plot[key] for key in ("title", "x_label", "y_label", "series")}
    assert ">the event</text>" in render_plot(plot, "p")
    assert ">the event</text>" not in render_plot(plain, "p")
    marked = {**plain, "marks": [{"axis": "y", "at": 0.2, "label": "refutes"}, {"axis": "x", "at": 1, "label": "cut"}]}
    assert "refutes" in render_plot(marked, "p")
    assert "cut" in render_plot(marked, "p")
    assert render_plot({**plain, "y_scale": "log"}, "p") != render_plot(plain, "p")
