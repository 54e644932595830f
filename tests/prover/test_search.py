"""The search finds alignments that the checker accepts, and none for what is broken."""

import json

import pytest

from dpassay.prover.problem import Problem
from dpassay.prover.program_text import Program
from dpassay.prover.search import Failure, find_alignment, infer_bound
from dpassay.replay import Rejected, alignment

SVT = """
def above(rng, queries, epsilon, c: int, threshold):
    rho = rng.laplace(0, 2 / epsilon)
    answers = []
    count = 0
    for query in queries:
        if query + rng.laplace(0, SCALE * c / epsilon) >= threshold + rho:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers
"""
NOISY_MAX = """
def winner(rng, queries, epsilon):
    best, largest = 0, 0
    for i, query in enumerate(queries):
        noisy = query + rng.NOISE
        if i == 0 or noisy > largest:
            best, largest = i, noisy
    return best
"""
ARGMAX = """
import numpy as np

def winner(rng, queries, epsilon):
    return np.argmax(np.asarray(queries) + rng.laplace(scale=2 / epsilon, size=len(queries)))
"""
SUM = """
def total(rng, values, epsilon):
    result = 0
    for value in values:
        result += min(max(value, 0), BOUND)
    return result + rng.laplace(0, BOUND / epsilon)
"""
HISTOGRAM = """
def cells(rng, counts, epsilon):
    return [count + rng.laplace(0, 1 / epsilon) for count in counts]
"""
SMART_SUM = """
def smart(rng, queries, epsilon, block: int):
    answers = []
    released = 0
    total = 0
    for i, query in enumerate(queries):
        if (i + 1) % block == 0:
            released = total + query + rng.laplace(0, 1 / epsilon)
            total = 0
        else:
            released = released + query + rng.laplace(0, 1 / epsilon)
            total += query
        answers.append(released)
    return answers
"""
COINS = """
import math

def answers(rng, bits, epsilon):
    p = 1 / (1 + math.exp(-epsilon))
    told = []
    for bit in bits:
        told.append(bit if rng.random() < p else 1 - bit)
    return told
"""
GAUSSIAN = """
import math

def total(rng, queries, rho):
    return sum(queries) + rng.normal(0, 1 / math.sqrt(2 * rho))
"""

ADDED = """
def total(rng, values, epsilon, bound):
    result = 0
    for value in values:
        result += min(max(value, 0), bound)
    noisy = result + rng.laplace(0, 2 * bound / epsilon)
    count = len(values) + rng.laplace(0, 2 / epsilon)
    return noisy / max(count, 1)
"""
SELECTION = """
import numpy as np

def choice(rng, scores, epsilon):
    weights = np.exp(SCALE * np.asarray(scores))
    return rng.choice(len(scores), p=weights / weights.sum())
"""
FROM_NOTHING = """
import numpy as np

def winner(rng, queries, epsilon):
    best, largest = -1, -np.inf
    for i, query in enumerate(queries):
        noisy = query + rng.laplace(0, SCALE)
        if noisy > largest:
            best, largest = i, noisy
    return best
"""
FROM_NONE = FROM_NOTHING.replace("-np.inf", "None").replace("if noisy", "if largest is None or noisy")
COUNTED = """
import math

def ones(rng, bits, epsilon):
    p = 1 / (1 + math.exp(-epsilon))
    count = 0
    for bit in bits:
        count += bit if rng.random() < p else 1 - bit
    return count
"""

BIASED = """
import math

def answers(rng, bits, epsilon):
    p = 1 / (1 + math.exp(-epsilon))
    out = []
    for bit in bits:
        out.append(rng.random() < CHANCE)
    return out
"""
PERMUTED = """
import math

def flips(rng, scores, epsilon):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(SCALE * (scores[i] - best)):
            return int(i)
    return None
"""


def stated(text, relation, parameters=None, **claim):
    entry = text.split("def ")[-1].split("(")[0]
    parameters = parameters or {"epsilon": "real"}
    assume = (*(f"{name} > 0" for name in parameters if name in ("epsilon", "rho")), *claim.pop("assume", ()))
    program = Program(text, entry, parameters, "", ((1, "there", 1),))
    return program, Problem(relation, parameters=parameters, assume=assume, **claim)


SVT_PARAMETERS = {"epsilon": "real", "c": "int", "threshold": "real"}
ONE_OR_MORE = {"parameters": SVT_PARAMETERS, "assume": ("c >= 1",)}
BOUND = {"parameters": {"epsilon": "real", "bound": "real"}, "assume": ("bound > 0",)}
BITS = {"bounds": ("0", "1"), "values": "int"}
CELLS = """
def cells(rng, places, epsilon, size: int):
    counts = [0] * size
    for place in places:
        counts[place] += 1
    return [count + rng.laplace(0, NOISE / epsilon) for count in counts]
"""
FILTERED_CELLS = """
def cells(rng, places, epsilon, size: int):
    answers = []
    for cell in range(size):
        answers.append(len([place for place in places if place == cell]) + rng.laplace(0, NOISE / epsilon))
    return answers
"""
EDGES = """
def edges(rng, values, epsilon, edges: list[float]):
    scale = len(edges) / epsilon
    return [sum(1 for value in values if value < edge) + rng.laplace(0, scale) for edge in edges]
"""
UNARY = """
import math

def unary(rng, value: int, epsilon, size: int):
    p = 1 / (1 + math.exp(-epsilon / NOISE))
    answers = []
    for i in range(size):
        truth = 1 if i == value else 0
        answers.append(truth if rng.random() < p else 1 - truth)
    return answers
"""
FLIPS = """
import math
import numpy as np

def answers(rng, bits, epsilon):
    flips = rng.random(size=len(bits)) < 1 / (1 + math.exp(epsilon))
    return np.where(flips, 1 - np.asarray(bits), bits)
"""
PLACES = {
    "parameters": {"epsilon": "real", "size": "int"}, "bounds": ("0", "size - 1"), "values": "int",
}  # fmt: skip
HELPER = """
def noisy(rng, value, scale):
    return value + rng.laplace(0, scale)

def first_above(rng, queries, epsilon):
    limit = noisy(rng, 1, 2 / epsilon)
    for i, query in enumerate(queries):
        if noisy(rng, query, SCALE / epsilon) >= limit:
            return i
    return None
"""
FROM_THE_END = """
def winner(rng, queries, epsilon):
    best, largest = 0, -float("inf")
    for i in range(len(queries) - 1, -1, -1):
        noisy = queries[i] + rng.laplace(0, SCALE)
        if noisy > largest:
            best, largest = i, noisy
    return best
"""
PAIRS = """
def pairs(rng, stream, epsilon):
    return [stream[i] + stream[i - 1] + rng.laplace(0, SCALE) for i in range(1, len(stream))]
"""
FIRST = """
import numpy as np

def first(rng, counts, epsilon):
    noisy = np.asarray(counts) + rng.laplace(scale=1 / epsilon, size=len(counts))
    return noisy[PLACE] if len(counts) else None
"""
ROUNDED = """
import math

def rounded(rng, queries, epsilon):
    p = 1 - math.exp(-epsilon)
    return math.floor(sum(queries)) + rng.geometric(p) - rng.geometric(p)
"""
SQUARES = """
def squares(rng, values, epsilon, bound):
    total = sum(min(max(value, 0), bound) ** POWER for value in values)
    return total + rng.laplace(0, bound**2 / epsilon)
"""
STEPS = """
def steps(rng, values, epsilon, count: int):
    place = 0.0
    for _ in range(count):
        gradient = 0
        for value in values:
            gradient += 1 if place > value else -1
        place -= gradient + rng.laplace(0, SCALE * count / epsilon)
    return place
"""
TRUTHS = """
def truths(rng, queries, epsilon):
    answers = []
    limit = rng.laplace(0, 2 / epsilon)
    for query in queries:
        above = query + rng.laplace(0, 2 / epsilon) >= limit
        answers.append(above)
        if above:
            break
    return answers
"""
BY_LENGTH = """
import math

def answers(rng, queries, rho):
    sigma = math.sqrt(len(queries) / (SHARE))
    return [query + rng.normal(0, sigma) for query in queries]
"""
STEP = {"parameters": {"epsilon": "real", "count": "int"}, "assume": ("count >= 1",)}
RHO = {"notion": "zcdp", "bound": "rho"}
MU = {"notion": "gaussian", "bound": "rho"}
SOME = {"parameters": {"epsilon": "real", "k": "int"}, "assume": ("k >= 1",)}
PEELED = """
def best(rng, scores, epsilon, k: int):
    left = list(range(len(scores)))
    chosen = []
    for _ in range(min(k, len(scores))):
        noisy = [scores[i] + rng.laplace(0, SCALE) for i in left]
        chosen.append(left.pop(noisy.index(max(noisy))))
    return chosen
"""
REPLACED = """
import numpy as np

def best(rng, scores, epsilon, k: int):
    left = list(range(len(scores)))
    chosen = []
    for _ in range(min(k, len(scores))):
        weights = np.exp([SCALE * scores[i] for i in left])
        place = rng.choice(len(left), p=weights / weights.sum())
        chosen.append(left.pop(place))
    return chosen
"""
UNTOLD = """
import numpy as np

def nothing(rng, scores, epsilon, k: int):
    chosen = []
    for _ in range(min(k, len(scores))):
        weights = np.exp(epsilon / (2 * k) * np.asarray(scores))
        place = rng.choice(len(scores), p=weights / weights.sum())
    return chosen
"""
DIFFERENCES = """
def differences(rng, stream, epsilon):
    answers = []
    for before, after in zip(stream[:-1], stream[1:], strict=True):
        answers.append(after - before + rng.laplace(0, SCALE))
    return answers
"""
PARTS = """
def parts(rng, values, epsilon, bound):
    upper = lower = 0
    for value in values:
        clipped = max(-bound, min(value, bound))
        if clipped >= 0:
            upper += clipped
        else:
            lower += clipped
    return lower + rng.laplace(0, SCALE), upper + rng.laplace(0, SCALE)
"""
SHARES = """
import math

def chosen(rng, scores, epsilon):
    weights = [math.exp(SCALE * score) for score in scores]
    total = sum(weights)
    return rng.choice(len(scores), p=[weight / total for weight in weights])
"""
EQUAL = """
import numpy as np

def anything(rng, value: int, k: int):
    weights = np.ones(k)
    return rng.choice(k, p=weights / weights.sum())
"""
ONE_SIDED = """
def ones(rng, bits: list[int], k: int):
    return [int(rng.random() < 1.5) for _ in bits]
"""
PROVABLE = {
    "sparse vector": stated(SVT.replace("SCALE", "4"), "all_queries", **ONE_OR_MORE),
    "monotone sparse vector": stated(SVT.replace("SCALE", "2"), "monotone_queries", **ONE_OR_MORE),
    "noisy max": stated(NOISY_MAX.replace("NOISE", "laplace(0, 2 / epsilon)"), "all_queries"),
    "noisy max, exponential": stated(NOISY_MAX.replace("NOISE", "exponential(2 / epsilon)"), "all_queries"),
    "argmax": stated(ARGMAX, "all_queries"),
    "clipped sum": stated(SUM.replace("BOUND", "5"), "replace_one:entry"),
    "histogram": stated(HISTOGRAM, "one_query"),
    "smart sum": stated(SMART_SUM, "one_query", {"epsilon": "real", "block": "int"}, bound="2 * epsilon",
                        assume=("block >= 1",)),
    "randomized response": stated(COINS, "replace_one:entry", **BITS),
    "gaussian sum": stated(GAUSSIAN, "one_query", {"rho": "real"}, notion="zcdp", bound="rho"),
    "mean of added records": stated(ADDED, "add_or_remove_one:entry", **BOUND),
    "exponential mechanism": stated(SELECTION.replace("SCALE", "epsilon / 2"), "all_queries"),
    "a coin that the bit chooses": stated(
        BIASED.replace("CHANCE", "(p if bit == 1 else 1 - p)"), "replace_one:entry", **BITS
    ),
    "a coin that the bit moves": stated(
        BIASED.replace("CHANCE", "0.25 + 0.5 * bit"), "replace_one:entry", bound="log(3)", **BITS
    ),
    "permute-and-flip": stated(PERMUTED.replace("SCALE", "epsilon / 2"), "all_queries"),
    "permute-and-flip, monotone": stated(PERMUTED.replace("SCALE", "epsilon"), "monotone_queries"),
    "exponential mechanism, monotone": stated(SELECTION.replace("SCALE", "epsilon"), "monotone_queries"),
    "noisy max from nothing": stated(FROM_NOTHING.replace("SCALE", "2 / epsilon"), "all_queries"),
    "noisy max from None": stated(
        FROM_NONE.replace("SCALE", "2 / epsilon"),
        "all_queries",
    ),
    "randomized response, counted": stated(COUNTED, "replace_one:entry", **BITS),
    "cells, replaced": stated(CELLS.replace("NOISE", "2"), "replace_one:entry", **PLACES),
    "cells, added": stated(FILTERED_CELLS.replace("NOISE", "1"), "add_or_remove_one:entry", **PLACES),
    "counts below edges": stated(EDGES, "replace_one:entry", {"epsilon": "real", "edges": "list[real]"}),
    "unary encoding": stated(UNARY.replace("NOISE", "2"), "replace_one:entry", single=True, **PLACES),
    "flips": stated(FLIPS, "replace_one:entry", **BITS),
    "a helper that draws": stated(HELPER.replace("SCALE", "4"), "all_queries"),
    "noisy max from the end": stated(FROM_THE_END.replace("SCALE", "2 / epsilon"), "all_queries"),
    "entries in two sums": stated(PAIRS.replace("SCALE", "2 / epsilon"), "one_query"),
    "scales of the counter": stated(PAIRS.replace("stream[i - 1]", "1").replace("SCALE", "i / epsilon"), "one_query"),
    "sparse vector, noise to spare": stated(
        SVT.replace("SCALE", "4").replace("2 / epsilon", "3 / epsilon"), "all_queries", **ONE_OR_MORE
    ),
    "choices that are not told": stated(
        UNTOLD, "all_queries", {"epsilon": "real", "k": "int"}, assume=("k >= 1",)
    ),
    "coins that always fall one way": stated(ONE_SIDED, "replace_one:entry", {"k": "int"}, values="int", bound="0"),
    "a list of probabilities": stated(SHARES.replace("SCALE", "epsilon / 2"), "all_queries"),
    "differences of neighbors": stated(DIFFERENCES.replace("SCALE", "2 / epsilon"), "one_query"),
    "the k best, peeled": stated(PEELED.replace("SCALE", "2 * k / epsilon"), "all_queries", **SOME),
    "the k best, without replacement": stated(REPLACED.replace("SCALE", "epsilon / (2 * k)"), "all_queries", **SOME),
    "two sums, an entry in one": stated(PARTS.replace("SCALE", "bound / epsilon"), "add_or_remove_one:entry", **BOUND),
    "equal weights": stated(
        EQUAL, "replace_one:entry", {"k": "int"}, assume=("k >= 2",), values="int", bound="0", single=True
    ),
    "a list's first number": stated(FIRST.replace("PLACE", "0"), "one_query"),
    "a sum rounded down": stated(ROUNDED, "one_query"),
    "squares": stated(SQUARES.replace("POWER", "2"), "replace_one:entry", **BOUND),
    "steps that noise decides": stated(STEPS.replace("SCALE", "2"), "replace_one:entry", **STEP),
    "truths as they are": stated(TRUTHS, "monotone_queries"),
    "Gaussian DP": stated(GAUSSIAN.replace("math.sqrt(2 * rho)", "rho"), "one_query", {"rho": "real"}, **MU),
    "Laplace noise, concentrated": stated(HISTOGRAM, "one_query", notion="zcdp", bound="epsilon**2 / 2"),
    "variance by the length": stated(BY_LENGTH.replace("SHARE", "2 * rho"), "all_queries", {"rho": "real"}, **RHO),
}  # fmt: skip
BROKEN = {
    "a coin that the bit chooses, for less": stated(
        BIASED.replace("CHANCE", "(p if bit == 1 else 1 - p)"), "replace_one:entry", bound="0.9 * epsilon", **BITS
    ),
    "a coin that the bit moves, for less": stated(
        BIASED.replace("CHANCE", "0.25 + 0.5 * bit"), "replace_one:entry", bound="log(2.9)", **BITS
    ),
    "a coin that the bit makes sure": stated(
        BIASED.replace("CHANCE", "(p if bit == 1 else 0)"), "replace_one:entry", **BITS
    ),
    "permute-and-flip, scores move both ways": stated(PERMUTED.replace("SCALE", "epsilon"), "all_queries"),
    "the k best, with the noise of one": stated(PEELED.replace("SCALE", "2 / epsilon"), "all_queries", **SOME),
    "the k best, with their values": stated(
        PEELED.replace("SCALE", "2 * k / epsilon")
        .replace("list(range(len(scores)))", "list(scores)")
        .replace("scores[i]", "i"),
        "all_queries",
        **SOME,
    ),
    "the k best, with the best value": stated(
        PEELED.replace("SCALE", "2 * k / epsilon").replace("left.pop(", "noisy.pop("), "all_queries", **SOME
    ),
    "the k best, one too many": stated(
        PEELED.replace("SCALE", "2 * k / epsilon").replace("min(k,", "min(k + 1,"), "all_queries", **SOME
    ),
    "the k best without noise": stated(
        PEELED.replace("rng.laplace(0, SCALE)", "0 * rng.laplace(0, SCALE)").replace("SCALE", "2 * k / epsilon"),
        "all_queries",
        **SOME,
    ),
    "the k best, weights of one": stated(REPLACED.replace("SCALE", "epsilon / 2"), "all_queries", **SOME),
    "two sums, an entry in both": stated(
        PARTS.replace("SCALE", "bound / epsilon").replace("else:", "if clipped < bound:"),
        "add_or_remove_one:entry",
        **BOUND,
    ),
    "two sums, an entry replaced": stated(PARTS.replace("SCALE", "bound / epsilon"), "replace_one:entry", **BOUND),
    "differences of neighbors": stated(DIFFERENCES.replace("SCALE", "1.9 / epsilon"), "one_query"),
    "a list of probabilities": stated(SHARES.replace("SCALE", "epsilon"), "all_queries"),
    "cells, half the noise": stated(CELLS.replace("NOISE", "1"), "replace_one:entry", **PLACES),
    "unary encoding, half the noise": stated(UNARY.replace("NOISE", "1"), "replace_one:entry", single=True, **PLACES),
    "sparse vector, half the noise": stated(SVT.replace("SCALE", "2"), "all_queries", **ONE_OR_MORE),
    "noisy max, half the noise": stated(NOISY_MAX.replace("NOISE", "laplace(0, 1 / epsilon)"), "all_queries"),
    "noisy max, its value": stated(
        NOISY_MAX.replace("NOISE", "laplace(0, 2 / epsilon)").replace("return best", "return largest"), "all_queries"
    ),
    "smart sum claims too little": stated(SMART_SUM, "one_query", {"epsilon": "real", "block": "int"}),
    "exact number of records": stated(
        ADDED.replace("len(values) + rng.laplace(0, 2 / epsilon)", "len(values)"), "add_or_remove_one:entry", **BOUND
    ),
    "half the noise on added records": stated(ADDED.replace("2 * bound", "bound"), "add_or_remove_one:entry", **BOUND),
    "exponential mechanism, both ways": stated(SELECTION.replace("SCALE", "epsilon"), "all_queries"),
    "noisy max from nothing, half the noise": stated(FROM_NOTHING.replace("SCALE", "1 / epsilon"), "all_queries"),
    "histogram, all cells": stated(HISTOGRAM, "all_queries"),
    "one coin for two bits": stated(
        COINS.replace("    told = []\n", "    told = []\n    truth = rng.random() < p\n").replace(
            "rng.random() < p else", "truth else"
        ),
        "replace_one:entry",
        **BITS,
    ),
    "a helper that draws half": stated(HELPER.replace("SCALE", "2"), "all_queries"),
    "noisy max from the end, half the noise": stated(FROM_THE_END.replace("SCALE", "1 / epsilon"), "all_queries"),
    "entries in two sums, half the noise": stated(PAIRS.replace("SCALE", "1 / epsilon"), "one_query"),
    "a list's second number": stated(FIRST.replace("PLACE", "0] + counts[len(counts) - 1"), "one_query"),
    "cubes": stated(SQUARES.replace("POWER", "3"), "replace_one:entry", **BOUND),
    "steps with half the noise": stated(STEPS.replace("SCALE", "1"), "replace_one:entry", **STEP),
    "half of the variance by the length": stated(
        BY_LENGTH.replace("SHARE", "4 * rho"), "all_queries", {"rho": "real"}, **RHO
    ),
    "Gaussian DP, half the variance": stated(
        GAUSSIAN.replace("math.sqrt(2 * rho)", "(2 * rho)"), "one_query", {"rho": "real"}, **MU
    ),
    "Laplace noise, Gaussian DP": stated(HISTOGRAM, "one_query", notion="gaussian"),
    "gaussian sum, half the variance": stated(
        GAUSSIAN.replace("2 * rho", "4 * rho"), "one_query", {"rho": "real"}, notion="zcdp", bound="rho"
    ),
}


def found_for(name):
    """The certificate's inputs for one of the programs."""
    found = find_alignment(*PROVABLE[name])
    assert not isinstance(found, Failure), found
    return found


def checked(inputs):
    """What the checker says of what the search found, as it would come from a file."""
    return alignment.compute(json.loads(json.dumps(inputs)))


@pytest.mark.parametrize("name", PROVABLE)
def test_what_is_found_is_accepted(name):
    assert checked(found_for(name))["supports"] == "holds"


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_is_proved_of_what_is_broken(name):
    found = find_alignment(*BROKEN[name])
    if not isinstance(found, Failure):
        with pytest.raises(Rejected):
            checked(found)


def test_a_proof_says_no_more_than_it_needs():
    found = found_for("sparse vector")
    assert found["shifts"]["3:10"] == [{"when": {}, "shift": "1"}]
    invariant = found["loops"]["6:4"]["invariant"]
    assert len(invariant) <= 5
    assert invariant[-1].startswith("cost() <= epsilon / 2")


def test_every_invariant_is_needed():
    found = found_for("sparse vector")
    texts = found["loops"]["6:4"]["invariant"]
    cut = texts[:-1]
    with pytest.raises(Rejected):
        checked({**found, "loops": {"6:4": {"invariant": cut}}})


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("histogram", "epsilon"),
        ("smart sum", "2 * epsilon"),
        ("clipped sum", "epsilon"),
        ("Gaussian DP", "rho"),
        ("a coin that the bit chooses", "epsilon"),
        ("permute-and-flip", "epsilon"),
    ],
)
def test_the_smallest_bound_is_inferred(name, bound):
    found = infer_bound(*PROVABLE[name])
    assert not isinstance(found, Failure), found
    assert found[0] == bound
    assert checked(found[1])["supports"] == "holds"


def test_what_is_not_understood_is_said():
    text = "def f(rng, data, epsilon):\n    with rng:\n        return 0\n"
    found = find_alignment(*stated(text, "one_query"))
    assert isinstance(found, Failure)
    assert "line 2" in found.reason


def test_a_search_that_breaks_down_is_no_proof(monkeypatch):
    def breaks_down(self, search, explored, strategy):
        raise ZeroDivisionError("a scale of 0")

    monkeypatch.setattr("dpassay.prover.search.Attempts.__init__", breaks_down)
    found = find_alignment(*PROVABLE["histogram"])
    assert isinstance(found, Failure)
    assert found.reason == "the search failed: ZeroDivisionError: a scale of 0"


def test_sorts_of_another_program_do_not_stay():
    text = COINS.replace("told.append(bit if", "told.append(2 * bit if").replace("else 1 - bit", "else 2 - 2 * bit")
    find_alignment(*stated(text, "one_query"))
    found = find_alignment(*PROVABLE["randomized response"])
    assert not isinstance(found, Failure), found


def test_the_limit_of_time_is_kept():
    program, problem = PROVABLE["sparse vector"]
    found = find_alignment(program, problem, seconds=0)
    assert isinstance(found, Failure)
    assert "time" in found.reason


CHOICE = """
import numpy as np

def pick(rng, scores, epsilon):
    weights = [1 + np.exp(epsilon * score / 2) for score in scores]
    return rng.choice(len(scores), p=weights / np.sum(weights))
"""
MEAN = """
import numpy as np

def mean(rng, values, epsilon, bound):
    if len(values) != 0:
        return None
    return np.mean(values) + rng.laplace(scale=bound / (len(values) * epsilon))
"""


@pytest.mark.parametrize(
    ("text", "given", "reason"),
    [
        (CHOICE, {}, "weights of a choice that are not each an exponential of a score"),
        (MEAN, {"bounds": (0, "bound"), **BOUND}, "something is divided by 0"),
    ],
    ids=["weights of two terms", "an empty list has no mean"],
)
def test_why_a_search_fails_is_said_in_words_of_ours(text, given, reason):
    found = find_alignment(*stated(text, "replace_one:entry", **given))
    assert isinstance(found, Failure)
    assert reason in found.reason
