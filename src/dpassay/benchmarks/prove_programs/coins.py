"""Randomized response, unary encoding and other coins, and broken twins.

S. L. Warner: Randomized Response (JASA 1965). P. Kairouz, S. Oh, P. Viswanath: Extremal Mechanisms for Local
Differential Privacy (JMLR 2016). T. Wang et al.: Locally Differentially Private Protocols for Frequency Estimation
(USENIX Security 2017). U. Erlingsson, V. Pihur, A. Korolova: RAPPOR (CCS 2014).
"""

import math

import numpy as np

from dpassay.benchmarks.prove_programs.record import Program


def randomized_response(rng, bits: list[int], epsilon):
    """Every bit is told truly with probability e^epsilon / (1 + e^epsilon)."""
    answers = []
    for bit in bits:
        if rng.random() < math.exp(epsilon) / (1 + math.exp(epsilon)):
            answers.append(bit)
        else:
            answers.append(1 - bit)
    return answers


def randomized_response_flips(rng, bits: list[int], epsilon):
    """Flips by numpy."""
    flips = rng.random(size=len(bits)) < 1 / (1 + np.exp(epsilon))
    return np.where(flips, 1 - np.asarray(bits), bits)


def randomized_response_comprehension(rng, bits: list[int], epsilon):
    """Flips in a comprehension."""
    p = 1 / (1 + math.exp(-epsilon))
    return [bit if rng.random() < p else 1 - bit for bit in bits]


def one_bit(rng, bit: int, epsilon):
    """The answer of one user."""
    truth = rng.random() < 1 / (1 + math.exp(-epsilon))
    return bit if truth else 1 - bit


def two_coins(rng, bits: list[int]):
    """Heads: the truth. Tails: a second coin is the answer."""
    answers = []
    for bit in bits:
        if rng.random() < 0.5:
            answers.append(bit)
        elif rng.random() < 0.5:
            answers.append(1)
        else:
            answers.append(0)
    return answers


def biased_coins(rng, bits: list[int]):
    """The bit chooses the coin."""
    return [1 if rng.random() < 0.25 + 0.5 * bit else 0 for bit in bits]


def counted_answers(rng, bits: list[int], epsilon):
    """What is computed from randomized answers costs nothing more: an unbiased count."""
    p = 1 / (1 + math.exp(-epsilon))
    count = 0
    for bit in bits:
        count += bit if rng.random() < p else 1 - bit
    return (count - len(bits) * (1 - p)) / (2 * p - 1)


def asked_twice(rng, bits: list[int], epsilon):
    """Two answers with half of the budget each."""
    p = 1 / (1 + math.exp(-epsilon / 2))
    return [(bit if rng.random() < p else 1 - bit, bit if rng.random() < p else 1 - bit) for bit in bits]


def many_answers(rng, value: int, epsilon, k: int):
    """k-ary randomized response: another value is uniform among the others."""
    if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + k - 1):
        return value
    other = rng.integers(k - 1)
    return other if other < value else other + 1


def many_answers_mixed(rng, value: int, epsilon, k: int):
    """k-ary randomized response: the truth, or uniform among all values."""
    if rng.random() < (math.exp(epsilon) - 1) / (math.exp(epsilon) + k - 1):
        return value
    return rng.integers(k)


def many_answers_choice(rng, value: int, epsilon, k: int):
    """k-ary randomized response by a table of probabilities."""
    weights = np.ones(k)
    weights[value] = np.exp(epsilon)
    return rng.choice(k, p=weights / weights.sum())


def unary_encoding(rng, value: int, epsilon, k: int):
    """One bit for every value: both coins have half of the budget."""
    p = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    answers = []
    for i in range(k):
        truth = 1 if i == value else 0
        answers.append(truth if rng.random() < p else 1 - truth)
    return answers


def unary_encoding_optimized(rng, value: int, epsilon, k: int):
    """The one is kept with probability 1/2, zeros become ones with probability 1/(1 + e^epsilon)."""
    q = 1 / (1 + math.exp(epsilon))
    return [int(rng.random() < (0.5 if i == value else q)) for i in range(k)]


def uniform_answers(rng, bits: list[int]):
    """Fair coins, which know nothing."""
    return [int(rng.random() < 0.5) for _ in bits]


def bad_randomized_response_claim(rng, bits: list[int]):
    """Two coins show log 3, not log 2."""
    return [bit if rng.random() < 0.5 else int(rng.random() < 0.5) for bit in bits]


def bad_randomized_response_twice(rng, bits: list[int], epsilon):
    """Every answer has the whole budget."""
    p = 1 / (1 + math.exp(-epsilon))
    answers = []
    for bit in bits:
        for _ in range(2):
            answers.append(bit if rng.random() < p else 1 - bit)
    return answers


def bad_randomized_response_one_coin(rng, bits: list[int], epsilon):
    """One coin flips all bits or none: whether two bits are equal is told."""
    flip = rng.random() < 1 / (1 + math.exp(epsilon))
    return [1 - bit if flip else bit for bit in bits]


def bad_randomized_response_constant(rng, bits: list[int], epsilon):
    """Else a one: so a zero is always the truth."""
    p = 1 / (1 + math.exp(-epsilon))
    return [bit if rng.random() < p else 1 for bit in bits]


def bad_randomized_response_probability(rng, bits: list[int], epsilon):
    """The coin is too loud: 1 - e^-epsilon / 4 is more than e^epsilon / (1 + e^epsilon)."""
    p = 1 - math.exp(-epsilon) / 4
    return [bit if rng.random() < p else 1 - bit for bit in bits]


def bad_many_answers(rng, value: int, epsilon, k: int):
    """The probabilities of one variant with the uniform draw of the other."""
    if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + k - 1):
        return value
    return rng.integers(k)


def bad_unary_encoding(rng, value: int, epsilon, k: int):
    """Both coins that change have the whole budget."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    return [int(rng.random() < (p if i == value else 1 - p)) for i in range(k)]


def bad_biased_coins(rng, bits: list[int]):
    """The coin of a one never shows zero."""
    return [int(rng.random() < 0.5 + 0.5 * bit) for bit in bits]


def bad_only_ones_are_noisy(rng, bits: list[int], epsilon):
    """Draws only where the bit is 1; zeros are told as they are."""
    p = 1 / (1 + math.exp(-epsilon))
    answers = []
    for bit in bits:
        if bit == 1 and rng.random() > p:
            bit = 0
        answers.append(bit)
    return answers


_BITS = (0, 1)
_FLIP = ([0, 1, 1], [1, 1, 1])
_K = {"epsilon": 1.0, "k": 4}
_MANY = ("k >= 2",)
_VALUES = (0, "k - 1")
_ENTRY = "replace_one:entry"

PROGRAMS = (
    Program(randomized_response, _ENTRY, "holds", "Warner 1965; Kairouz et al. 2016", bounds=_BITS, pair=_FLIP),
    Program(randomized_response_flips, _ENTRY, "holds", "Warner 1965", bounds=_BITS, pair=_FLIP),
    Program(randomized_response_comprehension, _ENTRY, "holds", "Warner 1965", bounds=_BITS, pair=_FLIP),
    Program(one_bit, _ENTRY, "holds", "Warner 1965", bounds=_BITS, pair=(0, 1)),
    Program(two_coins, _ENTRY, "holds", "Dwork and Roth 2014, section 3.2", claim="log(3)", parameters={},
            bounds=_BITS, pair=_FLIP),
    Program(biased_coins, _ENTRY, "holds", "Dwork and Roth 2014, section 3.2", claim="log(3)", parameters={},
            bounds=_BITS, pair=_FLIP),
    Program(counted_answers, _ENTRY, "holds", "Warner 1965, post-processed", bounds=_BITS, pair=_FLIP),
    Program(asked_twice, _ENTRY, "holds", "Warner 1965, composed", bounds=_BITS, pair=_FLIP),
    Program(many_answers, _ENTRY, "holds", "Kairouz et al. 2016, eq. 3", bounds=_VALUES, assume=_MANY, parameters=_K,
            pair=(0, 3)),
    Program(many_answers_mixed, _ENTRY, "holds", "Kairouz et al. 2016, eq. 3", bounds=_VALUES, assume=_MANY,
            parameters=_K, pair=(0, 3)),
    Program(many_answers_choice, _ENTRY, "holds", "Kairouz et al. 2016, eq. 3", bounds=_VALUES, assume=_MANY,
            parameters=_K, pair=(0, 3)),
    Program(unary_encoding, _ENTRY, "holds", "RAPPOR 2014; Wang et al. 2017 (SUE)", bounds=_VALUES, assume=_MANY,
            parameters=_K, pair=(0, 3)),
    Program(unary_encoding_optimized, _ENTRY, "holds", "Wang et al. 2017 (OUE)", bounds=_VALUES, assume=_MANY,
            parameters=_K, pair=(0, 3)),
    Program(uniform_answers, _ENTRY, "holds", "ours", claim="0", parameters={}, bounds=_BITS, pair=_FLIP),
    Program(bad_randomized_response_claim, _ENTRY, "refuted", "after Dwork and Roth 2014, section 3.2",
            claim="log(2)", parameters={}, bounds=_BITS, pair=_FLIP, known="log 3"),
    Program(bad_randomized_response_twice, _ENTRY, "refuted", "ours", bounds=_BITS, pair=_FLIP, known="2 epsilon"),
    Program(bad_randomized_response_one_coin, _ENTRY, "refuted", "ours", bounds=_BITS, pair=_FLIP,
            known="no finite epsilon"),
    Program(bad_randomized_response_constant, _ENTRY, "refuted", "ours", bounds=_BITS, pair=_FLIP,
            known="no finite epsilon"),
    Program(bad_randomized_response_probability, _ENTRY, "refuted", "ours", bounds=_BITS, pair=_FLIP,
            known="log(4 e^epsilon - 1)"),
    Program(bad_many_answers, _ENTRY, "refuted", "ours", bounds=_VALUES, assume=_MANY, parameters=_K, pair=(0, 3),
            known="log(1 + k e^epsilon / (k - 1))"),
    Program(bad_unary_encoding, _ENTRY, "refuted", "after RAPPOR 2014", bounds=_VALUES, assume=_MANY, parameters=_K,
            pair=(0, 3), known="2 epsilon"),
    Program(bad_biased_coins, _ENTRY, "refuted", "ours", claim="log(3)", parameters={}, bounds=_BITS, pair=_FLIP,
            known="no finite epsilon"),
    Program(bad_only_ones_are_noisy, _ENTRY, "refuted", "ours", bounds=_BITS, pair=_FLIP, known="no finite epsilon"),
)  # fmt: skip
