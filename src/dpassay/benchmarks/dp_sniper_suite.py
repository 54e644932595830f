"""The 20 mechanisms of DP-Sniper's evaluation in JAX, written from their definitions, and the pairs they are judged on.

B. Bichsel, S. Steffen, I. Bogunovic, M. Vechev: DP-Sniper: Black-Box Discovery of Differential Privacy Violations using
Classifiers. S&P 2021; code, constructor parameters and published logs: github.com/eth-sri/dp-sniper at ee087b2
(dpsniper/mechanisms, dpsniper/experiments/exp_default.py, eval_sp2021/reference-results). Where they come from: Ding et
al., CCS 2018, Algorithms 5 to 10 (noisy maxima and histograms); Balcer and Vadhan, 2018, Algorithm 4.8 (truncated
geometric); Erlingsson et al., CCS 2014 (RAPPOR); Wang et al., PLDI 2019 (PrefixSum, NumSVT); Lyu et al., PVLDB 2017
(sparse vector).

Samplers are float32 and draw all samples of a call at once; outputs carry the same information as the originals'.
"""

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.benchmarks.noise import Batched, bernoulli, laplace, words
from dpassay.benchmarks.sparse_vector import lyu, numerical

if TYPE_CHECKING:
    from jax import Array

RAPPOR_DOMAIN = range(-10, 11)


@dataclass(frozen=True)
class LaplaceNoise(Batched):
    """Every entry of the dataset plus Laplace noise; `copies` independent releases of each.

    Attributes:
        scale: of the noise.
        copies: k; the output has k columns per entry. A dataset that is a number gives a number when k is 1.
        epsilon_true: nats.
    """

    scale: float
    epsilon_true: float
    copies: int = 1

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> "Array":
        """Shape (num_samples, copies * entries), or (num_samples,) for one number."""
        values = jnp.repeat(jnp.ravel(jnp.asarray(dataset, jnp.float32)), self.copies)
        outputs = values[:, None] + self.scale * laplace(key, (len(values), num_samples))
        return outputs[0] if jnp.ndim(dataset) == 0 and self.copies == 1 else outputs.T


@dataclass(frozen=True)
class TruncatedGeometric(Batched):
    """A count in {0, ..., n} with geometric noise by exact integers; ln(1 + 2^-k)-private with k = ceil(ln(2 / eps)).

    A random 32-bit word below the largest multiple of d is uniform modulo d; the others, fewer than d / 2^32 of all,
    are drawn once more: with the parameters of the evaluation no probability is off by more than 1e-9.
    """

    epsilon: float = 0.1
    num_people: int = 5

    @property
    def exponent(self) -> int:
        """k."""
        return math.ceil(math.log(2 / self.epsilon))

    @property
    def epsilon_true(self) -> float:
        """Theorem 4.7 of Balcer and Vadhan, nats."""
        return math.log1p(2.0**-self.exponent)

    @property
    def denominator(self) -> int:
        """d: all probabilities are multiples of 1/d."""
        return (2 ** (self.exponent + 1) + 1) * (2**self.exponent + 1) ** (self.num_people - 1)

    def cumulative(self, count: int) -> list[int]:
        """d Pr[M(count) <= z] for z = 0, ..., n (step 2 of Algorithm 4.8)."""
        n, k, d = self.num_people, self.exponent, self.denominator
        below = [2 ** (k * (count - z)) * (2**k + 1) ** (n - (count - z)) for z in range(count)]
        above = [d - 2 ** (k * (z - count + 1)) * (2**k + 1) ** (n - 1 - (z - count)) for z in range(count, n)]
        return [*below, *above, d]

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> "Array":
        """Shape (num_samples,), int32 in {0, ..., n}."""
        if self.denominator >= 2**32:
            raise ValueError("the sampler works with 32-bit integers: use a larger epsilon or fewer people")
        table = np.array([self.cumulative(count) for count in range(self.num_people + 1)], np.uint64)
        limits = jnp.asarray((table - 1).astype(np.uint32))[
            dataset
        ]  # outputs z have a draw in (limit[z - 1], limit[z]]
        whole = (2**32 // self.denominator) * self.denominator
        first, second = words(key, (2, num_samples))
        draws = jnp.where(first < np.uint32(whole), first, second) % np.uint32(self.denominator)
        return sum((draws > limits[z]).astype(jnp.int32) for z in range(self.num_people))  # type: ignore[return-value]


@dataclass(frozen=True)
class NoisyMaximum(Batched):
    """Adds noise to every query and publishes which one is largest, or how large.

    Attributes:
        noise: "laplace" or "exponential", each of scale 2 / epsilon.
        publishes: "index" (private) or "value" (not: Algorithms 7 and 8 of Ding et al.).
    """

    noise: Literal["laplace", "exponential"]
    publishes: Literal["index", "value"]
    epsilon: float = 0.1
    epsilon_true: float = 0.1

    @property
    def scale(self) -> float:
        """Of the noise."""
        return 2 / self.epsilon

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> "Array":
        """Shape (num_samples,): int32, or float32 for the value."""
        queries = jnp.asarray(dataset, jnp.float32)
        noise = laplace(key, (len(queries), num_samples))
        if self.noise == "exponential":
            noise = jnp.abs(noise)
        values = queries[:, None] + self.scale * noise
        if self.publishes == "value":
            return values.max(axis=0)
        best, index = values[0], jnp.zeros(num_samples, jnp.int32)
        for j in range(1, len(queries)):
            index = jnp.where(values[j] > best, j, index)
            best = jnp.maximum(best, values[j])
        return index


@dataclass(frozen=True)
class PrefixSum(Batched):
    """Running sums of the noisy queries, every query with fresh Laplace noise of scale 1 / epsilon."""

    epsilon: float = 0.1
    epsilon_true: float = 1.0

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> "Array":
        """Shape (num_samples, queries), float32."""
        queries = jnp.asarray(dataset, jnp.float32)
        noisy = queries[:, None] + laplace(key, (len(queries), num_samples)) / self.epsilon
        total, columns = jnp.zeros(num_samples), []
        for j in range(len(queries)):
            total = total + noisy[j]
            columns.append(total)
        return jnp.stack(columns).T


@dataclass(frozen=True)
class Rappor(Batched):
    """RAPPOR of one integer in [-10, 10]: a Bloom filter, then permanent and instantaneous randomized response.

    Attributes:
        flip: f of the permanent response: a bit becomes 1 or 0 with probability f/2 each.
        one_rate: q, the probability of reporting 1 for a permanent 1; p is `zero_rate`. 1 and 0 report the permanent
            bits themselves (one-time RAPPOR).
    """

    flip: float
    one_rate: float
    zero_rate: float
    num_hashes: int = 4
    filter_size: int = 20

    @property
    def rates(self) -> tuple[float, float]:
        """Probability of a reported 1 where the Bloom filter has 0, and where it has 1."""
        span = self.one_rate - self.zero_rate
        return self.zero_rate + span * self.flip / 2, self.zero_rate + span * (1 - self.flip / 2)

    @property
    def epsilon_true(self) -> float:
        """Over all values: two filters differ in at most 2 h bits, nats."""
        low, high = self.rates
        return self.num_hashes * (math.log(high / low) + math.log((1 - low) / (1 - high)))

    def bloom(self, value: int) -> np.ndarray:
        """The Bloom filter, shape (filter_size,), bool: MurmurHash3 of the decimal digits with seeds 0, 1, ..."""
        return _bloom(value, self.num_hashes, self.filter_size)

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> "Array":
        """Shape (num_samples, filter_size), int8; both responses are drawn as one, which has the same law."""
        filters = jnp.asarray(np.array([self.bloom(value) for value in RAPPOR_DOMAIN]))
        low, high = self.rates
        rates = jnp.where(filters[jnp.asarray(dataset) - RAPPOR_DOMAIN[0]], high, low)
        return bernoulli(key, rates[:, None], (self.filter_size, num_samples)).astype(jnp.int8).T


@dataclass(frozen=True)
class Parallel(Batched):
    """Several mechanisms on the same dataset, independent, their outputs side by side as float32."""

    parts: tuple[Any, ...]
    epsilon_true: float

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> "Array":
        """Shape (num_samples, columns of all parts)."""
        keys = jax.random.split(key, len(self.parts))
        outputs = [
            part.sample_batch(k, dataset, num_samples).astype(jnp.float32)
            for k, part in zip(keys, self.parts, strict=True)
        ]
        return jnp.concatenate(outputs, axis=1)


@dataclass(frozen=True)
class Pair:
    """Two neighboring datasets and who found them ("DP-Sniper", or how we did)."""

    dataset1: Any
    dataset2: Any
    found_by: str

    def arrays(self) -> tuple[Any, Any]:
        """As the samplers take them: float32 vectors, or plain numbers."""
        return tuple(np.asarray(d, np.float32) if isinstance(d, tuple) else d for d in (self.dataset1, self.dataset2))  # type: ignore[return-value]


@dataclass(frozen=True)
class Published:
    """Lower bounds at confidence 0.9 on 200 million samples a side, from DP-Sniper's published logs; nats.

    Attributes:
        logistic: DP-Sniper with logistic regression (dd_search_reg_data.log).
        network: DP-Sniper with a neural network (dd_search_mlp_data.log).
        statdp: StatDP's events in its two runs, bounded by the same code (statdp_1 and statdp_2); empty: no result.
    """

    logistic: float
    network: float
    statdp: tuple[float, ...] = ()

    @property
    def dp_sniper(self) -> float:
        """DP-Sniper's best."""
        return max(self.logistic, self.network)

    @property
    def bar(self) -> float:
        """The best of all published."""
        return max((self.dp_sniper, *self.statdp))


@dataclass(frozen=True)
class Row:
    """A mechanism of the table: the pairs it is judged on, best first, and what was published about it."""

    name: str
    mechanism: Any
    pairs: tuple[Pair, ...]
    published: Published | None = None
    note: str = field(default="", compare=False)


def row(name: str) -> Row:
    """The row of that name, in either table."""
    return next(entry for entry in (*SUITE, *LYU) if entry.name == name)


@cache
def _bloom(value: int, num_hashes: int, filter_size: int) -> np.ndarray:
    bits = np.zeros(filter_size, bool)
    for seed in range(num_hashes):
        bits[_murmur3(str(value).encode(), seed) % filter_size] = True
    return bits


def _murmur3(key: bytes, seed: int) -> int:
    """MurmurHash3 of 32 bits (Appleby 2011), as a signed number, which RAPPOR's filter takes modulo its size."""

    def rotated(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF

    def mixed(word: bytes) -> int:
        return rotated(int.from_bytes(word, "little") * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF

    whole = len(key) // 4 * 4
    state = seed
    for place in range(0, whole, 4):
        state = (rotated(state ^ mixed(key[place : place + 4]), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= mixed(key[whole:]) ^ len(key)
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    state ^= state >> 16
    return state - (state >> 31 << 32)


def _blocks(*parts: tuple[int, float]) -> tuple[float, ...]:
    return tuple(float(value) for count, value in parts for _ in range(count))


_PEER, _LAW = "DP-Sniper", "the exact law"  # the latter: largest `exact_losses.best_bound` of a grid of block patterns
_HALVES = Pair(_blocks((5, 0), (5, 1)), _blocks((5, 1), (5, 0)), _PEER)
_SPREAD = Pair(_blocks((10, 1)), _blocks((5, 2), (5, 0)), _PEER)
_MAXIMUM = Pair(_blocks((5, 1)), (0.0, 2.0, 2.0, 2.0, 2.0), _PEER)
_ALL_FIVE = Pair(_blocks((5, 1)), _blocks((5, 2)), _PEER)
_STAIRCASE = Pair(
    (-4.0, -2.0, -2.0, 0.0, 0.0, 2.0, 2.0, 4.0, 4.0, 6.0), (-3.0, -3.0, -1.0, -1.0, 1.0, 1.0, 3.0, 3.0, 5.0, 5.0), _LAW
)  # an odd number of positive answers is impossible under the second
_ALL_TEN = Pair(_blocks((10, 1)), _blocks((10, 0)), _PEER)

_FAR_BELOW = Pair((-9.0, 9.0, 9.0, 9.0, 9.0), (-10.0, 10.0, 10.0, 10.0, 10.0), _LAW)
_TWO_AHEAD = Pair((9.0, 9.0, -9.0, -9.0, -9.0), (8.0, 10.0, -8.0, -8.0, -8.0), _LAW)
_ONE_AHEAD = Pair((9.0, -10.0, -10.0, -10.0, -10.0), (10.0, -10.0, -10.0, -10.0, -10.0), _LAW)
_SVT1 = Pair(_blocks((9, 4), (1, 7)), _blocks((9, 3), (1, 8)), _LAW)
_SVT2 = Pair(_blocks((9, 4), (1, 9)), _blocks((9, 5), (1, 8)), _LAW)
_SVT3 = Pair(_blocks((9, 4), (1, 0)), _blocks((9, 3), (1, 1)), _LAW)
_SVT4 = Pair(_blocks((7, 4), (3, 3)), _blocks((7, 3), (3, 4)), _LAW)
_SVT6 = Pair(_blocks((5, 2), (5, -1)), _blocks((5, 1), (5, 0)), _LAW)
_NUMERICAL = Pair(_blocks((7, 5), (3, 2)), _blocks((7, 4), (3, 3)), _LAW)
_TWOS = Pair(_blocks((10, 2)), _blocks((10, 1)), _PEER)

SUITE = (
    Row("Laplace", LaplaceNoise(10.0, 0.1), (Pair(0.0, 1.0, _PEER),),
        Published(0.09680373477842874, 0.09763363715243845, (0.09981418282420251, 0.09961720683589348))),
    Row("TruncatedGeometric", TruncatedGeometric(0.1, 5), (Pair(2, 1, _PEER),),
        Published(0.11556448250263873, 0.11554327252275165, (0.11588070285791208, 0.11685385390209024))),
    Row("NoisyHist1", LaplaceNoise(10.0, 0.1), (Pair(_blocks((5, 1)), (0.0, 1.0, 1.0, 1.0, 1.0), _PEER),),
        Published(0.09779357853762427, 0.09769858890379979, (0.08283071852918455, 0.09943568335950492))),
    Row("NoisyHist2", LaplaceNoise(0.1, 10.0), (Pair(_blocks((5, 1)), (2.0, 1.0, 1.0, 1.0, 1.0), _PEER),),
        Published(4.60202151350145, 4.601469785311435, (9.7169265671521, 10.002168576736125))),
    Row("ReportNoisyMax1", NoisyMaximum("laplace", "index"), (_FAR_BELOW, _MAXIMUM),
        Published(0.09225381318933756, 0.09250095026875194, (0.09195171216431208, 0.0921021169451548))),
    Row("ReportNoisyMax2", NoisyMaximum("exponential", "index"), (_TWO_AHEAD, _MAXIMUM),
        Published(0.09750314019873763, 0.09792031720947492, (0.09957525329005956, 0.09967230375558023))),
    Row("ReportNoisyMax3", NoisyMaximum("laplace", "value", epsilon_true=0.25), (_ALL_FIVE,),
        Published(0.24781576679261352, 0.2488099442765046, (0.1991418003968266, 0.1960705014773274))),
    Row("ReportNoisyMax4", NoisyMaximum("exponential", "value", epsilon_true=math.inf),
        (_ONE_AHEAD, _ALL_FIVE),
        Published(0.34634322696561437, 0.35344366038471353, (0.19601980077941494, 0.1988300779701171))),
    Row("SVT1", lyu(1, cutoff=1, threshold=0.5), (_SVT1, _HALVES, _SPREAD),
        Published(0.08579843744077742, 0.0857818700940598, (0.029753775766650392, 0.029845918933959936))),
    Row("SVT2", lyu(2, cutoff=1, threshold=1.0), (_SVT2, _HALVES, _SPREAD),
        Published(0.085933777378977, 0.08524718743004556, (0.031642012639005124, 0.040683452034789624))),
    Row("SVT3", lyu(3, cutoff=1, threshold=1.0), (_SVT3, _HALVES, _SPREAD),
        Published(0.17157204754154964, 0.1821683565930945, (0.023061332406729917, 0.17928544503534738))),
    Row("SVT4", lyu(4, cutoff=1, threshold=1.0), (_SVT4, _HALVES, _SPREAD),
        Published(0.1686833019846503, 0.16956867255560404, (0.17085960551924195, 0.17190839183318207))),
    Row("SVT5", lyu(5, cutoff=1, threshold=1.0), (_STAIRCASE, _SPREAD, _HALVES),
        Published(1.7611853568928795, 1.760988163636311, (14.314308557571438, 14.314307341616473)),
        "StatDP judged it at a claim of 0.05 instead of 0.1"),
    Row("SVT6", lyu(6, cutoff=1, threshold=1.0), (_SVT6, _HALVES),
        Published(0.2720409230566201, 0.269826687868739, (0.32203660515097443, 0.3199544091460842))),
    Row("Rappor", Rappor(0.75, 0.55, 0.45), (Pair(3, 4, _LAW), Pair(1, 0, _PEER)),
        Published(0.2929848129867416, 0.30080244946686197, (0.2415825425465492, 0.024254948245880925))),
    Row("OneTimeRappor", Rappor(0.95, 1.0, 0.0), (Pair(3, 4, _LAW), Pair(1, 0, _PEER)),
        Published(0.5977779392161473, 0.5998986783208569, (0.4706352801234841, 0.060191745045908185))),
    Row("LaplaceParallel", LaplaceNoise(200.0, 0.1, copies=20), (Pair(1.0, 0.0, _PEER),),
        Published(0.03495277953654963, 0.029869306141541152, (0.012592981052077068, 0.013493289334906677))),
    Row("SVT34Parallel", Parallel((lyu(3, cutoff=2), lyu(4, cutoff=2)), math.inf), (_SPREAD,),
        Published(0.2610381735699283, 0.26162082346312676, (0.1370886491760004, 0.19632395827496651))),
    Row("PrefixSum", PrefixSum(0.1), (_ALL_TEN,),
        Published(0.5040117462103613, 0.5774330979382549, (0.35160641681052285, 0.3445934123089889))),
    Row("NumericalSVT", numerical(epsilon=0.1, cutoff=2), (_HALVES, _NUMERICAL, _TWOS),
        Published(0.034323746664875365, 0.034501347436509455),
        note="audits find less on the exact law's pair"),
)  # fmt: skip

LYU = (
    Row("SVT1, c = 2", lyu(1, cutoff=2), (Pair(_blocks((8, 6), (2, 9)), _blocks((8, 7), (2, 8)), _LAW), _HALVES)),
    Row("SVT2, c = 2", lyu(2, cutoff=2), (Pair(_blocks((9, 6), (1, 4)), _blocks((9, 7), (1, 3)), _LAW), _HALVES)),
    Row("SVT4, c = 2", lyu(4, cutoff=2), (Pair(_blocks((8, 2), (2, 4)), _blocks((8, 3), (2, 3)), _LAW), _HALVES)),
    Row("SVT7", lyu(7), (Pair(_blocks((8, 0), (2, 9)), _blocks((8, -1), (2, 10)), _LAW), _HALVES)),
)
