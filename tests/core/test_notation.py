"""Every symbol of a paper's claims is explained on its page: in its NOTATION, or known to whoever reads formulas."""

import re

import pytest

from dpassay.core.registry import all_claims, notation, papers

COMMON = "Pr E e exp ln log log2 max min sum prod int sqrt ceil inf det tr rank tanh DP JAX"
PRODUCTS = "pk jk kP mn mnd nd Lz HD HDx dt"  # letters side by side are multiplied
SHORT_WORDS = (
    "a add all an and any are as at by for has iff in is its law not of on one or own per row set so the to top up but"
)
GREEK = (
    "alpha beta gamma delta eps epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega "
    "Delta Theta Omega Phi"
)
CLAIM_IDS = re.compile("|".join(sorted((re.escape(claim.id) for claim in all_claims()), key=len, reverse=True)))
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*['^~]*(?:_\w+)?")


def words(text: str) -> list[tuple[str, str, str]]:
    """(name without marks and subscript, the name, what follows it); claims' ids and possessives are left out."""
    text = re.sub(r"(?<=\w)'s\b", "", CLAIM_IDS.sub("", text))
    return [(re.split("['^~_]", m.group())[0], m.group(), text[m.end() :][:1]) for m in NAME.finditer(text)]


def names(text: str) -> set[str]:
    return {bare for bare, _, _ in words(text)}


def symbols(text: str, formula: bool) -> set[str]:
    """Greek letters, single letters and what is spelled as no word is; in a formula every short name and function."""

    def is_symbol(bare: str, name: str, following: str) -> bool:
        spelled = "_" in name or re.search("[0-9]|.[A-Z]", bare) is not None
        letter = len(bare) == 1 and bare not in ("a" if formula else "aAI")
        short = formula and (following == "(" or (len(bare) < 4 and bare not in SHORT_WORDS.split()))
        return bare in GREEK.split() or spelled or letter or short

    return {bare for bare, name, following in words(text) if is_symbol(bare, name, following)}


def texts(paper: str) -> list[tuple[str, str, bool]]:
    return [
        (claim.id, text, text is claim.formula)
        for claim in papers()[paper]
        for text in (claim.formula, claim.statement, claim.predicate, *claim.assumptions)
    ]


@pytest.mark.parametrize("paper", papers())
def test_every_symbol_of_a_papers_claims_is_explained(paper: str) -> None:
    explained = {name for symbol, _ in notation()[paper] for name in names(symbol)}
    absent = {
        (name, claim)
        for claim, text, formula in texts(paper)
        for name in symbols(text, formula) - explained - {*COMMON.split(), *PRODUCTS.split()}
    }
    assert not absent


@pytest.mark.parametrize("paper", papers())
def test_every_explained_symbol_is_used(paper: str) -> None:
    used = {name for _, text, _ in texts(paper) for name in names(text)}
    assert [symbol for symbol, _ in notation()[paper] if names(symbol) and not names(symbol) & used] == []
    assert all(meaning and len(symbol) < 40 for symbol, meaning in notation()[paper])


def test_an_unexplained_symbol_would_be_found() -> None:
    assert symbols("Pr[N(D) = S] <= e^(xyz/2) psi_3 the GSX of w1", formula=True) >= {
        "N", "D", "S", "xyz", "psi", "GSX", "w1",
    }  # fmt: skip
    assert symbols("With one constant GS the epsilon is lambda at sim_k, and A user's t", formula=False) == {
        "GS", "epsilon", "lambda", "sim", "t",
    }  # fmt: skip
