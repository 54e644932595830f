"""A loop in random order is taken for permute-and-flip only where it is, and its law is the one of the theorem."""

import ast
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from dpassay.prover.conformance import conforms
from dpassay.prover.program_text import program_of
from dpassay.replay.program_core import Draw, Loop, Refused
from dpassay.replay.program_reader import read
from dpassay.replay.random_order import Flips, flips

FLIPPED = """
import math
import numpy as np

def pick(rng, scores, epsilon, other: list[float]):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(epsilon / 2 * (scores[i] - best)):
            return int(i)
    return None
"""
CHANCE = "math.exp(epsilon / 2 * (scores[i] - best))"
RETURN = "            return int(i)\n    return None"
BEST = "    best = max(scores)\n"


def read_as(text: str) -> str:
    """What kind of draw the loop is read as."""
    core = read(text, "pick")
    return next(each.kind for each in core.body if isinstance(each, Draw))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("math.exp", "np.exp"),
        ("max(scores)", "np.max(scores)"),
        (CHANCE, "math.exp((scores[i] - best) * epsilon / 2)"),
        (CHANCE, "math.exp(scores[i] - best)"),
        ("<", "<="),
        (RETURN, "            break\n    return i"),
        (RETURN, "            out = [i]\n            break\n    return out"),
        (BEST, "    own = [score + 1 for score in scores]\n    best = max(own)\n"),
        (BEST, BEST + "    if epsilon > 1:\n        epsilon = 1\n"),
    ],
    ids=lambda text: text.strip()[:30],
)
def test_spellings_of_permute_and_flip(old: str, new: str) -> None:
    text = FLIPPED.replace(old, new) if old else FLIPPED
    if "own" in new:
        text = text.replace("len(scores)", "len(own)").replace("scores[i]", "own[i]")
    assert read_as(text) == "flips"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("len(scores)", "len(scores) - 1"),
        ("len(scores)", "len(other)"),
        ("len(scores)", "3"),
        ("len(scores)", "scores"),
        ("rng.permutation(len(scores))", "rng.permutation(len(scores), axis=0)"),
        ("max(scores)", "max(other)"),
        ("max(scores)", "min(scores)"),
        ("max(scores)", "max(scores) + 1"),
        ("max(scores)", "scores[0]"),
        (" - best", " + best"),
        (" - best", " - max(scores)"),
        ("scores[i] -", "scores[0] -"),
        ("scores[i] -", "other[i] -"),
        ("epsilon / 2 *", "i *"),
        ("epsilon / 2 *", "rng.random() *"),
        ("epsilon / 2 *", "rng.laplace() *"),
        ("(scores[i] - best))", "(scores[i] - best) + 1)"),
        ("(scores[i] - best))", "(scores[i] - best)) / 2"),
        ("(scores[i] - best)", "(scores[i] - best) ** 2"),
        ("epsilon / 2 * (scores[i] - best)", "epsilon / (scores[i] - best)"),
        ("math.exp", "math.expm1"),
        (" < ", " > "),
        ("rng.random() <", "0.5 <"),
        ("rng.random() <", "rng.random(2) <"),
        (RETURN, "            return int(i)\n        else:\n            best = 0\n    return None"),
        (RETURN, "            pass\n    return i"),
        (RETURN, "            continue\n    return i"),
        (RETURN, "            if epsilon > 1:\n                continue\n            return int(i)\n    return None"),
        (RETURN, "            return int(i)\n        best = 0\n    return None"),
        (RETURN, "            return int(i)\n    else:\n        return 0"),
        (RETURN, "            i = 0\n            return i"),
        (BEST, BEST + "    best = 0\n"),
        (BEST, "    b = est = max(scores)\n    best = 0\n"),
        (BEST, "    if epsilon > 1:\n        best = max(scores)\n    else:\n        best = 0\n"),
        (BEST, "    own = [1]\n    best = max(own)\n    own = [score for score in scores]\n"),
        (BEST, "    own = [score for score in scores]\n    best = max(own)\n    own[0] = 5\n"),
        (BEST, "    own = [score for score in scores]\n    best = max(own)\n    own.append(5)\n"),
        (BEST, "    own = [score for score in scores]\n    best = max(own)\n    own.pop()\n"),
        (BEST, "    own = [score for score in scores]\n    best = max(own)\n    alias = own\n    alias[0] = 5\n"),
        (BEST, "    for n in other:\n        best = max(scores)\n"),
    ],
    ids=lambda text: text.strip()[:40],
)
def test_other_loops_are_refused(old: str, new: str) -> None:
    text = FLIPPED.replace(old, new, 1)
    assert text != FLIPPED
    if "own" in new:
        text = text.replace("len(scores)", "len(own)").replace("scores[i]", "own[i]")
    with pytest.raises(Refused):
        read_as(text)


def test_one_largest_for_several_rounds() -> None:
    head, loop = FLIPPED.split("    for i")
    again = ("    for i" + loop.replace(RETURN, "            break\n    out.append(i)")).replace("\n    ", "\n        ")
    core = read(f"{head}    out = []\n    for n in other:\n    {again}\n    return out\n", "pick")
    (outer,) = [each for each in core.body if isinstance(each, Loop) and any(isinstance(s, Draw) for s in each.body)]
    assert [each.kind for each in outer.body if isinstance(each, Draw)] == ["flips"]


@pytest.mark.parametrize("stale", [False, True])
def test_the_largest_of_a_list_before_it_is_made_anew(stale: bool) -> None:
    """Each name has one assignment; in the wrong order, `best` is that of the pass before."""
    lines = ["own = [score * n for score in scores]", "best = max(own)"]
    one, two = reversed(lines) if stale else lines
    text = f"""
def pick(rng, scores, other):
    for n in other:
        {one}
        {two}
        for i in rng.permutation(len(own)):
            if rng.random() < math.exp(own[i] - best):
                break
"""
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    (loop,) = [each for each in ast.walk(function) if isinstance(each, ast.For) and ast.unparse(each.target) == "i"]
    assert isinstance(flips(function, loop), str if stale else Flips)


@pytest.mark.parametrize("shadow", ["def len(xs):\n    return 2\n", "def max(xs):\n    return 9\n"])
def test_functions_of_other_names_are_not_pythons(shadow: str) -> None:
    with pytest.raises(Refused):
        read_as(FLIPPED.replace("def pick", f"{shadow}\ndef pick"))


def flipped(rng: Any, scores: Any, epsilon: float) -> int | None:
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(epsilon / 2 * (scores[i] - best)):
            return int(i)
    return None


@pytest.mark.parametrize(("factor", "differs"), [("epsilon / 2", False), ("epsilon / 3", True), ("-epsilon", True)])
def test_runs_of_the_function_are_those_of_the_reading(factor: str, differs: bool) -> None:
    """A reading with another factor gives other places from the same order and the same coins."""
    program, rng = program_of(flipped), np.random.default_rng(0)
    other = replace(program, text=program.text.replace("epsilon / 2", factor))
    found = [conforms(flipped, other, [0.0, 1.0, 2.5], {"epsilon": 1.0}, rng) for _ in range(60)]
    assert any(found) == differs


@pytest.mark.parametrize("scores", [(0.0, 0.0), (0.0, 1.0), (0.0, 0.3, 1.5), (-2.0, 0.5, 0.5, 0.1)])
def test_the_law_is_that_of_exponential_noise(scores: tuple[float, ...]) -> None:
    """The lemma of docs/theorems/alignments.md: every order of the coins against an integral over the noise."""
    chances = [math.exp(score - max(scores)) for score in scores]
    orders = list(itertools.permutations(range(len(scores))))
    for k, score in enumerate(scores):
        ended = sum(chances[k] * math.prod(1 - chances[j] for j in order[: order.index(k)]) for order in orders) / len(
            orders
        )
        others = [other for j, other in enumerate(scores) if j != k]

        def density(noise: float, score: float = score, others: list[float] = others) -> float:
            return math.exp(-noise) * math.prod(max(0.0, -math.expm1(other - score - noise)) for other in others)

        kinks = sorted({max(0.0, other - score) for other in others})
        assert quad(density, kinks[-1], math.inf)[0] == pytest.approx(ended, abs=1e-9)
