"""Low-rank completion by the nuclear norm (Zheng, sec. 3, eq. 4): what the collector computes from the ratings.

The constrained program min ||M||_* subject to ||P(M - Z)||_F <= rho and the penalized one
min 1/2 ||P(M - Z)||_F^2 + lambda ||M||_* have the same solutions as rho and lambda run through their ranges (P keeps
the observed entries). Solver: soft-impute (Mazumder, Hastie and Tibshirani 2010) with subspace iteration in place of a
singular value decomposition, warm-started from one step to the next, and Nesterov's momentum with restarts.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from dpassay.errors import InvalidInput
from dpassay.mechanisms.selection import check_count, check_positive
from dpassay.numerics import float64
from dpassay.privacy import PrivacyClaim
from dpassay.ratings import Ratings

__all__ = ["Completion", "NuclearNormCompletion"]


class Completion(NamedTuple):
    """An estimate of the full matrix and how it was reached.

    Attributes:
        matrix: shape (users, items), no entry missing.
        singular_values: of `matrix`, descending, shape (max_rank,).
        penalty: lambda.
        residual: ||P(M - Z)||_F.
        iterations: proximal steps, of the last solve.
    """

    matrix: Float[Array, "users items"]
    singular_values: Float[Array, " rank"]
    penalty: Float[Array, ""]
    residual: Float[Array, ""]
    iterations: Any


@final
@dataclass(frozen=True)
class NuclearNormCompletion:
    """Estimates the full rating matrix from an incomplete one; deterministic, and private only as post-processing.

    Attributes:
        penalty: lambda of the penalized form; ignored when `radius` is given.
        radius: rho of eq. 4, in ratings; lambda is then found by bisection so that the residual is just below it.
        max_rank: most singular values kept; the program's own solution when its rank is smaller.
        center: subtract the mean of the observed ratings first and add it back (nothing is subtracted in eq. 4).
        tolerance: stops when a step moves the matrix by less than this part of its norm.
        max_iterations: stops there at the latest.
    """

    penalty: float = 15.0
    radius: float | None = None
    max_rank: int = 50
    center: bool = False
    tolerance: float = 1e-3
    max_iterations: int = 300

    def __post_init__(self) -> None:
        check_positive("penalty", self.penalty)
        if self.radius is not None:
            check_positive("radius", self.radius)
        check_count("max_rank", self.max_rank, 1)
        check_positive("tolerance", self.tolerance)
        check_count("max_iterations", self.max_iterations, 1)

    @property
    def claim(self) -> PrivacyClaim:
        """Nothing of its own: what it is given has to be private already."""
        return PrivacyClaim(math.inf)

    def sample(self, key: Any, dataset: Any) -> Float[Array, "users items"]:
        """The estimate, shape (users, items); `key` is not used."""
        return self.complete(dataset).matrix

    @float64
    def complete(self, dataset: Any) -> Completion:
        """The estimate and how it was reached.

        Args:
            dataset: matrix (users, items), NaN where missing, or `Ratings`.

        Raises:
            InvalidInput: not a matrix, or nothing observed in it.
        """
        matrix = jnp.asarray(dataset.dense() if isinstance(dataset, Ratings) else dataset, jnp.float64)
        if matrix.ndim != 2:
            raise InvalidInput(f"a rating matrix has shape (users, items), got {matrix.shape}")
        if not isinstance(matrix, jax.core.Tracer) and bool(jnp.all(jnp.isnan(matrix))):
            raise InvalidInput("every rating is missing; give at least one")
        return _complete(self, matrix)


_BISECTIONS = 40
_RADIUS_TOLERANCE = 1e-3  # relative width of the bracket of lambda


class _State(NamedTuple):
    matrix: Float[Array, "users items"]
    basis: Float[Array, "items rank"]
    values: Float[Array, " rank"]
    iterations: Any


@partial(jax.jit, static_argnums=0)
def _complete(mechanism: NuclearNormCompletion, matrix: Float[Array, "users items"]) -> Completion:
    observed = ~jnp.isnan(matrix)
    mean = jnp.nanmean(matrix) if mechanism.center else jnp.zeros(())
    target = jnp.where(observed, matrix - mean, 0.0)
    rank = min(mechanism.max_rank, *matrix.shape)
    basis = jnp.linalg.qr(jax.random.normal(jax.random.key(0), (matrix.shape[1], rank), jnp.float64))[0]
    start = _State(jnp.zeros_like(target), basis, jnp.zeros(rank), jnp.zeros((), int))
    if mechanism.radius is None:
        penalty = jnp.asarray(float(mechanism.penalty))
        state = _solve(mechanism, target, observed, penalty, start)
    else:
        penalty, state = _within(mechanism, mechanism.radius, target, observed, start)
    return Completion(
        state.matrix + mean, state.values, penalty, _residual(state.matrix, target, observed), state.iterations
    )


def _residual(matrix: Any, target: Any, observed: Bool[Array, "users items"]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.sum(jnp.where(observed, matrix - target, 0.0) ** 2))


def _within(
    mechanism: NuclearNormCompletion, radius: float, target: Any, observed: Any, start: _State
) -> tuple[Any, _State]:
    """The largest lambda whose residual is at most the radius: the residual grows with lambda."""

    def halve(carry: tuple[Any, Any, _State, _State, Any]) -> tuple[Any, Any, _State, _State, Any]:
        low, high, best, state, count = carry
        middle = jnp.sqrt(low * high)
        state = _solve(mechanism, target, observed, middle, state)
        inside = _residual(state.matrix, target, observed) <= radius
        best = jax.tree.map(lambda new, old: jnp.where(inside, new, old), state, best)
        return jnp.where(inside, middle, low), jnp.where(inside, high, middle), best, state, count + 1

    def wide(carry: tuple[Any, Any, _State, _State, Any]) -> Any:
        low, high, _, _, count = carry
        return (high > low * (1 + _RADIUS_TOLERANCE)) & (count < _BISECTIONS)

    # At lambda = ||P(Z)||, the largest singular value, the solution is 0: nothing larger is of use.
    top = jnp.sqrt(jnp.sum(target**2))
    least = 1e-6 * top
    floor = _solve(mechanism, target, observed, least, start)
    low, _, best, _, _ = jax.lax.while_loop(wide, halve, (least, top, floor, start, jnp.zeros((), int)))
    zero = top <= radius
    return jnp.where(zero, top, low), jax.tree.map(lambda none, some: jnp.where(zero, none, some), start, best)


def _solve(mechanism: NuclearNormCompletion, target: Any, observed: Any, penalty: Any, start: _State) -> _State:
    """Accelerated proximal steps M <- shrink(P(Z) + (1 - P) Y), Y the extrapolation of the last two M."""

    def step(carry: tuple[_State, Any, Any, Any]) -> tuple[_State, Any, Any, Any]:
        state, ahead, momentum, _ = carry
        filled = jnp.where(observed, target, ahead)
        left = jnp.linalg.qr(filled @ state.basis)[0]
        small = left.T @ filled
        turn, values, right = jnp.linalg.svd(small, full_matrices=False)
        shrunk = jnp.maximum(values - penalty, 0.0)
        matrix = (left @ turn) * shrunk @ right
        change = jnp.sqrt(jnp.sum((matrix - state.matrix) ** 2)) / jnp.maximum(jnp.sqrt(jnp.sum(matrix**2)), 1e-12)
        back = jnp.sum((ahead - matrix) * (matrix - state.matrix)) > 0  # the momentum points uphill: restart it
        following = jnp.where(back, 1.0, (1 + jnp.sqrt(1 + 4 * momentum**2)) / 2)
        weight = jnp.where(back, 0.0, (momentum - 1) / following)
        new = _State(matrix, right.T, shrunk, state.iterations + 1)
        return new, matrix + weight * (matrix - state.matrix), following, change

    def unfinished(carry: tuple[_State, Any, Any, Any]) -> Any:
        return (carry[3] > mechanism.tolerance) & (carry[0].iterations < mechanism.max_iterations)

    begun = start._replace(iterations=jnp.zeros((), int))
    return jax.lax.while_loop(unfinished, step, (begun, start.matrix, jnp.ones(()), jnp.asarray(jnp.inf)))[0]
