"""Alignments written by hand are accepted; what is changed in one, or in its program, is not."""

import copy
import json
import re
from typing import Any

import pytest

from dpassay.core.certificate import Certificate
from dpassay.replay import PROGRAM, Rejected, check, computed, replay


def alignment(
    text: str,
    relation: str,
    parameters: str = "epsilon: real",
    claim: str = "epsilon",
    notion: str = "epsilon",
    assume: tuple[str, ...] = ("epsilon > 0",),
    bounds: tuple[str, str] | None = None,
    values: str = "real",
    **found: Any,
) -> dict[str, Any]:
    """The inputs of a certificate; a place is given by what stands there: ⟨for q⟩ is "6:4"."""
    text = text.strip() + "\n"
    names = (pair.split(": ") for pair in parameters.split(", ") if pair)
    inputs = {
        "program": {"text": text, "entry": re.findall(r"def (\w+)", text)[-1]},
        "parameters": {name: sort for name, sort in names},
        "relation": {"kind": relation, "bounds": bounds, "values": values, "radius": "1"},
        "claim": {"notion": notion, "bound": claim},
        "assume": list(assume),
        **found,
    }

    def place(match: re.Match[str]) -> str:
        before = text[: text.index(match[1])]
        return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10)) - 1}"

    placed: dict[str, Any] = json.loads(re.sub("⟨(.*?)⟩", place, json.dumps(inputs, ensure_ascii=False)))
    return placed


def shift(*cases: Any) -> list[dict[str, Any]]:
    """Cases of a draw: (branch, outcome, shift) or a shift."""
    return [
        {"when": {}, "shift": case} if isinstance(case, str) else {"when": {case[0]: case[1]}, "shift": case[2]}
        for case in cases
    ]


_SPARSE: dict[str, Any] = {"parameters": "epsilon: real, c: int, threshold: real", "assume": ("epsilon > 0", "c >= 1")}
_MANY = "all_queries"
_ONE = "one_query"
_ENTRY = "replace_one:entry"

SPARSE_VECTOR = alignment(
    """
def sparse_vector(rng, queries, epsilon, c: int, threshold):
    out = []
    count = 0
    rho = rng.laplace(0, 2 / epsilon)
    for q in queries:
        if q + rng.laplace(0, 4 * c / epsilon) >= threshold + rho:
            out.append(True)
            count += 1
            if count >= c:
                break
        else:
            out.append(False)
    return out
""",
    _MANY,
    **_SPARSE,
    shifts={"⟨rng.laplace(0, 2⟩": shift("1"), "⟨rng.laplace(0, 4⟩": shift(("⟨if q⟩", True, "1 - d(q)"), "0")},
    loops={"⟨for q⟩": {"invariant": ["count <= c - 1", "cost() <= epsilon/2 + count*epsilon/(2*c)"]}},
)
CHECKDP_SPARSE_VECTOR = alignment(
    """
def check_dp_sparse_vector(rng, q, epsilon, n: int, threshold):
    out = []
    noisy = threshold + rng.laplace(scale=3 / epsilon)
    count = i = 0
    while count < n and i < len(q):
        value = q[i] + rng.laplace(scale=3 * n / epsilon)
        if value >= noisy:
            out.append(1)
            count = count + 1
        else:
            out.append(0)
        i = i + 1
    return out
""",
    _MANY,
    parameters="epsilon: real, n: int, threshold: real",
    assume=("epsilon > 0", "n >= 1"),
    shifts={
        "⟨rng.laplace(scale=3 /⟩": shift("1"),
        "⟨rng.laplace(scale=3 *⟩": shift(("⟨if value⟩", True, "1 - d(q[i])"), "0"),
    },
    loops={"⟨while⟩": {"invariant": ["i >= 0", "cost() <= epsilon/3 + count*2*epsilon/(3*n)", "count <= n"]}},
)
NUMERIC_SPARSE_VECTOR = alignment(
    """
def numeric_sparse_vector(rng, queries, epsilon, c: int, threshold):
    out = []
    count = 0
    rho = rng.laplace(0, 3 / epsilon)
    for q in queries:
        if q + rng.laplace(0, 6 * c / epsilon) >= threshold + rho:
            out.append(q + rng.laplace(0, 3 * c / epsilon))
            count += 1
            if count >= c:
                break
        else:
            out.append(None)
    return out
""",
    _MANY,
    **_SPARSE,
    shifts={
        "⟨rng.laplace(0, 3 /⟩": shift("1"),
        "⟨rng.laplace(0, 6⟩": shift(("⟨if q⟩", True, "1 - d(q)"), "0"),
        "⟨rng.laplace(0, 3 *⟩": shift("-d(q)"),
    },
    loops={"⟨for q⟩": {"invariant": ["count <= c - 1", "cost() <= epsilon/3 + count*2*epsilon/(3*c)"]}},
    lists={"out": ["d(out[k]) == 0"]},
)
GAP_SPARSE_VECTOR = alignment(
    """
def gap_sparse_vector(rng, queries, epsilon, c: int, threshold):
    out = []
    count = 0
    rho = threshold + rng.laplace(0, 2 / epsilon)
    for q in queries:
        noisy = q + rng.laplace(0, 4 * c / epsilon)
        if noisy >= rho:
            out.append(noisy - rho)
            count += 1
            if count >= c:
                break
        else:
            out.append(False)
    return out
""",
    _MANY,
    **_SPARSE,
    shifts={"⟨rng.laplace(0, 2⟩": shift("1"), "⟨rng.laplace(0, 4⟩": shift(("⟨if noisy⟩", True, "1 - d(q)"), "0")},
    loops={"⟨for q⟩": {"invariant": ["count <= c - 1", "cost() <= epsilon/2 + count*epsilon/(2*c)"]}},
    lists={"out": ["d(out[k]) == 0"]},
)
ADAPTIVE_SPARSE_VECTOR = alignment(
    """
def adaptive_sparse_vector(rng, q, epsilon, n: int, threshold):
    out = []
    i = 0
    spent = epsilon / 2
    rho = threshold + rng.laplace(0, 2 / epsilon)
    while i < len(q) and spent <= epsilon - epsilon / (2 * n):
        top = q[i] + rng.laplace(0, 8 * n / epsilon)
        if top - rho >= 16:
            out.append(top - rho)
            spent = spent + epsilon / (4 * n)
        else:
            middle = q[i] + rng.laplace(0, 4 * n / epsilon)
            if middle - rho >= 0:
                out.append(middle - rho)
                spent = spent + epsilon / (2 * n)
            else:
                out.append(0)
        i += 1
    return out
""",
    _MANY,
    parameters="epsilon: real, n: int, threshold: real",
    assume=("epsilon > 0", "n >= 1"),
    shifts={
        "⟨rng.laplace(0, 2⟩": shift("1"),
        "⟨rng.laplace(0, 8⟩": shift(("⟨if top⟩", True, "1 - d(q[i])"), "0"),
        "⟨rng.laplace(0, 4⟩": shift(("⟨if middle⟩", True, "1 - d(q[i])"), "0"),
    },
    loops={"⟨while⟩": {"invariant": ["i >= 0", "cost() <= spent", "spent <= epsilon"]}},
    lists={"out": ["d(out[k]) == 0"]},
)
_WINNER = "1 - d(queries[i]) if i == prophecy('K') else 0"
_NOISY_MAX = [
    "index('⟨for⟩') == 0 or index('⟨for⟩') > prophecy('K') or abs(d(largest)) <= 1",
    "index('⟨for⟩') <= prophecy('K') or best != prophecy('K') or (d(largest) >= 1 and other(best) == prophecy('K'))",
    "index('⟨for⟩') == 0 or best < index('⟨for⟩')",
    "cost() <= (epsilon if index('⟨for⟩') > prophecy('K') else 0)",
]
NOISY_MAX = alignment(
    """
def noisy_max(rng, queries, epsilon):
    best = 0
    largest = 0
    for i in range(len(queries)):
        noisy = queries[i] + rng.laplace(0, 2 / epsilon)
        if i == 0 or noisy > largest:
            best = i
            largest = noisy
    return best
""",
    _MANY,
    shifts={"⟨rng.laplace⟩": shift(_WINNER)},
    loops={"⟨for⟩": {"invariant": [*_NOISY_MAX, "index('⟨for⟩') > 0 or d(best) == 0"]}},
    free=["⟨if i⟩"],
    prophecies={"K": {"variable": "best", "loop": "⟨for⟩", "scope": None}},
)
NOISY_MAX_EXPONENTIAL = alignment(
    """
def noisy_max_exponential(rng, queries, epsilon):
    best, largest = -1, None
    for i, q in enumerate(queries):
        noisy = q + rng.exponential(2 / epsilon)
        if largest is None or noisy > largest:
            best, largest = i, noisy
    return best
""",
    _MANY,
    shifts={"⟨rng.exponential⟩": shift(_WINNER.replace("queries[i]", "q"))},
    loops={
        "⟨for⟩": {
            "invariant": [
                _NOISY_MAX[0],
                "index('⟨for⟩') == 0 or " + _NOISY_MAX[1],
                "index('⟨for⟩') > 0 or (d(best) == 0 and best == -1 and largest is None and same(largest))",
                "index('⟨for⟩') == 0 or 0 <= best < index('⟨for⟩') and finite(largest)",
                _NOISY_MAX[-1],
            ]
        }
    },
    free=["⟨if largest⟩"],
    prophecies={"K": {"variable": "best", "loop": "⟨for⟩", "scope": None}},
)
ARGMAX = alignment(
    """
import numpy as np


def argmax(rng, queries, epsilon):
    return np.argmax(np.asarray(queries) + rng.gumbel(scale=2 / epsilon, size=len(queries)))
""",
    _MANY,
    shifts={
        "⟨rng.gumbel⟩": shift("1 - d(queries[index('⟨rng.gumbel⟩')]) if index('⟨rng.gumbel⟩') == prophecy('K') else 0")
    },
    loops={
        "⟨rng.gumbel⟩": {
            "invariant": ["cost() <= (epsilon if index('⟨rng.gumbel⟩') > prophecy('K') else 0)"],
        },
        "⟨np.argmax⟩": {
            "invariant": [
                each.replace("⟨for⟩", "⟨np.argmax⟩")
                .replace("best", "best('⟨np.argmax⟩')")
                .replace("largest", "acc('⟨np.argmax⟩')")
                for each in _NOISY_MAX[:-1]
            ]
            + ["cost() <= epsilon"]
        },
    },
    prophecies={"K": {"variable": "best('⟨np.argmax⟩')", "loop": "⟨np.argmax⟩", "scope": None}},
)
PARTIAL_SUM = alignment(
    """
def partial_sum(rng, queries, epsilon):
    return sum(queries) + rng.laplace(0, 1 / epsilon)
""",
    _ONE,
    shifts={"⟨rng.laplace⟩": shift("-d(acc('⟨sum(queries⟩'))")},
    loops={
        "⟨sum(queries⟩": {
            "invariant": [
                "d(acc('⟨sum(queries⟩')) == (delta() if changed() < index('⟨sum(queries⟩') else 0)",
                "cost() <= 0",
            ]
        }
    },
)
WEIGHTED_BY_NOISE = alignment(  # a shift that depends on the noise drawn before
    """
def weighted(rng, queries, epsilon):
    weight = rng.laplace(0, 1)
    for q in queries:
        weight = min(max(weight, 0), 1) * q + rng.laplace(0, 1 / epsilon)
    return weight
""",
    _ONE,
    shifts={"⟨rng.laplace(0, 1 /⟩": shift("-min(max(weight, 0), 1) * d(q)")},
    loops={
        "⟨for⟩": {"invariant": ["d(weight) == 0", "cost() <= (epsilon if changed() < index('⟨for⟩') else 0)"]},
    },
)
PREFIX_SUM = alignment(
    """
def prefix_sum(rng, queries, epsilon):
    out = []
    total = 0
    for q in queries:
        total += q + rng.laplace(0, 1 / epsilon)
        out.append(total)
    return out
""",
    _ONE,
    shifts={"⟨rng.laplace⟩": shift("-d(q)")},
    loops={"⟨for⟩": {"invariant": ["d(total) == 0", "cost() <= (epsilon if changed() < index('⟨for⟩') else 0)"]}},
    lists={"out": ["d(out[k]) == 0"]},
)
SMART_SUM = alignment(
    """
def smart_sum(rng, q, epsilon, m: int):
    out = []
    blocks = total = running = 0
    for i in range(len(q)):
        total += q[i]
        if (i + 1) % m == 0:
            blocks = blocks + total + rng.laplace(0, 1 / epsilon)
            running = blocks
            total = 0
        else:
            running = running + q[i] + rng.laplace(scale=1 / epsilon)
        out.append(running)
    return out
""",
    _ONE,
    parameters="epsilon: real, m: int",
    assume=("epsilon > 0", "m >= 1"),
    claim="2*epsilon",
    shifts={"⟨rng.laplace(0⟩": shift("-d(total)"), "⟨rng.laplace(scale⟩": shift("-d(q[i])")},
    loops={
        "⟨for⟩": {
            "invariant": [
                "d(blocks) == 0",
                "d(running) == 0",
                "changed() < index('⟨for⟩') or d(total) == 0",
                "cost() <= (2*epsilon - epsilon*abs(d(total)) if changed() < index('⟨for⟩') else 0)",
            ]
        }
    },
    lists={"out": ["d(out[k]) == 0"]},
)
HISTOGRAM = alignment(
    """
def histogram(rng, counts, epsilon):
    return [count + rng.laplace(0, 1 / epsilon) for count in counts]
""",
    _ONE,
    shifts={"⟨rng.laplace⟩": shift("-d(counts[index('⟨[count⟩')])")},
    loops={"⟨[count⟩": {"invariant": ["cost() <= (epsilon if changed() < index('⟨[count⟩') else 0)"]}},
    lists={"at('⟨[count⟩')": ["d(at('⟨[count⟩')[k]) == 0"]},
)
RANDOMIZED_RESPONSE = alignment(
    """
import math


def randomized_response(rng, bits, epsilon):
    answers = []
    for bit in bits:
        if rng.random() < math.exp(epsilon) / (1 + math.exp(epsilon)):
            answers.append(bit)
        else:
            answers.append(1 - bit)
    return answers
""",
    _ENTRY,
    bounds=("0", "1"),
    values="int",
    coins={"⟨rng.random⟩": [{"when": {}, "flip": "d(bit) != 0"}]},
    loops={"⟨for⟩": {"invariant": ["cost() <= (epsilon if changed() < index('⟨for⟩') else 0)"]}},
    lists={"answers": ["d(answers[k]) == 0"]},
    free=["⟨if⟩"],
)
CLIPPED_SUM = alignment(
    """
def clipped_sum(rng, values, epsilon, low, high):
    total = 0
    for value in values:
        total += max(low, min(value, high))
    return total + rng.laplace(scale=(high - low) / epsilon)
""",
    _ENTRY,
    parameters="epsilon: real, low: real, high: real",
    assume=("epsilon > 0", "low < high"),
    shifts={"⟨rng.laplace⟩": shift("-d(total)")},
    loops={
        "⟨for⟩": {
            "invariant": ["d(total) == 0 or changed() < index('⟨for⟩')", "abs(d(total)) <= high - low", "cost() <= 0"]
        }
    },
)
BOUNDED_SUM = alignment(
    """
def bounded_sum(rng, values, epsilon, low, high):
    return sum(values) + rng.laplace(scale=(high - low) / epsilon)
""",
    _ENTRY,
    parameters="epsilon: real, low: real, high: real",
    assume=("epsilon > 0", "low < high"),
    bounds=("low", "high"),
    shifts={"⟨rng.laplace⟩": shift("-d(acc('⟨sum(values⟩'))")},
    loops={
        "⟨sum(values⟩": {
            "invariant": [
                "d(acc('⟨sum(values⟩')) == (delta() if changed() < index('⟨sum(values⟩') else 0)",
                "cost() <= 0",
            ]
        }
    },
)
_ADDED = "add_or_remove_one:entry"
COUNT = alignment(
    """
def count_above(rng, values, epsilon, limit):
    count = 0
    for value in values:
        if value > limit:
            count += 1
    return count + rng.laplace(scale=1 / epsilon)
""",
    _ADDED,
    parameters="epsilon: real, limit: real",
    shifts={"⟨rng.laplace⟩": shift("-d(count)")},
    loops={
        "⟨for⟩": {"invariant": ["d(count) == 0 or changed() < index('⟨for⟩')", "abs(d(count)) <= 1", "cost() <= 0"]}
    },
)
SUM_AND_LENGTH = alignment(
    """
import numpy as np


def sum_and_length(rng, values, epsilon, high):
    total = np.clip(values, 0, high).sum() + rng.laplace(0, 2 * high / epsilon)
    return total / max(1, len(values) + rng.laplace(0, 2 / epsilon))
""",
    _ADDED,
    parameters="epsilon: real, high: real",
    assume=("epsilon > 0", "high > 0"),
    shifts={
        "⟨rng.laplace(0, 2 * high⟩": shift("-d(acc('⟨np.clip⟩'))"),
        "⟨rng.laplace(0, 2 / epsilon⟩": shift("-d(len(values))"),
    },
    loops={
        "⟨np.clip⟩": {
            "invariant": [
                "d(acc('⟨np.clip⟩')) == 0 or changed() < index('⟨np.clip⟩')",
                "abs(d(acc('⟨np.clip⟩'))) <= high",
                "cost() <= 0",
            ]
        }
    },
)
GAUSSIAN_TWICE = alignment(
    """
def gaussian_twice(rng, queries, mu):
    total = sum(queries)
    return total + rng.normal(0, 5 / (3 * mu)), 2 * total + rng.normal(0, 5 / (2 * mu))
""",
    _ONE,
    parameters="mu: real",
    assume=("mu > 0",),
    claim="mu",
    notion="gaussian",
    shifts={"⟨rng.normal⟩": shift("-d(total)"), "⟨rng.normal(0, 5 / (2⟩": shift("-2 * d(total)")},
    loops={
        "⟨sum(queries⟩": {
            "invariant": [
                "d(acc('⟨sum(queries⟩')) == (delta() if changed() < index('⟨sum(queries⟩') else 0)",
                "cost() <= 0",
            ]
        }
    },
)
GAUSSIAN_SUM = alignment(
    """
import math


def gaussian_sum(rng, values, rho, bound):
    total = 0
    for value in values:
        total += max(-bound, min(value, bound))
    sigma = 2 * bound / math.sqrt(2 * rho)
    return total + rng.normal(0, sigma)
""",
    _ENTRY,
    parameters="rho: real, bound: real",
    assume=("rho > 0", "bound > 0"),
    claim="rho",
    notion="zcdp",
    shifts={"⟨rng.normal⟩": shift("-d(total)")},
    loops={
        "⟨for⟩": {
            "invariant": ["d(total) == 0 or changed() < index('⟨for⟩')", "abs(d(total)) <= 2*bound", "cost() <= 0"]
        }
    },
)
EXPONENTIAL_MECHANISM = alignment(
    """
import numpy as np


def exponential_mechanism(rng, scores, epsilon):
    weights = np.exp(epsilon / 2 * np.asarray(scores))
    return rng.choice(len(scores), p=weights / weights.sum())
""",
    _MANY,
    selections={"⟨rng.choice⟩": {"low": "-epsilon/2", "high": "epsilon/2"}},
)
PERMUTE_AND_FLIP = alignment(
    """
import math


def permute_and_flip(rng, scores, epsilon):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(epsilon / 2 * (scores[i] - best)):
            return int(i)
    return None
""",
    _MANY,
    selections={"⟨for i⟩": {"low": "-epsilon/2", "high": "epsilon/2"}},
    loops={"⟨max(⟩": {"invariant": ["cost() <= 0"]}},
)
GEOMETRIC_COUNT = alignment(
    """
import math


def geometric_count(rng, bits, epsilon):
    total = sum(bits)
    p = 1 - math.exp(-epsilon)
    return total + rng.geometric(p) - rng.geometric(p)
""",
    _ENTRY,
    bounds=("0", "1"),
    values="int",
    shifts={"⟨rng.geometric⟩": shift("-d(total)")},
    loops={
        "⟨sum(bits⟩": {
            "invariant": ["d(acc('⟨sum(bits⟩')) == (delta() if changed() < index('⟨sum(bits⟩') else 0)", "cost() <= 0"]
        }
    },
)

FILTERED_LENGTH = alignment(
    """
def filtered_length(rng, values, epsilon, split):
    low = [value for value in values if value < split]
    return len(low) + rng.laplace(0, 1 / epsilon)
""",
    _ENTRY,
    parameters="epsilon: real, split: real",
    shifts={"⟨rng.laplace⟩": shift("-d(acc('⟨len(low)⟩'))")},
    loops={
        "⟨len(low)⟩": {
            "invariant": [
                "abs(d(acc('⟨len(low)⟩'))) <= 1",
                "changed() < index('⟨len(low)⟩') or d(acc('⟨len(low)⟩')) == 0",
                "cost() <= 0",
            ]
        }
    },
)
FILTERED_SUM = alignment(
    """
def filtered_sum(rng, values, epsilon, bound):
    total = sum(value for value in values if 0 <= value if value <= bound)
    return total + rng.laplace(0, bound / epsilon)
""",
    "add_or_remove_one:entry",
    parameters="epsilon: real, bound: real",
    assume=("epsilon > 0", "bound > 0"),
    shifts={"⟨rng.laplace⟩": shift("-d(total)")},
    loops={
        "⟨sum(value⟩": {
            "invariant": [
                "abs(d(acc('⟨sum(value⟩'))) <= bound",
                "changed() < index('⟨sum(value⟩') or d(acc('⟨sum(value⟩')) == 0",
                "cost() <= 0",
            ]
        }
    },
)
PUBLIC_EDGES = alignment(
    """
def public_edges(rng, values, epsilon, edges: list[float]):
    answers = []
    for edge in edges:
        below = sum(value < edge for value in values)
        answers.append(below + rng.laplace(0, len(edges) / epsilon))
    return answers
""",
    _ENTRY,
    parameters="epsilon: real, edges: list[real]",
    shifts={"⟨rng.laplace⟩": shift("-d(below)")},
    loops={
        "⟨for edge⟩": {"invariant": ["cost() <= (index('⟨for edge⟩')*epsilon/len(edges) if len(edges) > 0 else 0)"]},
        "⟨sum(⟩": {
            "invariant": [
                "abs(d(acc('⟨sum(⟩'))) <= 1",
                "changed() < index('⟨sum(⟩') or d(acc('⟨sum(⟩')) == 0",
                "cost() <= (index('⟨for edge⟩')*epsilon/len(edges) if len(edges) > 0 else 0)",
            ]
        },
    },
    lists={"answers": ["d(answers[k]) == 0"]},
)
UNARY_ENCODING = alignment(
    """
import math


def unary_encoding(rng, value: int, epsilon, size: int):
    p = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    answers = []
    for i in range(size):
        answers.append((i == value) if rng.random() < p else i != value)
    return answers
""",
    _ENTRY,
    parameters="epsilon: real, size: int",
    values="int",
    coins={"⟨rng.random⟩": [{"when": {}, "flip": "(i == value) != (i == other(value))"}]},
    loops={
        "⟨for i⟩": {
            "invariant": [
                "cost() <= ((1 if value < index('⟨for i⟩') else 0)"
                " + (1 if value + delta() < index('⟨for i⟩') else 0))*epsilon/2"
            ]
        }
    },
    lists={"answers": ["same(answers[k])"]},
    free=["⟨(i == value)⟩"],
)
CELLS = alignment(
    """
def cells(rng, places, epsilon, size: int):
    counts = [0] * size
    for place in places:
        counts[place] += 1
    return [count + rng.laplace(0, 2 / epsilon) for count in counts]
""",
    _ENTRY,
    parameters="epsilon: real, size: int",
    bounds=("0", "size - 1"),
    values="int",
    shifts={"⟨rng.laplace⟩": shift("-d(counts[index('⟨[count⟩')])")},
    loops={
        "⟨[count⟩": {
            "invariant": [
                "cost() <= ((1 if places[changed()] < index('⟨[count⟩') else 0)"
                " + (1 if places[changed()] + delta() < index('⟨[count⟩') else 0))*epsilon/2"
            ]
        },
        "⟨for place⟩": {"invariant": ["cost() <= 0"]},
    },
    lists={
        "counts": [
            "d(counts[k]) == ((1 if k == places[changed()] + delta() else 0) - (1 if k == places[changed()] else 0)"
            " if changed() < index('⟨for place⟩') else 0)"
        ],
        "at('⟨[count⟩')": ["d(at('⟨[count⟩')[k]) == 0"],
    },
)
WITHOUT_THE_ENDS = alignment(
    """
def without_the_ends(rng, queries, epsilon):
    total = sum(queries[1:-1])
    return total + rng.laplace(0, 1 / epsilon)
""",
    _ONE,
    shifts={"⟨rng.laplace⟩": shift("-d(total)")},
    loops={
        "⟨sum(⟩": {
            "invariant": [
                "d(acc('⟨sum(⟩')) == (delta() if 1 <= changed() < 1 + index('⟨sum(⟩') else 0)",
                "cost() <= 0",
            ]
        }
    },
)

ACCEPTED = {
    name: each for name, each in list(globals().items()) if name.isupper() and name[0] != "_" and isinstance(each, dict)
}
EXPRESSIONS = {"shifts": "shift", "coins": "flip"}
# What a change of the program's text does that leaves it private with the same alignment.
HARMLESS = {
    ("NUMERIC_SPARSE_VECTOR", "count <= c"),  # the loop ends earlier
    ("GAP_SPARSE_VECTOR", "count <= c"),
    ("SPARSE_VECTOR", "count <= c"),
    ("COUNT", "value < limit"),
    ("COUNT", "count += 0"),
    ("ADAPTIVE_SPARSE_VECTOR", "i += 0"),  # it asks the same query until the budget is spent
}
CHANGES = (
    (r"\d(?= / eps)", "0.5"),
    (r"\d(?= \* [cn] / eps)", "1"),
    (r"\(high - low\)", "(high - low - 1)"),
    (r">=", "<="),
    (r"(?<= )>(?= )", "<"),
    (r"\bbreak\b", "pass"),
    (r"\+= 1", "+= 0"),
    (r"\bmax\(", "min("),
    (r"(?<=return )\w+(?= \+)", "0 * 1"),
    (r"math.exp\(-?epsilon", "math.exp(2 * epsilon"),
    (r"2 \* bound", "1 * bound"),
    (r"epsilon / 2 \*", "epsilon / 1 *"),
    (r"np.exp", "np.sqrt"),
)


@pytest.fixture(autouse=True)
def _shorter(monkeypatch):
    """What is not proved is given up sooner."""
    monkeypatch.setattr("dpassay.replay.alignment.MILLISECONDS", 4000)


@pytest.mark.parametrize("name", ACCEPTED)
def test_written_by_hand(name):
    found = check("alignment", ACCEPTED[name])
    assert found["supports"] == "holds"
    assert found["conditions"] > 5


def _changed(inputs, *path, to=None, drop=False):
    made = copy.deepcopy(inputs)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return made


def _weaker(inputs):
    """Alignments in which something is missing or too weak, with what was done."""
    for kind, key in EXPRESSIONS.items():
        for at, cases in inputs.get(kind, {}).items():
            for place, case in enumerate(cases):
                if case[key] == "0":
                    continue
                yield f"{kind} {at} dropped", _changed(inputs, kind, at, place, drop=True)
                opposite = f"not ({case[key]})" if key == "flip" else f"-({case[key]})"
                yield f"{kind} {at} turned", _changed(inputs, kind, at, place, key, to=opposite)
                if case["when"]:
                    turned = {branch: not outcome for branch, outcome in case["when"].items()}
                    yield f"{kind} {at} elsewhere", _changed(inputs, kind, at, place, "when", to=turned)
    for at, loop in inputs.get("loops", {}).items():
        for place, said in enumerate(loop["invariant"]):
            yield f"without {said}", _changed(inputs, "loops", at, "invariant", place, drop=True)
        yield f"{at}: false", _changed(inputs, "loops", at, "invariant", to=[*loop["invariant"], "1 == 0"])
    for name, said in inputs.get("lists", {}).items():
        yield f"{name} unknown", _changed(inputs, "lists", name, drop=True)
        yield f"{name}: false", _changed(inputs, "lists", name, to=[*said, "k < 0"])
    for place, said in enumerate(inputs["assume"]):
        yield f"without {said}", _changed(inputs, "assume", place, drop=True)
    yield "nothing assumed possible", _changed(inputs, "assume", to=[*inputs["assume"], "1 == 0"])
    yield "a smaller claim", _changed(inputs, "claim", "bound", to=f"0.99 * ({inputs['claim']['bound']})")
    for place, at in enumerate(inputs.get("free", [])):
        yield f"{at} not free", _changed(inputs, "free", place, drop=True)
    for at, said in inputs.get("selections", {}).items():
        yield f"{at} not paid", _changed(inputs, "selections", drop=True)
        for bound in said:
            yield f"{at}: {bound} is nought", _changed(inputs, "selections", at, bound, to="0")
    for name in inputs.get("prophecies", {}):
        yield f"{name} unknown", _changed(inputs, "prophecies", name, drop=True)


@pytest.mark.parametrize("name", ACCEPTED)
def test_weaker_alignments_are_rejected(name):
    for what, forged in _weaker(ACCEPTED[name]):
        with pytest.raises(Rejected):
            pytest.fail(f"{what}: {computed('alignment', forged)}")


def _broken(inputs):
    """The same alignment for another text."""
    text = inputs["program"]["text"]
    for pattern, new in CHANGES:
        for match in re.finditer(pattern, text):
            made = text[: match.start()] + new + text[match.end() :]
            line = made.splitlines()[text[: match.start()].count("\n")].strip()
            yield line, _changed(_moved(inputs, text, made), "program", "text", to=made)


def _moved(inputs, before, after):
    """Positions behind a change move with the text."""
    change: int = next(place for place, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    line, column = before[:change].count("\n") + 1, change - before.rfind("\n", 0, change) - 1
    grown = len(after) - len(before)

    def moved(match):
        there = int(match[2])
        return f"{line}:{there + grown if there > column else there}"

    return json.loads(re.sub(rf"\b({line}):(\d+)", moved, json.dumps(inputs)))


@pytest.mark.parametrize("name", ACCEPTED)
def test_changed_programs_are_rejected(name):
    for line, forged in _broken(ACCEPTED[name]):
        if any(name == program and words in line for program, words in HARMLESS):
            continue
        with pytest.raises(Rejected):
            pytest.fail(f"{line}: {computed('alignment', forged)}")


@pytest.mark.parametrize("factor", ["-epsilon / 2", "(epsilon - 1) / 2", "0 * epsilon"])
def test_coins_of_chances_above_1_are_no_permute_and_flip(factor):
    inputs = ACCEPTED["PERMUTE_AND_FLIP"]
    text = inputs["program"]["text"].replace("epsilon / 2", factor)
    with pytest.raises(Rejected, match="a factor above 0"):
        computed("alignment", _changed(inputs, "program", "text", to=text))


def test_a_certificate_is_replayed_from_the_file(tmp_path):
    inputs = ACCEPTED["PARTIAL_SUM"]
    result = check("alignment", inputs)
    assert "partial_sum(rng, data, epsilon: real)" in result["statement"]
    path = tmp_path / "sum.json"

    def replayed(claim=PROGRAM, statement=result["statement"], inputs=inputs, **changed):
        certificate = Certificate(claim, statement, "alignment", inputs, {**result, **changed})
        path.write_text(json.dumps(certificate.to_json()))
        return replay(path)

    assert replayed().outcome == "holds"
    assert not replayed(claim="AUDIT").checks
    assert not replayed(statement="all is well").checks
    assert not replayed(conditions=7).checks
    doubled = _changed(inputs, "claim", "bound", to="2 * epsilon")
    assert not replayed(inputs=doubled).checks  # another statement


def _text(body, shifts=None, relation="one_query", parameters="epsilon: real", **found):
    """A program of that body, with that alignment."""
    named = "".join(f", {name}" for name in re.findall(r"(\w+):", parameters))
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    return alignment(f"def f(rng, data{named}):\n{lines}", relation, parameters, shifts=shifts or {}, **found)


_TOTAL = """
total = 0
for x in data:
    total += x
"""
_KNOWN = {"⟨for⟩": {"invariant": ["d(total) == (delta() if changed() < index('⟨for⟩') else 0)", "cost() <= 0"]}}


def _one(body, before="", parameters="epsilon: real", **found):
    """A program of data that are one number, which is claimed to be private for a change of it."""
    named = "".join(f", {name}" for name in re.findall(r"(\w+):", parameters))
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    text = f"import math\nimport numpy as np\n{before}def f(rng, data: float{named}):\n{lines}"
    return alignment(text, "one_query", parameters, **found)


UNSOUND = {
    "a shift that is the noise": _text(
        "first = rng.laplace(0, 1 / epsilon)\nreturn first + rng.laplace(0, 1 / epsilon)",
        {"⟨rng.laplace⟩": shift("1"), "3:19": shift("-first")},
    ),
    "a shift that has noise as a factor of what differs": _text(
        "a = rng.laplace(0, 1)\nb = a * data[0] if len(data) > 0 else a\nreturn rng.laplace(0, 1 / epsilon) + b",
        {"4:11": shift("-d(b)")},
    ),
    "a shift by a length that is noise": _text(
        "n = int(rng.laplace(0, 1))\nxs = [0] * n\nreturn rng.laplace(0, 1 / epsilon)", {"4:11": shift("len(xs)")}
    ),
    "a shift by how two noisy lengths differ": _text(
        "n = round(rng.laplace(0, 1))\nxs = [0] * n\nreturn rng.laplace(0, 1 / epsilon)",
        {"2:14": shift("1/2"), "4:11": shift("d(len(xs))")},
    ),
    "a shift by noise that was drawn": _text(
        "xs = rng.laplace(0, 1, size=3)\nreturn rng.laplace(0, 1 / epsilon)", {"3:11": shift("at('2:9')[0]")}
    ),
    "a shift by what a free branch left": _text(
        "b = 1 if rng.laplace(0, 1) > 0 else 2\nreturn rng.laplace(0, 1 / epsilon)", {"3:11": shift("b")}, free=["2:8"]
    ),
    "a shift by how noisy maxima differ": _text(
        "b = max(rng.laplace(0, 1), 0)\nreturn rng.laplace(0, 1 / epsilon) + b",
        {"2:12": shift("1"), "3:11": shift("-d(b)")},
        claim="100 * epsilon",
    ),
    "an assumption about the data": _text("return data[0] if len(data) > 0 else 1", assume=("d(data[0]) == 0",)),
    "an assumption about the neighbors": _text("return data[0] if len(data) > 0 else 1", assume=("delta() == 0",)),
    "a claim about the data": _text("return rng.laplace(data[0], 1 / epsilon)", claim="abs(d(data[0])) * 100"),
    "a shift by the cost": _text("return rng.laplace(0, 1 / epsilon)", {"⟨rng.⟩": shift("cost()")}),
    "a shift by the raw outcome of a coin": _text(
        "c = rng.random() < 1 / 2\nreturn rng.laplace(0, 1 / epsilon) + (1 if c else 0)", {"⟨rng.laplace⟩": shift("c")}
    ),
    "a prophecy of a real number": _text(
        "x = 0.0\nfor i in range(3):\n    x = rng.laplace(0, 1 / epsilon)\nreturn 1",
        {"⟨rng.⟩": shift("prophecy('K')")},
        prophecies={"K": {"variable": "x", "loop": "⟨for⟩", "scope": None}},
    ),
    "a prophecy that comes true twice": _text(
        "b = 0\nfor i in range(3):\n    for j in range(3):\n        b = j\nreturn b",
        prophecies={"K": {"variable": "b", "loop": "⟨for j⟩", "scope": None}},
    ),
    "a shift by noise that comes later": _text(
        "x = rng.laplace(0, 1)\ny = rng.laplace(0, 1)\nreturn x - y",
        {"⟨rng.laplace⟩": shift("y")},
        claim="100 * epsilon",
    ),
    "a factor that is below 0": _text(
        "return rng.laplace(0, -1 / c)", parameters="c: real", claim="c", assume=("c < 0",)
    ),
    "a shift that is rounded down for real noise of whole cost": _text(
        f"{_TOTAL}return total + rng.laplace(0, 1 / epsilon)", {"⟨rng.⟩": shift("-floor(d(total))")}, loops=_KNOWN
    ),
    "an invariant that divides by 0 where it is chosen": _text(
        "x = 0\ncount = 0\nfor i in range(3):\n    x = 0\nreturn x",
        loops={"⟨for⟩": {"invariant": ["x == (count / count if count == 0 else 0)"]}},
    ),
    "Gaussian DP with a mu below 0": _text("return 1", notion="gaussian", claim="0 - epsilon"),
    "Gaussian DP by noise that is not Gaussian": _text(
        f"{_TOTAL}return total + rng.laplace(0, 1 / epsilon)",
        {"⟨rng.⟩": shift("-d(total)")},
        loops=_KNOWN,
        notion="gaussian",
    ),
    "a scale of the data": _text("return rng.laplace(0, 1 + data[0] * data[0])"),
    "a scale that may be 0": _text("return rng.laplace(0, c / epsilon)", parameters="epsilon: real, c: int"),
    "a private branch": _text(f"{_TOTAL}if total > 0:\n    return 1\nreturn 0", loops=_KNOWN),
    "a private equality": _text(f"{_TOTAL}if total == 0:\n    return 1\nreturn 1", loops=_KNOWN, values="int"),
    "draws in a private branch": _text("for x in data:\n    if x > 0:\n        y = rng.laplace()\nreturn 1"),
    "a branch that is free and returns": _text(
        f"{_TOTAL}if total > 0:\n    return 1\nreturn 0", loops=_KNOWN, free=["⟨if⟩"]
    ),
    "an index that may be out of range": _text("return data[3] * 0"),
    "a divisor that may be 0": _text("return rng.laplace(0, 1) + 1 / c", parameters="epsilon: real, c: int"),
    "a variable that may have no value": _text("for x in data:\n    y = 1\nreturn y"),
    "the length, which was added to": _text("return len(data)", relation="add_or_remove_one:entry"),
    "noise for the added entry": _text(
        "s = 0\nfor x in data:\n    s += rng.laplace(0, 1 / epsilon)\nreturn 1", relation="add_or_remove_one:entry"
    ),
    "Gaussian noise for a pure claim": _text(
        f"{_TOTAL}return total + rng.normal(0, 1 / epsilon)", {"⟨rng.⟩": shift("-d(total)")}, loops=_KNOWN
    ),
    "exponential noise downwards": _text(
        f"{_TOTAL}return total + rng.exponential(1 / epsilon)", {"⟨rng.⟩": shift("-d(total)")}, loops=_KNOWN
    ),
    "two-sided geometric noise on real numbers": _text(
        f"{_TOTAL}return total + rng.geometric(1 / 2) - rng.geometric(1 / 2)",
        {"⟨rng.⟩": shift("-d(total)")},
        loops=_KNOWN,
        claim="log(2)",
    ),
    "zCDP with a shift that looks ahead": _text(
        "x = rng.normal(0, 1)\nif x > 0:\n    return 1\nreturn 0",
        {"⟨rng.⟩": [{"when": {"⟨if⟩": True}, "shift": "0"}]},
        notion="zcdp",
    ),
    "an invariant that divides by 0": _text(
        "x = 0\ncount = 0\nfor i in range(3):\n    x = 0\nreturn x",
        loops={"⟨for⟩": {"invariant": ["x == count / count"]}},
    ),
    "an entry that is visited twice": _text(
        "out = []\nfor x in data:\n    out.append(data[0] + rng.laplace(0, 1 / epsilon))\nreturn out",
        {"⟨rng.⟩": shift("-d(data[0])")},
        loops={"⟨for⟩": {"invariant": ["cost() <= (epsilon if changed() < index('⟨for⟩') else 0)"]}},
        lists={"out": ["d(out[k]) == 0"]},
    ),
    "the value of a number among truths": _text("return (1 > 2 and rng.laplace()) or 3"),
    "a shift by how long the list is that is being drawn": _text(
        "xs = rng.laplace(0, 1 / epsilon, size=len(data))\nreturn xs + 1",
        {"2:9": shift('1 if len(at("2:9")) == len(data) else 0')},
        loops={"2:9": {"invariant": ["cost() == 0"]}},
    ),
    "numbers that are inverted bit by bit": _text("xs = rng.laplace(0, 1, size=3)\nreturn (~xs).sum() * 0"),
    "truth values that numpy adds up to one": _text(
        "xs = rng.laplace(0, 1, size=3) > 0\nys = (xs + xs).sum()\nreturn 1",
    ),
    "neighbors that no list has": {
        **_text("return data[0] if len(data) > 0 else 1"),
        "relation": {"kind": "all_queries", "radius": "-1"},
    },
    "a branch by how numbers are rounded": _text("if 1 + 1e-20 == 1:\n    return data[0]\nreturn 1"),
    "an even power of a factor that is below 0": _text(
        f"{_TOTAL}return total + rng.laplace(0, 1 / (c * c))",
        {"⟨rng.⟩": shift("-d(total)")},
        loops=_KNOWN,
        parameters="c: real",
        claim="0",
        assume=("c < 0",),
    ),
    "a cost below 0, by the square of the root of what is below 0": _text(
        f"{_TOTAL}unused = rng.normal(0, 1)\nreturn total + rng.normal(0, 1)",
        {"5:13": shift("sqrt(0 - 1000)"), "6:19": shift("-d(total)")},
        loops=_KNOWN,
        notion="zcdp",
        claim="0",
    ),
    "the first entries, of which an added one pushes another out": _text(  # the loss is 2 epsilon
        "total = 0\nfor x, i in zip(data, range(k)):\n    total += x\nreturn total + rng.laplace(0, 1 / epsilon)",
        {"⟨rng.⟩": shift("-d(total)")},
        loops={"⟨for⟩": {"invariant": ["abs(d(total)) <= (1 if changed() < index('⟨for⟩') else 0)", "cost() == 0"]}},
        relation="add_or_remove_one:entry",
        parameters="epsilon: real, k: int",
        bounds=("-1", "1"),
    ),
    "products of truth values that numpy adds up to one": _one(
        "p = np.array([data]) > 0\nq = p * p\nreturn q + q - 2 * q"
    ),
    "a largest truth value, which numpy adds up to one": _one(
        "a = np.max(np.array([data]) > 0)\nreturn a + a - 2 * a", loops={"⟨np.max⟩": {"invariant": ["cost() == 0"]}}
    ),
    "a truth value in a list of numbers, which numpy adds up to one": _one(
        "p = np.array([data]) > 0\nxs = [p[0], 3]\nreturn xs[0] + xs[0] - 2 * xs[0]"
    ),
    "the absolute value of a truth value": _one("p = np.abs(np.array([data]) > 0)\nreturn p + p - 2 * p"),
    "two names of one array": _one("b = np.zeros(1)\na, c = b, 0\nb[0] = data\nreturn a"),
    "a start of enumerate that changes": _text(
        "c = s = 0\nfor i, x in enumerate(data, c):\n    c = 10\n    if i == 1:\n        s = x\nreturn s",
        loops={
            "⟨for⟩": {"invariant": ["c == (10 if index('⟨for⟩') > 0 else 0)", "s == 0", "d(s) == 0", "cost() == 0"]}
        },
    ),
    "an error where None is compared": _one("y = None if data > 0 else 1\nreturn max(1, y)", free=["⟨None if⟩"]),
    "a loop without end that Python does not come to": _one(
        "if b:\n    return 0\nif 5 < data < spin():\n    return 1\nreturn 0",
        "def spin():\n    while True:\n        pass\n    return 0\n\n\n",
        parameters="epsilon: real, b: bool",
    ),
    "an error in what np.where does not choose": _one("return 0 * np.where(data > 0, 1 / data, 0)"),
    "an error in a factor of an empty array": _one("z = np.zeros(0) * (1 / data)\nreturn 0"),
    "an error by an index that is a float": _one("xs = [0]\nreturn len([xs[0.0] if x > 9 else 0 for x in [data]])"),
    "an error by a count that numpy rounds": _one(
        "return len([len([0] * np.floor(2)) if x > 9 else 0 for x in [data]])"
    ),
    "an error by math of an array": _one(
        "xs = np.zeros(3)\nreturn len([len(math.exp(xs)) if x > 9 else 0 for x in [data]])"
    ),
    "an error by a number that numpy makes a text": _one(
        'xs = np.array([1, "a"])\nreturn len([xs[0] + 1 if x > 9 else 0 for x in [data]])'
    ),
    "an error by a number that np.where makes a text": _one(
        'xs = np.where(np.zeros(1) > 1, "a", 1)\nreturn len([xs[0] + 1 if x > 9 else 0 for x in [data]])'
    ),
    "an error by a truth value of numpy as an index": _one(
        "p = np.zeros(1) > 0\nxs = [0]\nreturn len([xs[p[0]] if x > 9 else 0 for x in [data]])"
    ),
    "a prophecy of two loops at one place": _one(
        "xs = np.arange(3).cumsum().max()\nreturn 1",
        prophecies={"K": {"variable": "acc('⟨np.arange⟩')", "loop": "⟨np.arange⟩", "scope": None}},
    ),
}


REASONS = {
    "products of truth values that numpy adds up to one": "otherwise in numpy",
    "a largest truth value, which numpy adds up to one": "otherwise in numpy",
    "a truth value in a list of numbers, which numpy adds up to one": "otherwise in numpy",
    "the absolute value of a truth value": "otherwise in numpy",
    "two names of one array": "assigned one by one",
    "a start of enumerate that changes": "s == 0",
    "an error where None is compared": "not None or a text",
    "a loop without end that Python does not come to": "behind its first sign",
    "an error in what np.where does not choose": "a divisor other than 0",
    "an error in a factor of an empty array": "a divisor other than 0",
    "an error by an index that is a float": "may be a float",
    "an error by a count that numpy rounds": "may be a float",
    "an error by math of an array": "a number belongs here",
    "an error by a number that numpy makes a text": "not None or a text",
    "an error by a number that np.where makes a text": "not None or a text",
    "an error by a truth value of numpy as an index": "no integer by its form",
    "a prophecy of two loops at one place": "one loop",
    "a cost below 0, by the square of the root of what is below 0": "no root of what is below 0",
    "an even power of a factor that is below 0": "a cost within the bound",
    "the first entries, of which an added one pushes another out": "the same branch in both runs",
    "a shift by the cost": "may not depend on the cost",
    "a prophecy of a real number": "cannot be foretold",
    "a prophecy that comes true twice": "one loop directly within",
    "an assumption about the data": "is not public",
    "an assumption about the neighbors": "is not public",
    "a claim about the data": "is not public",
    "a shift by how long the list is that is being drawn": "no such variable",
    "numbers that are inverted bit by bit": "~ is for truth values",
    "truth values that numpy adds up to one": "otherwise in numpy",
    "neighbors that no list has": "the radius is above 0",
    "an invariant that divides by 0": "a divisor other than 0 in count / count",
    "an invariant that divides by 0 where it is chosen": "a divisor other than 0 in count / count",
    "a shift by noise that comes later": "there is no such variable",
    "a factor that is below 0": "a cost within the bound",
    "Gaussian DP with a mu below 0": "a mu that is at least 0",
    "Gaussian DP by noise that is not Gaussian": "a cost of Gaussian noise alone",
}


@pytest.mark.parametrize("what", UNSOUND)
def test_unsound_alignments_are_rejected(what):
    with pytest.raises(Rejected, match=REASONS.get(what, ".")):
        pytest.fail(f"{what}: {computed('alignment', UNSOUND[what])}")
