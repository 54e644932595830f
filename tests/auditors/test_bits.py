from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpassay as dp
from dpassay.auditors import bits
from dpassay.mechanisms import mechanism

ALPHA = 1e-6


def noisy(kind, scale=1.0, seed=1):
    """A textbook sampler `draw(answer, n)`, one stream for all its calls."""
    rng = np.random.default_rng(seed)
    keys = iter(jax.random.split(jax.random.key(seed), 64))

    def inversion(answer, n):
        uniform = rng.random(n) - 0.5
        return answer - scale * np.sign(uniform) * np.log(1 - 2 * np.abs(uniform))

    def on_jax(draw, dtype):
        def sample(answer, n):
            with jax.enable_x64(dtype == jnp.float64):
                return np.asarray(jnp.asarray(answer, dtype) + scale * draw(next(keys), (n,), dtype))

        return sample

    return {
        "numpy": lambda answer, n: answer + rng.laplace(0, scale, n),
        "inversion": inversion,
        "jax32": on_jax(jax.random.laplace, jnp.float32),
        "jax64": on_jax(jax.random.laplace, jnp.float64),
        "numpy normal": lambda answer, n: answer + rng.normal(0, scale, n),
        "jax32 normal": on_jax(jax.random.normal, jnp.float32),
    }[kind]


def best_bound(draw, answer1, answer2, num_fit=20_000, num_test=50_000, alpha=ALPHA):
    """The best Clopper-Pearson bound over events `column == value`, chosen on other samples than those tested."""
    learned = bits.fit(draw(answer1, num_fit), draw(answer2, num_fit))

    def tables(num):
        return [learned(draw(answer, num)) for answer in (answer1, answer2)]

    def bound(sides, place, value, flip, alpha):
        hits = [int((side[:, place] == value).sum()) for side in (sides[::-1] if flip else sides)]
        n = len(sides[0])
        low = stats.beta.ppf(alpha / 2, hits[0], n - hits[0] + 1) if hits[0] else 0.0
        high = stats.beta.ppf(1 - alpha / 2, hits[1] + 1, n - hits[1]) if hits[1] < n else 1.0
        return float(np.log(low / high)) if low > 0 else -np.inf

    selection = tables(num_fit)
    events = [
        (bound(selection, place, value, flip, 0.01), place, value, flip)
        for place in range(len(learned.names))
        for value in np.unique(selection[0][:, place])[:100]
        for flip in (False, True)
    ]
    _, place, value, flip = max(events)
    return bound(tables(num_test), place, value, flip, alpha), learned.names[place]


def test_columns_read_the_bits():
    values = np.array([0.0, -0.0, 1.0, 3.0, -0.75, 2.0**-60, 1 + 2.0**-52, 5e-324, np.nan, np.inf])
    table, names = bits.columns(values)
    last, exponent, zeros, sign = table.T
    assert len(names) == 4
    assert "power of two that divides output" in names[0]
    assert last.tolist() == [64, 64, 0, 0, -2, -60, -52, -1074, 64, 64]
    assert exponent[2:8].tolist() == [0, 1, -1, -60, 0, -1074]
    assert zeros[2:7].tolist() == [52, 51, 51, 52, 0]
    assert sign.tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 0, 0]
    assert np.isfinite(table).all()


def test_the_last_bit_is_what_exact_fractions_say():
    values = np.random.default_rng(0).normal(size=200).astype(np.float32)
    table, _ = bits.columns(values)
    for value, last in zip(values, table[:, 0], strict=True):
        numerator, denominator = float(value).as_integer_ratio()
        odd = numerator // (numerator & -numerator)
        assert odd % 2 == 1
        assert last == np.log2((numerator & -numerator) / denominator)


def test_vectors_get_columns_each_and_together():
    table, names = bits.columns(np.ones((5, 3)))
    assert table.shape == (5, 3 * 4 + 4)
    assert "output[2]" in names[8]
    assert bits.columns(np.ones((5, 100)))[0].shape == (5, 4)
    assert bits.columns(np.ones((2, 2)), ["a", "b"])[1][0].endswith("divides a")


@pytest.mark.parametrize("kind", ["numpy", "inversion", "jax32", "jax64", "numpy normal", "jax32 normal"])
def test_precision_betrays_0_and_1(kind):
    bound, name = best_bound(noisy(kind), 0.0, 1.0, 4000, 30_000)
    assert bound > 5
    assert "power of two" in name or "remainder" in name or "can be" in name


@pytest.mark.parametrize("kind", ["numpy", "inversion", "jax32", "jax64"])
@pytest.mark.parametrize("count", [10.0, 100.0])
def test_holes_betray_counts(kind, count):
    bound, name = best_bound(noisy(kind), count, count + 1)
    assert bound > 2
    assert "Laplace noise of scale 1 from" in name


def test_holes_are_found_for_other_scales():
    assert best_bound(noisy("numpy", scale=2 / 0.3), 37.0, 38.0)[0] > 2


def on_a_lattice(rng, answer, n):
    return answer + 0.01 * np.round(rng.laplace(0, 100, n))


def with_a_value_of_its_own(rng, answer, n):
    return np.where(rng.random(n) < 0.01, answer / 3, rng.laplace(0, 1, n))


@pytest.mark.parametrize(
    ("draw", "answers", "least", "words"),
    [
        (on_a_lattice, (100.303, 100.707), 7, "remainder of output modulo 0.0"),
        (with_a_value_of_its_own, (1.0, 2.0), 3, "frequent exact values"),
    ],
)
def test_form_is_learned_from_samples(draw, answers, least, words):
    bound, name = best_bound(partial(draw, np.random.default_rng(3)), *answers)
    assert bound > least
    assert words in name


def test_noise_on_a_public_grid_is_not_accused():
    rng = np.random.default_rng(5)

    def draw(answer, n):
        ends = rng.geometric(1 - np.exp(-1 / 1024), (2, n))
        return (round(answer * 1024) + ends[0] - ends[1]) * 2.0**-10

    for pair in ((0.0, 1.0), (100.0, 101.0)):
        assert best_bound(draw, *pair)[0] <= 1


def test_our_repaired_perturbation_is_not_accused_and_the_papers_is():
    def draw(variant):
        built = mechanism("modified_laplace", variant, epsilon=1.0)
        keys = iter(jax.random.split(jax.random.key(6), 64))
        return lambda answer, n: np.nan_to_num(np.asarray(built.sample(next(keys), np.full(n, answer))), nan=9.0)

    assert best_bound(draw("repaired"), -1.0, 1.0, 5000, 5000)[0] <= 1
    assert best_bound(draw("paper"), 0.0, 1.0, 5000, 5000)[0] > 2


def test_what_was_found_is_said():
    draw = noisy("numpy")
    learned = bits.fit(draw(10.0, 20_000), draw(11.0, 20_000))
    assert any("10 + Laplace noise of scale 1 from 52-bit numbers" in sentence for sentence in learned.found)
    assert len(learned.names) == len(learned.discrete) == learned(draw(10.0, 7)).shape[1]


def test_small_and_constant_samples():
    learned = bits.fit(np.ones(3), np.ones(4))
    assert learned(np.array([1.0, 2.0, np.nan])).shape[0] == 3
    assert bits.fit(np.array([np.nan, np.inf]), np.array([0.0])).names is not None


def test_audits_refute_textbook_noise_and_spare_noise_on_a_grid():
    def textbook(rng, answer, n):
        return answer + rng.laplace(0, 1, n)

    def on_a_grid(rng, answer, n):
        ends = rng.geometric(1 - np.exp(-1 / 1024), (2, n))
        return (round(answer * 1024) + ends[0] - ends[1]) * 2.0**-10

    def audit(function):
        sampled = dp.from_callable(function, batched=True)
        return dp.audit(
            sampled, 0.0, 1.0, epsilon=1.0, failure_probability=ALPHA, num_samples=3000, representation="bits"
        )

    assert audit(textbook).outcome == "refuted"
    assert audit(textbook).epsilon_lower > 3
    assert audit(on_a_grid).outcome == "not refuted"
