"""The report: complete, self-contained, well formed, safe against hostile text, and the same for the same run."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

import dpassay.report.html as report
from dpassay.core.claims import OUTCOMES, SOURCES, EvidenceKind
from dpassay.core.errors import InvalidInput
from dpassay.core.text import nats, probability
from dpassay.report import summary, validate_run
from dpassay.report.html import render
from dpassay.report.mathml import mathml
from dpassay.report.plots import render_plot

Builder = Callable[[], dict[str, Any]]
Parse = Callable[[str], Any]

HOSTILE = (
    "</script></style><script>alert('x\"y')</script><img src=x onerror=alert(1)> & {{ 7*7 }} 数 \u202egnp.exe \x00"
)


@pytest.fixture(scope="module")
def text(example_run: Builder) -> str:
    return render(example_run())


@pytest.fixture(scope="module")
def page(text: str, parse: Parse) -> Any:
    return parse(text)


def section(text: str, claim: str) -> str:
    """The source of one claim's section."""
    start = text.index(f'<section class="claim" id="{claim}"')
    end = text.find('<section class="claim"', start + 1)
    return text[start : end if end > 0 else text.index("</main>")]


def words(source: str) -> str:
    """The text between the tags, with single spaces."""
    return " ".join(re.sub(r"<[^>]*>", " ", source).replace("&#39;", "'").replace("&#34;", '"').split())


def small(run: dict[str, Any], *claims: str) -> dict[str, Any]:
    """The run with these claims only."""
    run["claims"] = {claim: run["claims"][claim] for claim in claims}
    run["verdicts"] = [verdict for verdict in run["verdicts"] if verdict["id"] in claims]
    return run


def test_the_example_covers_every_outcome_and_kind_of_evidence(example_run: Builder) -> None:
    verdicts = example_run()["verdicts"]
    assert {verdict["outcome"] for verdict in verdicts} == set(OUTCOMES)
    assert {record["kind"] for verdict in verdicts for record in verdict["evidence"]} == set(get_args(EvidenceKind))


def test_each_claim_has_a_section_of_its_own_with_what_was_decided(page: Any, text: str, example_run: Builder) -> None:
    run = example_run()
    assert [a["id"] for a in page.all("section", **{"class": "claim"})] == [v["id"] for v in run["verdicts"]]
    for verdict in run["verdicts"]:
        shown, claim = words(section(text, verdict["id"])), run["claims"][verdict["id"]]
        unescaped = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        for part in (claim["statement"], claim["place"], claim["predicate"], verdict["outcome"]):
            assert part in unescaped
        assert mathml(claim["formula"], "block") in section(text, verdict["id"])
        for part in (*verdict["assumptions"], *verdict["certificates"]):
            assert part in unescaped


def test_the_content_of_every_certificate_is_shown(text: str, page: Any, example_run: Builder) -> None:
    run = example_run()
    number = sum(len(verdict["certificates"]) for verdict in run["verdicts"])
    assert len(page.all("details", **{"class": "certificate"})) == number > 40
    shown = words(section(text, "PP-DP"))
    assert "Certificate PP-DP-0.json , which concludes: refuted certainly true a &lt; b b &lt; c first dataset" in shown


def test_a_note_is_shown_by_its_id_and_statement(example_run: Builder) -> None:
    run = small(example_run(), "PP-DP")
    named = {"id": "PP-DP/edge", "shows": "At p < 1 it is so."}
    run["verdicts"][0]["evidence"][0]["certificate"] |= {"concludes": "note", **named}
    validate_run(run)
    shown = words(render(run))
    assert "Certificate PP-DP-0.json , which shows PP-DP/edge At p &lt; 1 it is so. certainly true" in shown


def test_symbols_are_explained_once_for_each_paper_and_each_claim_leads_there(text: str, page: Any) -> None:
    (notation,) = [details for details in page.all("details") if details.get("id", "").startswith("notation-")]
    assert notation["id"] == "notation-ppns"
    before = text[: text.index('<section class="claim"')]
    assert f"{mathml('s_k, |S|')}</th><td>a similarity, a size</td>" in before
    claims = page.all("section", **{"class": "claim"})
    assert len([a for a in page.all("a") if a.get("href") == "#notation-ppns"]) == len(claims)


def test_a_run_written_before_certificates_and_notation_were_shown_is_rendered(example_run: Builder) -> None:
    run = small(example_run(), "PP-DP")
    del run["notation"]
    for record in run["verdicts"][0]["evidence"]:
        del record["certificate"]
    assert "dpassay replay certificates/PP-DP-0.json" in words(render(run))


def test_the_top_says_what_differs_and_how_to_repeat_and_recheck(text: str, example_run: Builder) -> None:
    top = words(text[: text.index('<section class="claim"')])
    run = example_run()
    reviewed = sum(verdict["expected"] is not None for verdict in run["verdicts"])
    assert run["command"] in top
    assert "dpassay replay certificates/*.json" in top
    assert f"2 of {reviewed} verdicts differ from the reviewed expected ones: PP-COST , PP-L2 . 2 more have" in top
    assert "943 users, 1,682 items, 100,000 ratings" in top


def test_links_lead_somewhere_and_ids_are_unique(page: Any) -> None:
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    targets = [a["href"] for _, a in page.elements if "href" in a]
    assert len(targets) > 100
    assert [target for target in targets if not target.startswith("#") or target[1:] not in ids] == []
    for _, attributes in page.elements:
        for name in ("aria-labelledby",):
            assert set(attributes.get(name, "").split()) <= set(ids)


def test_nothing_is_loaded_from_outside(page: Any, text: str) -> None:
    assert re.findall(r"(?:https?|ftp|file):|@import|@font-face", text) == []
    assert [a for _, a in page.elements if "src" in a or "srcset" in a or "xmlns" in a] == []
    assert re.findall(r"url\((?!#)", text) == []
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert "default-src 'none'" in policy["content"]


def test_the_filters_offer_each_choice_and_each_row_carries_its_values(page: Any, example_run: Builder) -> None:
    run = example_run()
    names = {a["name"] for tag, a in page.elements if tag in ("select", "input")}
    assert names == {"outcome", "source", "paper", "evidence", "text", "differs"}
    options = {a["value"] for a in page.all("option")}
    assert options == {"", "ppns", *SOURCES, *OUTCOMES, *get_args(EvidenceKind)}
    rows = page.all("tr", **{"class": "row"})
    assert [row["data-outcome"] for row in rows] == [verdict["outcome"] for verdict in run["verdicts"]]
    assert [row["data-source"] for row in rows] == [run["claims"][v["id"]]["source"] for v in run["verdicts"]]
    assert sum(row["data-differs"] == "yes" for row in rows) == 2


def test_our_claims_and_misprints_are_counted_apart(example_run: Builder) -> None:
    run = small(example_run(), "PP-DP", "PP-EM", "PP-DP-REP")
    run["verdicts"][0]["misprint"] = "< stands for <="
    text = render(run)
    top = words(text[: text.index('<section class="claim"')])
    assert summary.tally(run["claims"], run["verdicts"]) in top
    assert "2 claims of the papers" in top
    assert "1 claim of ours" in top
    first, *others = [words(section(text, verdict["id"])) for verdict in run["verdicts"]]
    assert "(a misprint)" in first
    assert "Misprint. &lt; stands for &lt;=" in first
    assert not any("isprint" in other for other in others)


def test_without_the_script_nothing_is_hidden_but_the_filters(page: Any) -> None:
    hidden = [a.get("id") for _, a in page.elements if "hidden" in a or "away" in a.get("class", "").split()]
    assert hidden == ["filters", "nothing"]


def test_the_policy_names_the_script_that_is_there(page: Any) -> None:
    import base64
    import hashlib

    (script,) = page.text_in["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert f"script-src 'sha256-{digest}'" in policy["content"]


def test_a_witness_shows_the_changed_cell_the_target_and_both_probabilities(text: str) -> None:
    shown = words(section(text, "PP-DP"))
    assert "the rating of item 2 by user 2, 4 in the first dataset, is missing in the second" in shown
    assert "user 2 5 4 &rarr; missing 1" in shown
    assert "user 0 target 5 3 1" in shown
    assert "the released neighbors are user 1 and user 3" in shown
    assert "first 0.2871 -1.24792 second impossible -inf" in shown
    assert "claimed, at most 1 2.718 shown infinite no bound" in shown
    assert "no finite epsilon allows that" in shown
    assert section(text, "PP-DP").count('class="changed"') == 1


def test_a_witness_of_a_whole_user_marks_each_of_its_ratings(text: str) -> None:
    source = section(text, "PP-PNCF-NOT")
    assert source.count('class="changed"') == 3
    assert "user 1, present in the first dataset, is absent from the second" in words(source)
    assert "On the first dataset the event is certain, on the second it cannot happen" in words(source)


def test_a_finite_loss_says_what_the_claim_would_need(text: str) -> None:
    # (0.9 - 1e-5) / e^0.5 = 0.54587
    assert "differential privacy would need at least 0.5459 there" in words(section(text, "PP-EM"))


def test_a_pair_that_the_claim_allows_is_not_called_a_violation(example_run: Builder) -> None:
    run = small(example_run(), "PP-EM")
    run["verdicts"][0]["witness"] |= {"log_probability2": math.log(0.8), "epsilon": math.log((0.9 - 1e-5) / 0.8)}
    shown = words(render(run))
    assert "differential privacy allows this" in shown
    assert "would need at least" not in shown


def test_mentions_of_other_claims_are_links_and_of_the_claim_itself_are_not(text: str) -> None:
    source = section(text, "PP-DP")
    explanation = source[source.index('class="explanation"') : source.index('class="facts"')]
    assert re.findall(r'href="#([^"]*)"', explanation) == ["PP-MARG", "PP-DP-REP", "PP-DP-REP"]


def test_plots_have_titles_descriptions_and_keys(text: str, page: Any) -> None:
    source = section(text, "PP-TAB1")
    assert source.count('class="plot"') == 2
    assert "<title" in source
    assert "kNN: 9 points from" in words(source)
    assert source.count('class="key"') == 6
    assert len(page.all("svg", role="img")) == 3


def test_plots_take_their_colors_from_the_scheme(text: str) -> None:
    drawings = re.findall(r'<svg class="plot".*?</svg>', text, flags=re.DOTALL)
    assert len(drawings) == 3
    for drawing in drawings:
        assert "var(--series-1)" in drawing
        assert re.findall(r"(?:fill|stroke): #(?!ffffff)[0-9a-f]+", drawing) == []


def test_equal_runs_give_equal_bytes_in_another_process(example_run: Builder) -> None:
    import json

    run = small(example_run(), "PP-TAB1")
    program = "import json, sys; from dpassay.report.html import render; print(render(json.load(sys.stdin)), end='')"
    other = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(run),
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONHASHSEED": "1", "PYTHONUTF8": "1", "PYTHONPATH": ":".join(sys.path)},
    )
    assert render(run) == other.stdout


def test_hostile_text_stays_text(parse: Parse, example_run: Builder) -> None:
    run = small(example_run(), "PP-TAB1")
    witness = next(v for v in example_run()["verdicts"] if v["id"] == "PP-DP")["witness"]
    witness["mechanism"] = {"id": HOSTILE, "variant": HOSTILE, "parameters": {HOSTILE: HOSTILE, "list": [HOSTILE]}}
    witness |= {"event": [HOSTILE, [HOSTILE]], "notes": [HOSTILE]}
    (verdict,) = run["verdicts"]
    verdict |= {"explanation": HOSTILE, "repair": HOSTILE, "dataset": HOSTILE, "assumptions": [HOSTILE]}
    verdict |= {"certificates": [f"a b/{HOSTILE}.json"], "witness": witness}
    for record in verdict["evidence"]:
        record["summary"] = HOSTILE
        for table in record["tables"]:
            table |= {"title": HOSTILE, "columns": [HOSTILE] * 6, "rows": [[HOSTILE] * 6]}
        for plot in record["plots"]:
            plot |= {"title": HOSTILE, "x_label": f"$\\frac{{{HOSTILE}", "y_label": HOSTILE}
            for series in plot["series"]:
                series |= {"label": f"_{HOSTILE}", "x": [HOSTILE, *map(str, series["x"][1:])]}
    run["claims"]["PP-TAB1"] |= dict.fromkeys(("paper", "place", "statement", "formula", "predicate", "data"), HOSTILE)
    run["data"] |= {"name": HOSTILE, "fingerprint": HOSTILE}
    run |= {"command": HOSTILE, "papers": {HOSTILE: HOSTILE}, "dpassay": HOSTILE}

    text = render(run)
    page = parse(text)
    assert text.count("<script") == text.count("</script") == 1
    assert page.all("img") == []
    assert [name for _, a in page.elements for name in a if name.startswith("on")] == []
    assert "49" not in words(text.split("</style>")[1].split("<script>")[0]).replace("{{ 7*7 }}", "").split()
    assert "{{ 7*7 }}" in text
    assert "数" in text
    assert not re.search("[\x00\u202e]", text)


def test_papers_are_groups_when_there_are_several(parse: Parse, example_run: Builder) -> None:
    run = example_run()
    run["claims"]["PP-DP"]["paper"] = "other"
    page = parse(render(run))
    assert len(page.all("tr", **{"class": "group"})) == 2
    assert {row["data-paper"] for row in page.all("tr", **{"class": "row"})} == {"ppns", "other"}


def test_a_run_without_verdicts_lists_what_was_not_judged(example_run: Builder) -> None:
    run = small(example_run(), "PP-DP")
    run["verdicts"] = []
    shown = words(render(run))
    assert "1 claim not judged in this run: PP-DP." in shown
    assert "This run wrote no certificate files" in shown


def test_an_unreadable_run_is_refused(example_run: Builder) -> None:
    with pytest.raises(InvalidInput, match=r"version: 1 was expected"):
        render(example_run() | {"version": 2})


@pytest.mark.parametrize(
    ("log_probability", "shown"),
    [
        ("-inf", "impossible"),
        (0.0, "certain"),
        (-1e-12, "1 - 1e-12"),
        (math.log(0.5), "0.5"),
        (math.log(2 / 3), "0.6667"),
        (math.log(1.25e-7), "1.25×10⁻⁷"),
        (math.log(9.999e-8), "1×10⁻⁷"),
        (-1000 * math.log(10), "1×10⁻¹⁰⁰⁰"),
    ],
)
def test_probabilities_in_words(log_probability: float | str, shown: str) -> None:
    assert probability(log_probability) == shown


@pytest.mark.parametrize(
    ("epsilon", "loss", "factor"),
    [("inf", "infinite", "no bound"), (0, "0", "1"), (1.0, "1", "2.718"), (10.0, "10", "22,026"), (None, "", "")],
)
def test_losses_in_words(epsilon: float | str | None, loss: str, factor: str) -> None:
    assert (nats(epsilon), report.factor(epsilon)) == (loss, factor)


def test_durations_in_words() -> None:
    assert [report.duration(s) for s in (0.034, 9.4, 59, 60, 3599, 7265)] == [
        "0.034 s", "9.4 s", "59 s", "1 min 0 s", "59 min 59 s", "2 h 1 min",
    ]  # fmt: skip


def test_columns_of_floats_have_equal_decimals_and_lose_no_digit() -> None:
    table = {"title": "", "columns": ["a", "b", "c"], "rows": [[0.5, 1e-9, "x"], [0.125, 2.0, 3], [None, True, 4]]}
    shown = report.page_table(table)
    assert shown["rows"] == [["0.500", "1e-09", "x"], ["0.125", "2", "3"], ["–", "yes", "4"]]
    assert shown["numeric"] == [True, False, False]


def test_colors_have_enough_contrast_in_both_schemes() -> None:
    style = (Path(report.__file__).parent / "style.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in style.split("@media")[:2])
    for scheme in (light, light | dark):
        for ground in ("page", "panel"):
            for name in ("ink", "ink-soft", "link", *(outcome.replace(" ", "-") for outcome in OUTCOMES)):
                assert contrast(scheme[name], scheme[ground]) >= 4.5, (name, ground)
        for index in range(1, 7):
            assert contrast(scheme[f"series-{index}"], scheme["page"]) >= 3
        assert contrast(scheme["ink"], scheme["mark"]) >= 4.5


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colors (WCAG 2.2)."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_logarithmic_axes_show_plain_numbers() -> None:
    series = [{"label": "a", "x": [1e-3, 1, 1000], "y": [0.1, 0.2, 0.5]}]
    plot = {"title": "t", "x_label": "x", "y_label": "y", "x_scale": "log", "series": series}
    drawn = render_plot(plot, "p")
    assert ">0.001<" in drawn
    assert "mathdefault" not in drawn
    assert ">0.002<" not in drawn  # six decades need no more than the powers of 10
    short = [{"label": "a", "x": [3, 60], "y": [0.1, 0.5]}]
    drawn = render_plot({**plot, "series": short}, "p")
    for value in (5, 10, 20, 50):
        assert f">{value}<" in drawn
    assert ">30<" not in drawn
