"""The explicit list of papers and claims, and the reviewed verdicts on them. Reading it costs no JAX and no solver.

Claims are looked up by name, as their deciders are: they lie beside what decides them, in `dpassay.proofs.<paper>`,
which not every installation has.
"""

import difflib
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from dpassay.core.claims import Claim, Level
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library

_HOMES = {
    "xmap": "dpassay.proofs.xmap.claims",
    "ppns": "dpassay.proofs.ppns.claims",
    "dpp": "dpassay.proofs.dpp.claims",
    "rating-collection": "dpassay.proofs.rating_collection.claims",
    "pricdr": "dpassay.proofs.pricdr.claims",
}


@functools.cache
def papers() -> dict[str, tuple[Claim, ...]]:
    """Paper -> its claims.

    Raises:
        InvalidInput: they are not installed; the message says what to install.
    """
    return {name: library(home).CLAIMS for name, home in _HOMES.items()}


@functools.cache
def titles() -> dict[str, str]:
    """Paper -> its title and authors."""
    return {name: library(home).TITLE for name, home in _HOMES.items()}


@functools.cache
def notation() -> dict[str, tuple[tuple[str, str], ...]]:
    """Paper -> what the symbols of its claims mean: (symbols, meaning)."""
    return {name: library(home).NOTATION for name, home in _HOMES.items()}


def all_claims() -> tuple[Claim, ...]:
    """Every registered claim, in the papers' order."""
    return tuple(claim for claims in papers().values() for claim in claims)


def find_claim(claim_id: str) -> Claim | None:
    """The claim of this id, or None."""
    return next((claim for claim in all_claims() if claim.id == claim_id), None)


def select(paper: str | None = None, claims: list[str] | None = None) -> tuple[Claim, ...]:
    """The claims of one paper, or those named, or all.

    Raises:
        InvalidInput: an unknown paper or claim id.
    """
    if paper is not None and paper not in papers():
        raise InvalidInput(f"no paper is called {paper!r}; choose from {', '.join(papers())}")
    chosen = all_claims() if paper is None else papers()[paper]
    if not claims:
        return chosen
    known = {claim.id for claim in chosen}
    for name in claims:
        if name not in known:
            close = difflib.get_close_matches(name.upper(), sorted(known), cutoff=0.5)
            hint = f"; did you mean {', '.join(close)}" if close else ""
            raise InvalidInput(f"no claim is called {name!r}{hint}; `dpassay verify --list` shows all")
    return tuple(claim for claim in chosen if claim.id in set(claims))


@dataclass(frozen=True)
class Reviewed:
    """One piece of evidence for a claim, as it was reviewed.

    Attributes:
        kind: of certificate.
        says: what it says, in the lines of `dpassay.replay.says`.
        concludes: the outcome that it shows for the claim; "measured" where its numbers decide; "" for a note, which
            shows something beside the claim.
        part: it shows that only together with all other parts.
        id: of a note or a part, "CLAIM/what": by it one cites what stands beside the claim.
        shows: the statement of a note or a part.
    """

    kind: str
    says: tuple[str, ...]
    concludes: str
    part: bool = False
    id: str = ""
    shows: str = ""


@functools.cache
def reviewed_evidence(claim_id: str) -> tuple[Reviewed, ...]:
    """What may be evidence for a claim: nothing else counts, and nothing once the claim reads otherwise."""
    content, claim = reviewed(claim_id), find_claim(claim_id)
    if claim is None or content.get("claim") != claim.digest():
        return ()
    return tuple(Reviewed(**{**entry, "says": tuple(entry["says"])}) for entry in content["evidence"])


def reviewed_level(claim_id: str) -> Level:
    """The reviewed level of the proofs of a claim."""
    level: Level = reviewed(claim_id).get("level", "steps")
    return level


def reviewed(claim_id: str) -> Mapping[str, Any]:
    """What `proofs/<paper>/evidence.json` has on a claim: "claim" (its digest), "evidence" and perhaps "level"."""
    claim = find_claim(claim_id)
    home = None if claim is None else _HOMES.get(claim.paper)
    content: Mapping[str, Any] = {} if home is None else _reviewed(home.rpartition(".")[0]).get(claim_id, {})
    return content


@functools.cache
def _reviewed(package: str) -> Mapping[str, Any]:
    file = resources.files(package).joinpath("evidence.json")
    content: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return content


def expected_outcomes() -> dict[str, dict[str, str]]:
    """The reviewed outcomes: claim id -> dataset name ("" for none) -> outcome."""
    text = resources.files("dpassay.core").joinpath("expected_verdicts.json").read_text(encoding="utf-8")
    outcomes: dict[str, dict[str, str]] = json.loads(text)
    return outcomes
