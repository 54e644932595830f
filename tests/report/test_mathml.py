"""Formulas are typeset as they are meant, and whatever text is given, what comes out is well-formed or refused."""

import re
import unicodedata
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpassay.core.registry import all_claims, notation
from dpassay.report.mathml import mathml

PUT_BETWEEN = {"mfrac": "({})/({})", "msub": "{}_{}", "msup": "{}^{}", "msubsup": "{}_{}^{}", "munder": "{}_{}"}
PUT_BETWEEN |= {"munderover": "{}_{}^{}", "msqrt": "√({})", "mover": "{}{}"}


def line(element: ET.Element) -> str:
    """The MathML on one line, with the structure that it draws."""
    parts = [line(child) for child in element]
    text = (
        PUT_BETWEEN[element.tag].format(*parts) if element.tag in PUT_BETWEEN else (element.text or "") + "".join(parts)
    )
    return f" {text} " if element.tag == "mtext" else text


def drawn(formula: str) -> str:
    return re.sub(" +", " ", line(ET.fromstring(mathml(formula)))).strip()


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("a/b", "(a)/(b)"),
        ("4k RS/eps", "4k(RS)/(ε)"),
        ("k(N-k)/rho", "(k(N−k))/(ρ)"),
        ("a b / (c d) - e", "(ab)/(cd)−e"),
        ("P(B)/P(A)", "(P(B))/(P(A))"),
        ("log(x)/log2(11)", "(log(x))/(log_2(11))"),
        ("e^(eps/2) Pr[N(D') = S]", "e^ε/2Pr[N(D^′)=S]"),
        ("(1-p)^(j-1) k", "(1−p)^j−1k"),
        ("S2^-1", "S_2^−1"),
        ("r'_is", "r_is^′"),
        ("U_i'V_j", "U_i^′V_j"),
        ("max_D' |q|", "max_D′|q|"),
        ("|r_i||r'_j|", "|r_i||r_j^′|"),
        ("||P_Omega_X(T - X)||_F", "‖P_Ω_X(T−X)‖_F"),
        ("D(P || Q)", "D(P||Q)"),
        ("|log Pr[Y | V]|", "|logPr[Y|V]|"),
        ("sum_i | |a_i|^2 - b |", "∑_i||a_i|^2−b|"),
        ("exp(-g |x|^2)", "exp(−g|x|^2)"),
        ("alpha^ and mu^_i", "α^ and μ^_i"),
        ("R~'R~", "R~^′R~"),
        ("eps* = 2", "ε^*=2"),
        ("e^eps* Pr[Y]", "e^ε^*Pr[Y]"),
        ("j * k", "j·k"),
        ("int_0^1 f dt", "∫_0^1fdt"),
        ("s sqrt n", "s√(n)"),
        ("mu^2 ~ chi^2_r", "μ^2∼χ_r^2"),
        ("<r_a, r_i> / n", "(⟨r_a,r_i⟩)/(n)"),
        ("A subset of Y", "A⊆Y"),
        ("i in N decreases in k", "i∈N decreases in k"),
        ("a fake user's list is eps-DP", "a fake user's list is ε-DP"),
        ("2mn/gamma", "(2mn)/(γ)"),
        ("r_xi and xi", "r_xi and ξ"),
        ("a <= b >= c != d", "a≤b≥c≠d"),
        ("a < b > c = d", "a<b>c=d"),
        ("f <- g -> h", "f←g→h"),
        ("x in {0, +-1} iff y = 0..n", "x∈{0,±1}⟺y=0…n"),
        ("sum_{i<=k} s_i implies a - b", "∑_i≤ks_i⟹a−b"),
    ],
)
def test_a_formula_is_drawn_as_it_is_meant(formula, expected):
    assert drawn(formula).replace(" ", "") == expected.replace(" ", "")


@pytest.mark.parametrize(
    "name",
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "mu",
        "nu",
        "xi",
        "pi",
        "rho",
        "sigma",
        "tau",
        "phi",
        "chi",
    ],
)
def test_greek_letters_are_those_of_their_names(name):
    assert drawn(f"{name}_1") == unicodedata.lookup(f"GREEK SMALL LETTER {name}") + "_1"
    assert drawn("lambda, eps, omega, Delta, Theta, Omega, Phi, Sigma") == "λ,ε,ω,Δ,Θ,Ω,Φ,Σ"


def test_every_claim_and_symbol_is_typeset_with_all_its_digits_and_brackets():
    texts = [claim.formula for claim in all_claims()] + [symbols for rows in notation().values() for symbols, _ in rows]
    for text in texts:
        shown = Counter("".join(ET.fromstring(mathml(text)).itertext()))
        for sign in "0123456789,;":
            assert shown[sign] == text.count(sign), (text, sign)


@pytest.mark.parametrize("formula", ["(a", "a)", "[0, 1", "|a", "a_", "a_-", "{i: a"])
def test_what_is_not_closed_or_lacks_a_part_is_refused(formula):
    with pytest.raises(ValueError, match=r"bracket|unopened|at its end"):
        mathml(formula)


@given(st.text("abeS xi_^'~*|/()[]{}<>=-+.,;1?\"&\x00epsum ", max_size=30) | st.text(max_size=20))
def test_any_text_is_well_formed_or_refused(formula):
    try:
        typeset = mathml(formula)
    except ValueError:
        return
    if formula.isprintable():
        ET.fromstring(typeset)
