"""The Markdown page holds every verdict and escapes what would break a table."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from dpassay.benchmarks import fuzz_targets
from dpassay.benchmarks.fuzz_targets import MARK
from dpassay.report.markdown import index, mapping, pages, tables_page
from dpassay.report.plots import plot_file

RUN: dict[str, Any] = {
    "dpassay": "0",
    "seed": 0,
    "command": "dpassay verify --data /home/somebody/ml-100k --markdown /tmp/page.md",
    "data": {"name": "synthetic", "users": 2, "items": 3, "ratings": 4},
    "papers": {"t": "A paper"},
    "notation": {"t": [["s, |S|", "a set {0, ..., d} and its size, sec. 2"]]},
    "claims": {
        "T-1": {
            "id": "T-1",
            "statement": "A | B.",
            "place": "sec. 1",
            "formula": "a | b",
            "predicate": "",
            "data": "",
            "paper": "t",
            "decide": "dpassay.proofs.lemmas:decide",
            "source": "paper",
        }
    },
    "verdicts": [
        {
            "id": "T-1",
            "outcome": "refuted",
            "explanation": "Because *x* | y.",
            "assumptions": ["z"],
            "arithmetic": "ideal",
            "repair": "",
            "level": "whole",
            "misprint": "",
            "rests_on": [],
            "epsilon_lower": "inf",
            "epsilon_claimed": 1.0,
            "certificates": ["T-1-1-witness.json"],
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
    page = pages(RUN)["t"]
    assert "1 claim of the papers: 1 refuted. [What the symbols mean](#notation)." in page
    assert "## Refuted: 1\n\n| claim | level | evidence | loss / claimed (nats) | statement |" in page
    assert "| [T-1](#t-1) | whole | witness | infinite / 1 | A \\| B. |" in page
    assert (
        "## Notation\n\n| symbol | meaning |\n|---|---|\n| s, \\|S\\| | a set \\{0, ..., d} and its size, sec. 2 |"
        in page
    )
    assert page.index("## Refuted") < page.index("## Notation") < page.index("## T-1")
    assert "Certificates: `T-1-1-witness.json`" in page
    assert "<details" not in page
    assert "| x\\|y | 0.1235 |" in page
    assert "| 1 |  |" in page
    assert "Because \\*x\\* \\| y." in page
    assert "/home" not in page
    assert "/tmp" not in page
    assert "--data ml-100k --markdown page.md" in page


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts are."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))
    elif isinstance(value, str):
        yield path


def test_no_text_of_a_result_runs_on_a_page() -> None:
    seen = 0
    for path in places(RUN):
        for text in (MARK, f"`{MARK}", f"```\n\n{MARK}\n", f"x\n```\n{MARK}"):
            run = copy.deepcopy(RUN)
            where = run
            for key in path[:-1]:
                where = where[key]
            where[path[-1]] = text
            if path[-1] in ("id", "paper", "outcome", "level", "source", "decide", "epsilon_lower"):
                continue  # words of ours: a run with others is refused before it is written
            for name, page in {**pages(run), "index": index(run), "map": mapping(run)}.items():
                fuzz_targets._whole(f"{name}.md", page)
                seen += page.count("alert(7)")
    assert seen > 40


def test_notes_stand_below_their_claim():
    (verdict,) = RUN["verdicts"]
    (record,) = verdict["evidence"]
    named = {"file": "T-1-1-witness.json", "concludes": "note", "id": "T-1/edge", "shows": "At p < 1 it is so."}
    page = pages({**RUN, "verdicts": [{**verdict, "evidence": [{**record, "certificate": named}]}]})["t"]
    assert "`T-1-1-witness.json`\n\n- `T-1/edge`: At p &lt; 1 it is so." in page


def test_map_names_files_that_exist_for_every_registered_claim():
    from dpassay.core.registry import all_claims

    assert "| T-1 | paper | sec. 1 | proofs/lemmas.py | decide | refuted | witness |" in mapping(RUN)
    root = Path(__file__).parents[2]
    claims = {
        claim.id: {"id": claim.id, "paper": "t", "place": claim.place, "decide": claim.decide, "source": claim.source}
        for claim in all_claims()
    }
    verdicts = [{"id": name, "outcome": "open", "misprint": "", "evidence": []} for name in claims]
    rows = mapping({**RUN, "claims": claims, "verdicts": verdicts}).splitlines()
    files = {row.split(" | ")[3] for row in rows if row.startswith("| ") and ".py" in row}
    assert files
    assert [file for file in files if not (root / file).is_file()] == []


def test_loss_without_a_claimed_one_stands_alone():
    run: dict[str, Any] = copy.deepcopy(RUN)
    run["verdicts"][0]["epsilon_claimed"] = None
    page = pages(run)["t"]
    assert "| witness | infinite | A" in page


def test_a_long_table_is_folded_away() -> None:
    run: dict[str, Any] = copy.deepcopy(RUN)
    run["verdicts"][0]["evidence"][0]["tables"][0] |= {"title": "a < b", "rows": [[row, "~x~"] for row in range(13)]}
    page = pages(run)["t"]
    assert '<details markdown="1">\n<summary>a &lt; b (13 rows)</summary>\n\n| a | b |\n' in page
    assert page.count("| &#126;x&#126; |\n") == 13


def test_the_index_links_every_claim_and_says_by_which_command_it_was_made() -> None:
    page = index(RUN)
    assert "Written by `dpassay verify --data ml-100k --markdown page.md`." in page
    assert "| [A paper](t.md) | 1 claim of the papers: 1 refuted |" in page
    assert "| [T-1](t.md#t-1) | paper | sec. 1 | refuted | whole | A \\| B. |" in page


def test_our_claims_and_misprints_stand_apart() -> None:
    run: dict[str, Any] = copy.deepcopy(RUN)
    run["claims"]["T-1-REP"] = run["claims"]["T-1"] | {"id": "T-1-REP", "source": "ours"}
    run["verdicts"][0]["misprint"] = "< stands for <="
    run["verdicts"].append(run["verdicts"][0] | {"id": "T-1-REP", "outcome": "holds", "misprint": ""})
    page = pages(run)["t"]
    assert "1 claim of the papers: 1 refuted (a misprint); 1 of ours: 1 holds." in page
    assert page.index("## Refuted (a misprint): 1") < page.index("## Ours, holds: 1") < page.index("## T-1\n")
    assert "**refuted (a misprint).** Because" in page
    assert "Misprint: &lt; stands for &lt;=." in page
    assert page.count("A claim of ours") == 1
    assert "| refuted (a misprint) | witness |" in mapping(run)


def test_images_stand_above_the_tables() -> None:
    page = tables_page(
        "Experiment t", [{"title": "T", "columns": ["a"], "rows": [[1]]}], "", {"t-1.svg": "Error | [x]"}
    )
    assert page.index("](t-1.svg)") < page.index("**T**")


def test_a_plot_is_a_whole_file_with_its_key() -> None:
    series = [{"label": "PPNS & co <1>", "x": [0.1, 1], "y": [1, 0.5]}, {"label": "kNN", "x": [0.1, 1], "y": [1, None]}]
    drawn = plot_file({"title": "Error & loss", "x_label": "epsilon", "y_label": "MAE", "series": series})
    root = ET.fromstring(drawn)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Error & loss", "PPNS & co <1>", "kNN", "epsilon", "MAE"} <= set(texts)
    assert "--series-1: #" in drawn  # the colors travel with the file
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
