"""Low-rank completion by the nuclear norm (Zheng, sec. 3, eq. 4): what the collector computes from the ratings.

The constrained program min ||M||_* subject to ||P(M - Z)||_F <= rho and the penalized one
min 1/2 ||P(M - Z)||_F^2 + lambda ||M||_* have the same solutions as rho and lambda run through their ranges (P keeps
the observed entries). Solver: soft-impute (Mazumder, Hastie and Tibshirani 2010) with subspace iteration in place of a
singular value decomposition, warm-started from one step to the next, and Nesterov's momentum with restarts. The
subspace grows until it holds the whole solution.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, final

import jax
import jax.numpy as jnp

from dpassay.core.checks import check_choices, check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.shapes import Array, Float
from dpassay.data.ratings import Ratings

Precision = Literal["double", "single"]


class Completion(NamedTuple):
    """An estimate of the full matrix and how it was reached.

    Attributes:
        matrix: shape (users, items), no entry missing.
        singular_values: of `matrix` less the mean that was subtracted, descending, shape (rank,), rank <= max_rank; the
            last is 0 unless max_rank cut the solution off.
        penalty: lambda.
        residual: ||P(M - Z)||_F; with weights, the root of the weighted sum of squares.
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
        radius: rho of eq. 4, in ratings; lambda is then found so that the residual is just below it.
        max_rank: most singular values kept; the program's own solution when its rank is smaller.
        center: subtract the mean of the observed ratings first and add it back (nothing is subtracted in eq. 4).
        tolerance: stops when a step moves the matrix by less than this part of its norm.
        max_iterations: stops there at the latest.
        precision: "single" computes in float32, in half the time; use tolerances of 1e-4 and more.
    """

    penalty: float = 15.0
    radius: float | None = None
    max_rank: int = 100
    center: bool = False
    tolerance: float = 1e-3
    max_iterations: int = 300
    precision: Precision = "double"

    def __post_init__(self) -> None:
        check_positive("penalty", self.penalty)
        if self.radius is not None:
            check_positive("radius", self.radius)
        check_count("max_rank", self.max_rank, 1)
        check_positive("tolerance", self.tolerance)
        check_count("max_iterations", self.max_iterations, 1)
        check_choices(self)

    @property
    def claim(self) -> PrivacyClaim:
        """Nothing of its own: what it is given has to be private already."""
        return PrivacyClaim(math.inf)

    def sample(self, key: Any, dataset: Any) -> Float[Array, "users items"]:
        """The estimate, shape (users, items); `key` is not used."""
        return self.complete(dataset).matrix

    @float64
    def complete(self, dataset: Any, weights: Any = None) -> Completion:
        """The estimate and how it was reached.

        Args:
            dataset: matrix (users, items), NaN where missing, or `Ratings`.
            weights: of every cell's squared error, matrix (users, items), >= 0; a missing cell has weight 0. None gives
                every observed cell the weight 1, as in eq. 4.

        Raises:
            InvalidInput: not a matrix, nothing observed in it, or weights of another shape or below 0.
        """
        dtype = jnp.float64 if self.precision == "double" else jnp.float32
        matrix = jnp.asarray(dataset.dense() if isinstance(dataset, Ratings) else dataset, dtype)
        if matrix.ndim != 2:
            raise InvalidInput(f"a rating matrix has shape (users, items), got {matrix.shape}")
        traced = isinstance(matrix, jax.core.Tracer)
        if not traced and bool(jnp.all(jnp.isnan(matrix))):
            raise InvalidInput("every rating is missing; give at least one")
        weight = jnp.ones_like(matrix) if weights is None else jnp.asarray(weights, dtype)
        if weight.shape != matrix.shape:
            raise InvalidInput(f"weights have shape {weight.shape}, the ratings {matrix.shape}; give one per cell")
        if not traced and not isinstance(weight, jax.core.Tracer) and not bool(jnp.all(weight >= 0)):
            raise InvalidInput("a weight is negative or not a number; give weights >= 0")
        return self._complete(matrix, weight, min(self.max_rank, *matrix.shape), traced)

    def _complete(self, matrix: Any, weight: Any, limit: int, traced: bool) -> Completion:
        problem, mean = _problem(matrix, weight, self.center)
        limits = (self.tolerance, self.max_iterations)
        level = jnp.asarray(self.penalty if self.radius is None else self.radius, matrix.dtype)
        rank = limit if traced else min(_FIRST_RANK, limit)
        state = _State(jnp.zeros_like(matrix), _directions(matrix, rank), jnp.zeros(rank, matrix.dtype), 0)
        solve = _penalized if self.radius is None else _constrained
        penalty, state = solve((*limits, rank == limit), problem, level, state)
        while rank < limit and bool(state.values[-1] > 0):  # the subspace is full and may cut the solution off
            more = min(rank, limit - rank)
            rank += more
            basis = jnp.concatenate([state.basis, _directions(matrix, more)], axis=1)
            state = state._replace(basis=basis, values=jnp.pad(state.values, (0, more)))
            penalty, state = solve((*limits, rank == limit), problem, level, state)
        return Completion(
            state.matrix + mean, state.values, penalty, _residual(state.matrix, problem), state.iterations
        )


_FIRST_RANK = 16
_LEAST_ITERATIONS = 3  # new directions of the subspace need a few to find their place
_STEPS = 60
_DESCENT = 0.7
_RADIUS_TOLERANCE = 4e-3  # the residual lies this part below the radius at most, or lambda is known this well


class _Problem(NamedTuple):
    """1/2 scale sum w (M - target)^2 + lambda ||M||_*, w in [0, 1]."""

    target: Float[Array, "users items"]
    weights: Float[Array, "users items"]
    scale: Float[Array, ""]


class _State(NamedTuple):
    matrix: Float[Array, "users items"]
    basis: Float[Array, "items rank"]
    values: Float[Array, " rank"]
    iterations: Any


@partial(jax.jit, static_argnums=2)
def _problem(matrix: Any, weights: Any, center: bool) -> tuple[_Problem, Any]:
    """The program, and the mean that was subtracted."""
    weights = jnp.where(jnp.isnan(matrix), 0.0, weights)
    known = jnp.nan_to_num(matrix)
    mean = jnp.sum(weights * known) / jnp.sum(weights) if center else jnp.zeros((), matrix.dtype)
    scale = jnp.max(weights)
    return _Problem(jnp.where(weights > 0, known - mean, 0.0), weights / scale, scale), mean


def _directions(matrix: Any, rank: int) -> Float[Array, "items rank"]:
    return jax.random.normal(jax.random.key(rank), (matrix.shape[1], rank), matrix.dtype)


@partial(jax.jit, static_argnums=0)
def _penalized(limits: tuple[float, int, bool], problem: _Problem, penalty: Any, start: _State) -> tuple[Any, _State]:
    return penalty, _solve(limits, problem, penalty, start)


def _residual(matrix: Any, problem: _Problem) -> Float[Array, ""]:
    return jnp.sqrt(problem.scale * jnp.sum(problem.weights * (matrix - problem.target) ** 2))


class _Bracket(NamedTuple):
    """lambda between `low` (0 until a residual is within the radius) and `high`, and the residuals there."""

    low: Any
    high: Any
    residual_low: Any
    residual_high: Any
    best: _State
    state: _State
    steps: Any


@partial(jax.jit, static_argnums=0)
def _constrained(limits: tuple[float, int, bool], problem: _Problem, radius: Any, start: _State) -> tuple[Any, _State]:
    """The largest lambda whose residual is at most the radius: the residual grows with lambda.

    lambda is lowered until a residual is inside, then found by false position on its logarithm. It starts near the
    spectral norm of independent noise whose Frobenius norm is the radius.
    """

    def narrow(bracket: _Bracket) -> _Bracket:
        part = (radius - bracket.residual_low) / (bracket.residual_high - bracket.residual_low)
        # A little inside, so that the next point tends to be one that can be kept; a plain half now and then, so that
        # both ends move.
        part = jnp.where(bracket.steps % 3 == 2, 0.5, jnp.clip(part - _RADIUS_TOLERANCE, 0.05, 0.95))
        between = bracket.low * (bracket.high / bracket.low) ** part
        lower = jnp.where(bracket.steps == 0, jnp.minimum(guess, bracket.high), _DESCENT * bracket.high)
        middle = jnp.where(bracket.low > 0, between, lower)
        state = _solve(limits, problem, middle, bracket.state)
        residual = _residual(state.matrix, problem)
        inside = residual <= radius
        return _Bracket(
            jnp.where(inside, middle, bracket.low),
            jnp.where(inside, bracket.high, middle),
            jnp.where(inside, residual, bracket.residual_low),
            jnp.where(inside, bracket.residual_high, residual),
            jax.tree.map(lambda new, old: jnp.where(inside, new, old), state, bracket.best),
            state,
            bracket.steps + 1,
        )

    def wide(bracket: _Bracket) -> Any:
        apart = bracket.high > bracket.low * (1 + _RADIUS_TOLERANCE)
        short = bracket.residual_low < radius * (1 - _RADIUS_TOLERANCE)
        full = (bracket.state.values[-1] > 0) & (not limits[2])
        return (norm > radius) & apart & short & (bracket.steps < _STEPS) & ~full

    # At lambda = ||P(Z)||, the largest singular value, the solution is 0 and the residual that of 0.
    top = problem.scale * jnp.sqrt(jnp.sum((problem.weights * problem.target) ** 2))  # no singular value is larger
    guess = 1.2 * radius * sum(1 / math.sqrt(side) for side in problem.target.shape)
    norm = _residual(jnp.zeros_like(start.matrix), problem)
    none = jnp.zeros_like(radius)
    start = start._replace(iterations=jnp.zeros((), int))
    zero = start._replace(matrix=jnp.zeros_like(start.matrix), values=jnp.zeros_like(start.values))
    found = jax.lax.while_loop(wide, narrow, _Bracket(none, top, none, norm, zero, start, jnp.zeros((), int)))
    full = (found.state.values[-1] > 0) & (not limits[2])
    best = jax.tree.map(lambda new, old: jnp.where(full, new, old), found.state, found.best)
    return jnp.where(norm > radius, found.low, top), best


def _solve(limits: tuple[float, int, bool], problem: _Problem, penalty: Any, start: _State) -> _State:
    """Accelerated proximal steps M <- shrink(Y + w (Z - Y)), Y the extrapolation of the last two M."""
    tolerance, max_iterations, last = limits
    penalty = penalty / problem.scale

    def step(carry: tuple[_State, Any, Any, Any]) -> tuple[_State, Any, Any, Any]:
        state, ahead, momentum, _ = carry
        filled = ahead + problem.weights * (problem.target - ahead)
        left = jnp.linalg.qr(filled @ state.basis)[0]
        small = left.T @ filled
        # Singular values of the small matrix from its Gram matrix: the long side is never decomposed.
        squares, turn = jnp.linalg.eigh(small @ small.T)
        values, turn = jnp.sqrt(jnp.maximum(squares[::-1], 0.0)), turn[:, ::-1]
        shrunk = jnp.maximum(values - penalty, 0.0)
        right = turn.T @ small
        matrix = (left @ turn) * (shrunk / jnp.maximum(values, 1e-30)) @ right
        moved = matrix - state.matrix
        change = jnp.sqrt(jnp.sum(moved**2)) / jnp.maximum(jnp.sqrt(jnp.sum(shrunk**2)), 1e-12)
        back = jnp.sum((ahead - matrix) * moved) > 0  # the momentum points uphill: restart it
        following = jnp.where(back, 1.0, (1 + jnp.sqrt(1 + 4 * momentum**2)) / 2).astype(momentum.dtype)
        weight = jnp.where(back, 0.0, (momentum - 1) / following)
        return _State(matrix, right.T, shrunk, state.iterations + 1), matrix + weight * moved, following, change

    def unfinished(carry: tuple[_State, Any, Any, Any]) -> Any:
        state, change = carry[0], carry[3]
        full = (state.values[-1] > 0) & (not last)
        going = ((change > tolerance) | (state.iterations < _LEAST_ITERATIONS)) & ~full
        return going & (state.iterations < max_iterations)

    begun = start._replace(iterations=jnp.zeros((), int))
    one, far = jnp.ones((), start.matrix.dtype), jnp.asarray(jnp.inf, start.matrix.dtype)
    return jax.lax.while_loop(unfinished, step, (begun, start.matrix, one, far))[0]
