"""Random generators under which rare draws are common: for branches that ordinary streams hardly ever take.

Most words of these generators begin with a run of zeros or of ones, of random length; so uniform numbers lie close to 0
or 1, coins fall on their unlikely side, and noise is enormous. Nothing statistical may be concluded from such streams;
but what an output is on them, it can be.
"""

import ctypes
import functools
import threading
from typing import Any, Literal, get_args

import numpy as np

Tail = Literal["low", "high", "both"]

PLAIN = 8  # one word in so many is ordinary, so that rejection samplers come to an end
LONGEST = 48  # leading bits of a word that are made equal, at most; deeper than any delta in use
LIMIT = 200_000  # words of one NumPy generator that are extreme; then they are ordinary


def numpy_generator(seed: Any, tail: Tail = "both") -> np.random.Generator:
    """A generator with every distribution of NumPy, fed by extreme words.

    Args:
        seed: what `numpy.random.default_rng` takes.
        tail: words close to 0 ("low"), to the largest ("high"), or some of each.
    """
    return np.random.Generator(_Words(seed, tail))  # type: ignore[arg-type]


def jax_key(seed: int, stream: int, tail: Tail | None = "both") -> Any:
    """A JAX key fed by extreme words, or by ordinary ones for None; all of one implementation, so of one compilation.

    Seed and stream are whole numbers from 0, the tail is as in `numpy_generator`.
    """
    import jax
    import jax.numpy as jnp

    mode = 0 if tail is None else 1 + get_args(Tail).index(tail)
    words = np.random.SeedSequence([seed, stream]).generate_state(2)
    return jax.random.wrap_key_data(jnp.array([*words, mode], np.uint32), impl=_implementation())


@functools.cache
def _implementation() -> Any:
    """Threefry, with a third word in every key that says which words are made extreme."""
    import jax.numpy as jnp
    from jax.extend.random import define_prng_impl, threefry_prng_impl

    base = threefry_prng_impl

    def seed(number: Any) -> Any:
        return jnp.append(base.seed(number), jnp.uint32(0))

    def split(key: Any, shape: tuple[int, ...]) -> Any:
        keys = base.split(key[:2], shape)
        return jnp.concatenate([keys, jnp.broadcast_to(key[2:], (*shape, 1))], axis=-1)

    def fold_in(key: Any, number: Any) -> Any:
        return jnp.append(base.fold_in(key[:2], number), key[2])

    def random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
        words = base.random_bits(key[:2], bit_width, shape)
        # The same word once more, mixed (MurmurHash3's finalizer): another Threefry call takes long to compile.
        choices = words.astype(np.uint32)
        choices = (choices ^ (choices >> 16)) * np.uint32(0x85EBCA6B)
        choices = (choices ^ (choices >> 13)) * np.uint32(0xC2B2AE35)
        longest = min(LONGEST, bit_width - 8)
        length = jnp.minimum(4 + (choices >> 8) % max(1, longest - 4), bit_width - 1)
        rest = words >> length.astype(words.dtype)
        up = jnp.where(key[2] == 3, (choices >> 4) % 2 == 1, key[2] == 2)
        ordinary = (choices % PLAIN == 0) | (key[2] == 0)
        return jnp.where(ordinary, words, jnp.where(up, ~rest, rest))

    return define_prng_impl(
        key_shape=(3,),
        seed=seed,
        split=split,
        random_bits=random_bits,
        fold_in=fold_in,
        name="dpassay_extreme",
        tag="dpx",
    )


class _Words:
    """A NumPy bit generator in Python, handed over as a capsule (NumPy's C interface for foreign generators)."""

    def __init__(self, seed: Any, tail: Tail) -> None:
        self._source = np.random.default_rng(seed)
        self._tail = tail
        self._count = 0
        self._block = np.zeros(0, np.uint64)
        self._place = 0
        self._buffered: int | None = None
        self.lock = threading.RLock()
        self.seed_seq = np.random.SeedSequence(self._source.integers(2**32, size=4).tolist())
        self._interface = _Interface(
            None, _NEXT64(self._next64), _NEXT32(self._next32), _DOUBLE(self._double), _NEXT64(self._next64)
        )
        self.capsule = _new_capsule(ctypes.addressof(self._interface), _NAME, None)

    @property
    def state(self) -> dict[str, Any]:
        """How many words were used: enough to compare two runs of one stream."""
        return {"bit_generator": "dpassay", "words": self._count, "half": self._buffered}

    def _next64(self, _: Any) -> int:
        if self._place == len(self._block):
            self._block, self._place = self._fresh(256), 0
        self._place += 1
        self._count += 1
        return int(self._block[self._place - 1])

    def _fresh(self, size: int) -> np.ndarray:
        words = self._source.integers(2**64, size=size, dtype=np.uint64, endpoint=False)
        if self._count >= LIMIT:
            return words
        rest = words >> self._source.integers(4, LONGEST, size=size, dtype=np.uint64)
        up = self._source.random(size) < {"low": 0.0, "high": 1.0, "both": 0.5}[self._tail]
        return np.where(self._source.random(size) < 1 / PLAIN, words, np.where(up, ~rest, rest))

    def _next32(self, _: Any) -> int:
        return self._next64(None) >> 32

    def _double(self, _: Any) -> float:
        return (self._next64(None) >> 11) * 2.0**-53


_NAME = b"BitGenerator"
_NEXT64 = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
_NEXT32 = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
_DOUBLE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)


class _Interface(ctypes.Structure):
    """`bitgen_t` of numpy/random/bitgen.h."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("next_uint64", _NEXT64),
        ("next_uint32", _NEXT32),
        ("next_double", _DOUBLE),
        ("next_raw", _NEXT64),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
