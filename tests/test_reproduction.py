"""The page on reproduction says of every accuracy claim what came out, and says what the reviewed verdicts say."""

import json
import re
from pathlib import Path

import pytest

import dpassay
from dpassay.core.claims import Claim
from dpassay.core.registry import all_claims

PAGE = Path(__file__).parents[1] / "docs/experiments/reproduction.md"
EXPECTED = json.loads((Path(dpassay.__file__).parent / "core/expected_verdicts.json").read_text())
VERDICTS = "holds|refuted|vacuous|open"


def told(page: str) -> dict[str, str]:
    """Claim -> the verdict in its row."""
    rows = [line.split("|") for line in page.splitlines() if re.search(rf"\| ({VERDICTS}) \|", line)]
    return {claim: row[3].strip() for row in rows for claim in re.findall(r"\[([A-Z0-9-]+)\]", row[1])}


def accuracy_claims() -> list[Claim]:
    deciders = ("ppns.tables", "ppns.findings", "rating_collection.utility", "pricdr.printed_table", "pricdr.questions")
    return [claim for claim in all_claims() if claim.decide.split(":")[0].endswith(deciders)]


def test_page_and_reviewed_verdicts_agree() -> None:
    page = PAGE.read_text()
    reviewed = {claim.id: EXPECTED[claim.id][claim.data] for claim in accuracy_claims()}
    assert len(reviewed) > 20
    assert told(page) == reviewed
    assert told(page.replace("| refuted |", "| holds |")) != reviewed  # the comparison can fail


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", PAGE.read_text()))
def test_links_lead_somewhere(link: str) -> None:
    page, _, anchor = link.partition("#")
    target = PAGE.parent / page
    assert target.is_file()
    assert not anchor or re.search(rf"^## {anchor}$", target.read_text(), re.MULTILINE | re.IGNORECASE)
