"""What the determinantal mechanisms share: kernel with jitter, spectrum, the law of a subset, the chain rule.

Fitzsimons et al., "Naturally Private Recommendations with Determinantal Point Processes", sec. 2 and Algorithm 1;
Kulesza and Taskar (2012). Over n items with kernel L = phi' phi + jitter I, P(Y) = det(L_Y) / det(L + I).

Representation. An output is the boolean mask of the chosen items, shape (n,), so that sets of different sizes have one
shape under `jit` and `vmap`; certificates hold the ascending item numbers.

Rounding. An eigenvalue of a kernel that is semidefinite on all data is raised to the jitter, which bounds it in exact
arithmetic, and with no jitter one that is below the rounding error counts as 0. So no probability is negative, and a
set that a rank-deficient kernel rules out has log-probability -inf, not the logarithm of rounding noise.
"""

import abc
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.checks import check_choices, check_count, check_not_negative, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Bool, Float, Int
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.kernels import Kernel, always_semidefinite, features, kernel_matrix
from dpassay.mechanisms.wallenius import uniform

MAX_LISTED_ITEMS = 16
"""Up to this many items all 2^n subsets are listed."""


class Spectrum(NamedTuple):
    """Eigenvalues and eigenvectors of L.

    Attributes:
        values: ascending, >= 0, shape (n,); NaN when L has a negative eigenvalue.
        vectors: orthonormal columns in the same order, shape (n, n).
    """

    values: Float[Array, " n"]
    vectors: Float[Array, "n n"]


@dataclass(frozen=True)
class AbstractDeterminantal(abc.ABC):
    """A mechanism over n items whose law comes from L = kernel(dataset) + jitter I.

    The dataset is a matrix of shape (users, items): clicks or counts, NaN (a user without that item) counts as 0.

    Attributes:
        jitter: sigma, >= 0, added to every diagonal entry.
        kernel: see `dpassay.mechanisms.kernels.kernel_matrix`, also for `scale`, `degree` and `offset`.
        max_square_norm: B^2, the public bound on a row's squared Euclidean norm that the privacy claim needs; for
            binary rows over n items it is n. A longer row is scaled down to it, so that the claim holds whatever the
            data are. None: rows are taken as they are, and nothing finite is claimed.
    """

    jitter: float = 1.0
    kernel: Kernel = "dot"
    scale: float = 1.0
    degree: int = 2
    offset: float = 1.0
    max_square_norm: float | None = None

    def __post_init__(self) -> None:
        check_choices(self)
        check_not_negative("jitter", self.jitter)
        check_positive("scale", self.scale)
        check_count("degree", self.degree, 1)
        if isinstance(self.offset, bool) or not isinstance(self.offset, int | float) or not math.isfinite(self.offset):
            raise InvalidInput(f"offset is {self.offset!r}; it must be a finite number")
        if self.max_square_norm is not None:
            check_positive("max_square_norm", self.max_square_norm)

    def _claim(self, epsilon: Callable[[float], float]) -> PrivacyClaim:
        """The epsilon for the bound of a row per user added or removed, where the kernel and the bounds permit one."""
        bounded = self.kernel == "dot" and self.max_square_norm is not None and self.jitter > 0
        nats = epsilon(self.max_square_norm or 0.0) if bounded else math.inf
        return PrivacyClaim(nats, relation=NeighboringRelation("add_or_remove_one", "user"))

    @float64
    def kernel_matrix(self, dataset: Any) -> Float[Array, "items items"]:
        """L, jitter included, of the rows after scaling them down to `max_square_norm`."""
        kernel = kernel_matrix(
            self._rows(dataset), self.kernel, scale=self.scale, degree=self.degree, offset=self.offset
        )
        return kernel + self.jitter * jnp.eye(len(kernel))

    @float64
    def spectrum(self, dataset: Any) -> Spectrum:
        """Eigenvalues and eigenvectors of L; the values are NaN where L is not positive semidefinite."""
        return self._spectrum(self._rows(dataset))

    @float64
    def sample(self, key: Any, dataset: Any) -> Bool[Array, " items"]:
        """One output, by the paper's algorithm word for word; for many use `sample_batch` where there is one.

        Raises:
            InvalidInput: a kernel that is not positive semidefinite, or a dataset on which the mechanism is not
                defined; not checked under a JAX transformation.
        """
        rows, _ = self._checked(dataset)
        return _draw(self, key, rows)

    @float64
    def log_prob(self, output: Any, dataset: Any) -> Float[Array, ""]:
        """log Pr[the output is `output`], nats, shape (); -inf when impossible, NaN where L is not semidefinite.

        Args:
            output: a mask of shape (items,), True where chosen.
            dataset: shape (users, items).

        Raises:
            InvalidInput: not one entry per item.
        """
        rows, output = self._rows(dataset), jnp.asarray(output)
        self._check_items(rows.shape[1])
        if output.shape != (rows.shape[1],):
            raise InvalidInput(f"an output is a mask over the {rows.shape[1]} items, got shape {output.shape}")
        return _law(self, output.astype(bool), rows)

    def outputs(self, dataset: Any) -> np.ndarray:
        """All masks, shape (number of them, items).

        Raises:
            InvalidInput: more items than `MAX_LISTED_ITEMS`.
        """
        num = dataset.num_items if isinstance(dataset, Ratings) else np.shape(dataset)[-1]
        self._check_items(num)
        return masks(num)

    @abc.abstractmethod
    def _sample(self, key: Any, spectrum: Spectrum) -> Bool[Array, " items"]:
        """One output from the spectrum."""

    @abc.abstractmethod
    def _log_prob(
        self, output: Bool[Array, " items"], kernel: Float[Array, "items items"], spectrum: Spectrum
    ) -> Float[Array, ""]:
        """log-probability of an output from L and its spectrum."""

    @property
    def _required_rank(self) -> int:
        """The rank that L needs for the mechanism to be defined."""
        return 0

    def _check_items(self, num_items: int) -> None:
        required = self._required_rank
        if num_items < required:
            raise InvalidInput(
                f"size is {required}, but there are {num_items} items; use a size of at most {num_items}"
            )

    def _rows(self, dataset: Any) -> Float[Array, "users items"]:
        rows = features(dataset)
        if rows.shape[1] == 0:
            raise InvalidInput("the dataset has no items; give a matrix of shape (users, items)")
        if self.max_square_norm is None:
            return rows
        excess = self._square_norms(rows) / self.max_square_norm
        return rows / jnp.sqrt(jnp.maximum(excess, 1.0))[:, None]

    def _square_norms(self, rows: Float[Array, "users items"]) -> Float[Array, " users"]:
        """The quantity that `max_square_norm` bounds, for every row."""
        return jnp.sum(rows**2, axis=1)

    def _spectrum(self, rows: Float[Array, "users items"]) -> Spectrum:
        return _spectrum_of(self, self.kernel_matrix(rows))

    def _floor(self) -> float:
        """What no eigenvalue of L or of a principal submatrix is below, if L is semidefinite at all."""
        return self.jitter if always_semidefinite(self.kernel, offset=self.offset) else 0.0

    def _checked(self, dataset: Any) -> tuple[Float[Array, "users items"], Spectrum]:
        """The rows and their spectrum, where the mechanism is defined."""
        rows = self._rows(dataset)
        self._check_items(rows.shape[1])
        spectrum = self._spectrum(rows)
        if not isinstance(rows, jax.core.Tracer):
            self._check_values(np.asarray(spectrum.values))
        return rows, spectrum

    def _check_values(self, values: np.ndarray) -> None:
        if np.isnan(values).any():
            raise InvalidInput(
                f"the {self.kernel} kernel of these data is not positive semidefinite (or not finite), so it defines "
                'no process; use kernel="dot", or a larger jitter'
            )
        rank, required = int((values > 0).sum()), self._required_rank
        if rank < required:
            raise InvalidInput(
                f"size is {required}, but the kernel has rank {rank}, so that no set of that size is possible; "
                f"use a jitter above 0 or a size of at most {rank}"
            )


def log_minor(
    kernel: Float[Array, "n n"], chosen: Bool[Array, " n"], floor: float, largest: Float[Array, ""]
) -> Float[Array, ""]:
    """log det(L_Y); 0 for the empty set, -inf where a semidefinite L makes it 0.

    `floor` is a lower bound of the eigenvalues of L_Y; `largest`, the largest eigenvalue of L, sets the rounding error.
    """
    num = len(chosen)
    # Outside Y stands a multiple of the identity, above all eigenvalues: the |Y| smallest ones are those of L_Y.
    filler = jnp.where(chosen, jnp.diagonal(kernel), jnp.where(largest > 0, 2 * largest, 1.0))
    inside = jnp.where(chosen[:, None] & chosen[None, :], kernel, 0.0)
    values = jnp.linalg.eigvalsh(jnp.where(jnp.eye(num, dtype=bool), filler[:, None], inside))
    values = _settled(values, floor, num * jnp.finfo(values.dtype).eps * largest)
    return jnp.sum(jnp.where(jnp.arange(num) < jnp.sum(chosen), jnp.log(values), 0.0))


def log_elementary(log_values: Float[Array, " n"], size: int) -> Float[Array, "rows columns"]:
    """log e_l of the first m values, at [m, l], shape (n + 1, size + 1): the elementary symmetric polynomials.

    e_l(m) = e_l(m - 1) + value_m e_(l-1)(m - 1): sums of positive terms, so that nothing cancels (Kulesza and Taskar,
    Algorithm 7).
    """
    start = jnp.full(size + 1, -jnp.inf).at[0].set(0.0)

    def extend(row: Array, log_value: Array) -> tuple[Array, Array]:
        row = row.at[1:].set(jnp.logaddexp(row[1:], log_value + row[:-1]))
        return row, row

    _, rows = jax.lax.scan(extend, start, log_values)
    return jnp.concatenate([start[None], rows])


def coin_flips(key: Any, values: Float[Array, " n"]) -> Bool[Array, " n"]:
    """EigenvalueSampling of Algorithm 1: keeps eigenvector i with probability value_i / (1 + value_i)."""
    return uniform(key, values.shape) * (1 + values) < values


def chain_rule(
    key: Any, vectors: Float[Array, "n n"], selected: Bool[Array, " n"], delta: float = 0.0
) -> Bool[Array, " n"]:
    """SubsetConstruction of Algorithm 1: draws items one by one in proportion to |Proj_V' e_i|^2 + delta.

    V' starts as the selected eigenvectors, an orthonormal basis. After drawing i, a reflection turns the basis so that
    one vector carries all of row i; without it, what is left is an orthonormal basis of the part orthogonal to e_i. For
    delta = 0 that ends after as many items as there were vectors. For delta > 0 an item orthogonal to V' can be drawn,
    which leaves V' as it is; the procedure then ends when V' is empty or no items are left.
    """
    num = len(vectors)

    def more(state: tuple[Array, Array, Array, Array]) -> Array:
        step, _, remaining, chosen = state
        return jnp.any(remaining) & ~jnp.all(chosen) & (step < num)

    def draw(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        step, basis, remaining, chosen = state
        weights = jnp.where(chosen, 0.0, jnp.sum(basis**2, axis=1) + delta)
        item = _categorical(uniform(jax.random.fold_in(key, step), ()), weights)
        row = basis[item]
        square = jnp.sum(row**2)
        spent = remaining & (jnp.cumsum(remaining) == 1)
        turn = row + jnp.where(spent, jnp.where(row < 0, -1.0, 1.0) * jnp.sqrt(square), 0.0)
        turned = basis - jnp.outer(basis @ turn, turn) * (2 / jnp.maximum(jnp.sum(turn**2), 1e-300))
        orthogonal = square <= num * jnp.finfo(basis.dtype).eps
        basis = jnp.where(orthogonal, basis, jnp.where(spent, 0.0, turned))
        remaining = remaining & (orthogonal | ~spent)
        return step + 1, basis, remaining, chosen.at[item].set(True)

    start = (jnp.asarray(0), jnp.where(selected, vectors, 0.0), selected, jnp.zeros(num, bool))
    return jax.lax.while_loop(more, draw, start)[3]


def masks(num_items: int, size: int | None = None) -> np.ndarray:
    """All subsets of the items, of one size if given, as masks: shape (number of them, items), by size and then order.

    Raises:
        InvalidInput: more items than `MAX_LISTED_ITEMS`.
    """
    if num_items > MAX_LISTED_ITEMS:
        raise InvalidInput(f"the subsets of {num_items} items are not listed; give at most {MAX_LISTED_ITEMS} items")
    sizes = range(num_items + 1) if size is None else [size]
    rows = [subset for size in sizes for subset in itertools.combinations(range(num_items), size)]
    listed = np.zeros((len(rows), num_items), bool)
    for row, subset in enumerate(rows):
        listed[row, list(subset)] = True
    return listed


def _categorical(point: Float[Array, ""], weights: Float[Array, " n"]) -> Int[Array, ""]:
    """The item in whose share of the total weight the point of (0, 1) falls; never one of weight 0."""
    sums = jnp.cumsum(weights)
    return jnp.searchsorted(sums, point * sums[-1], side="right")


def _settled(values: Float[Array, " n"], floor: float, tolerance: Any) -> Float[Array, " n"]:
    """Eigenvalues raised to their lower bound; with bound 0, those within rounding error of it are 0."""
    return jnp.where(values - floor <= tolerance, floor, values)


@partial(jax.jit, static_argnums=0)
def _spectrum_of(mechanism: AbstractDeterminantal, kernel: Float[Array, "n n"]) -> Spectrum:
    values, vectors = jnp.linalg.eigh(kernel)
    tolerance = len(values) * jnp.finfo(values.dtype).eps * jnp.max(jnp.abs(values))
    defined = jnp.isfinite(tolerance) & (values[0] >= -tolerance)
    settled = _settled(values, mechanism._floor(), tolerance)
    return Spectrum(jnp.where(defined, settled, jnp.nan), vectors)


@partial(jax.jit, static_argnums=0)
def _draw(mechanism: AbstractDeterminantal, key: Any, rows: Float[Array, "users items"]) -> Bool[Array, " items"]:
    return mechanism._sample(key, mechanism._spectrum(rows))


@partial(jax.jit, static_argnums=0)
def _law(
    mechanism: AbstractDeterminantal, output: Bool[Array, " items"], rows: Float[Array, "users items"]
) -> Float[Array, ""]:
    kernel = mechanism.kernel_matrix(rows)
    spectrum = mechanism._spectrum(rows)
    value = mechanism._log_prob(output, kernel, spectrum)
    return jnp.where(jnp.isnan(spectrum.values[0]), jnp.nan, value)
