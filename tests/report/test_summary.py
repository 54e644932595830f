"""What a run comes to in a few numbers and sentences."""

from collections.abc import Callable
from typing import Any

import pytest

from dpassay.core.claims import OUTCOMES
from dpassay.report import summary

Builder = Callable[[], dict[str, Any]]


def test_counts_are_complete_and_in_order(example_run: Builder) -> None:
    counts = summary.counts(example_run()["verdicts"])
    assert tuple(counts) == OUTCOMES
    assert sum(counts.values()) == len(example_run()["verdicts"])
    assert summary.counts([]) == dict.fromkeys(OUTCOMES, 0)


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], ""),
        ([("ours", "holds", "")], "1 of ours: 1 holds"),
        (
            [("paper", "refuted", ""), ("ours", "refuted", ""), ("paper", "refuted", "x"), ("paper", "holds", "")],
            "3 claims of the papers: 1 holds, 1 refuted, 1 refuted (a misprint); 1 of ours: 1 refuted",
        ),
        ([("paper", "vacuous", "x")], "1 claim of the papers: 1 vacuous (a misprint)"),
    ],
)
def test_tally_counts_our_claims_and_misprints_apart(verdicts: list[tuple[str, str, str]], sentence: str) -> None:
    claims = {f"C{n}": {"source": source} for n, (source, _, _) in enumerate(verdicts)}
    listed = [{"id": f"C{n}", "outcome": o, "misprint": m} for n, (_, o, m) in enumerate(verdicts)]
    assert summary.tally(claims, listed) == sentence


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([], "No verdict of this run has a reviewed expectation to compare with."),
        ([("holds", None)], "No verdict of this run has a reviewed expectation to compare with."),
        ([("holds", "holds")], "0 of 1 verdicts differ from the reviewed expected ones."),
        (
            [("holds", "open"), ("open", None)],
            "1 of 1 verdicts differs from the reviewed expected ones: C0. 1 more has no reviewed expectation.",
        ),
        ([("holds", "open"), ("open", "holds")], "2 of 2 verdicts differ from the reviewed expected ones: C0, C1."),
    ],
)
def test_agreement_counts_what_differs(pairs: list[tuple[str, str | None]], sentence: str) -> None:
    verdicts = [
        {"id": f"C{n}", "outcome": outcome, "expected": expected} for n, (outcome, expected) in enumerate(pairs)
    ]
    assert summary.agreement({"verdicts": verdicts}) == sentence


def test_datasets_tell_what_was_not_judged(example_run: Builder) -> None:
    run = example_run()
    found = dict(summary.datasets(run))
    assert sum(found.values()) == len(run["verdicts"])
    assert set(found) == {"no ratings needed", "movielens-100k", "not judged: needs movielens-100k"}


@pytest.mark.parametrize(
    ("command", "files", "expected"),
    [
        ("dpassay verify --certificates out", ["a.json", "b.json"], "dpassay replay out/*.json"),
        ("dpassay verify --certificates='o t'", ["a.json"], "dpassay replay 'o t'/*.json"),
        ("dpassay verify --html report.html", ["a.json"], ""),
        ("dpassay verify", ["x/a.json"], "dpassay replay x/*.json"),
        ("dpassay verify --certificates out", ["x/a.json", "y/b.json"], "dpassay replay x/*.json y/*.json"),
        ("dpassay verify --name 'unclosed", ["a.json"], ""),
        ("dpassay verify --certificates out", [], ""),
    ],
)
def test_the_replay_command_finds_the_folder(command: str, files: list[str], expected: str) -> None:
    assert summary.replay_command({"command": command, "verdicts": [{"certificates": files}]}) == expected


def test_the_replay_command_of_one_claim_quotes_its_files() -> None:
    run = {"command": "dpassay verify --certificates out", "verdicts": []}
    assert summary.replay_command(run, ["a.json", "b c.json"]) == "dpassay replay out/a.json 'out/b c.json'"
    assert summary.replay_command(run, []) == ""
