"""A name is taken for the sum of a list only where it is: no store, no other name, no other order goes unnoticed."""

import ast

import pytest

from dpassay.replay.named_sums import shares, sums_of

SUMMED = """
def f(rng, scores, other):
    w = [math.exp(score) for score in scores]
    total = sum(w)
    MORE
    return rng.choice(len(scores), p=[x / total for x in w])
"""


def found(text: str) -> set[str]:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    calls = [
        each for each in ast.walk(function) if isinstance(each, ast.Call) and ast.unparse(each.func) == "rng.choice"
    ]
    listed = shares(calls[0].keywords[0].value)
    assert listed is not None
    return sums_of(function, calls[0], listed[0].id, listed[1])


@pytest.mark.parametrize(
    "more", ["pass", "y = w[0]", "y = len(w)", "for y in w:\n        pass", "y = [x for x in w]", "other.append(total)"]
)
def test_the_sum_of_a_list_that_stays(more: str) -> None:
    assert found(SUMMED.replace("MORE", more)) == {"sum(w)"}


@pytest.mark.parametrize(
    "more",
    [
        "w[0] = 1",
        "w[-1] += 1",
        "w += [1]",
        "w *= 2",
        "w = other",
        "del w[0]",
        "w.append(1)",
        "w.pop(0)",
        "w.clear()",
        "y = w\n    y.append(1)",
        "y = w if other else scores\n    y[0] = 1",
        "y, z = w, other\n    y[0] = 1",
        "y = [w]\n    y[0].append(1)",
        "helper(w)",
        "other.append(w)",
        "y = w[:]",
        "total = 1",
        "total += 1",
        "if other:\n        total = 1",
        "for total in other:\n        pass",
        "for w in other:\n        pass",
        "y = [total for total in other]",
        "(total := 2)",
    ],
)
def test_a_list_or_a_sum_that_may_be_another(more: str) -> None:
    assert found(SUMMED.replace("MORE", more)) == set()


@pytest.mark.parametrize(
    "text",
    [
        SUMMED.replace("[math.exp(score) for score in scores]", "other"),  # which may change under its other name
        SUMMED.replace("[math.exp(score) for score in scores]", "helper(other)"),
        SUMMED.replace("[math.exp(score) for score in scores]", "(score for score in scores)"),
        SUMMED.replace("    total = sum(w)\n", "").replace("MORE", "if other:\n        total = sum(w)"),
        SUMMED.replace("    total = sum(w)\n", "").replace("MORE", "total, y = sum(w), 1"),
        SUMMED.replace("    total = sum(w)\n", "").replace("(rng, scores, other)", "(rng, scores, total)"),
        SUMMED.replace("    w = [math.exp(score) for score in scores]\n", "").replace("other", "w"),
        "def f(rng, scores, other):\n    for i in other:\n        total = sum(w)\n"
        "        w = [i for score in scores]\n        y = rng.choice(2, p=[x / total for x in w])\n",
    ],
)
def test_another_order_or_another_list(text: str) -> None:
    assert found(text.replace("MORE", "pass")) == set()


@pytest.mark.parametrize(
    "text",
    ["[x / total for x in w if x]", "[total / x for x in w]", "[x / x for x in w]", "[y / total for x in w]", "w",
     "[w / total for w in w]", "[x / total for x in w for y in w]", "[x / 2 for x in w]"],
)  # fmt: skip
def test_other_lists_are_no_shares(text: str) -> None:
    assert shares(ast.parse(text, mode="eval").body) is None
