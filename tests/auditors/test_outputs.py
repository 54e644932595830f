"""Outputs of every kind become finite rows, equally under JAX and NumPy, and nothing else is lost than was promised."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpassay.auditors.opening import Raised
from dpassay.auditors.outputs import fit_encoder
from dpassay.core.errors import InvalidInput


def column(encoder, outputs, name):
    rows = np.asarray(encoder.features(outputs))
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert rows.shape == (
        len(jax.tree.leaves(outputs)[0]) if not isinstance(outputs, list) else len(outputs),
        len(encoder.names),
    )
    assert len(encoder.discrete) == len(encoder.names)
    return rows[:, encoder.names.index(name)]


def test_an_array_keeps_its_numbers_up_to_the_grid():
    values = np.random.default_rng(0).laplace(size=(2, 1000))
    encoder = fit_encoder(values[0], values[1] + 1)
    assert encoder.names == ("output",)
    assert encoder.discrete == (False,)
    found = column(encoder, values[0], "output")
    assert 0 < np.abs(found - values[0]).max() < 2.0**-20
    # Artefacts of floating-point arithmetic, far below the noise, are gone.
    assert (column(encoder, values[0] + 2.0**-40, "output") == found).all()


def test_bits_are_kept_when_they_are_judged():
    values = np.random.default_rng(0).laplace(size=(2, 100)).astype(np.float32)
    encoder = fit_encoder(values[0], values[1], representation="bits")
    assert (column(encoder, values[0], "output") == values[0]).all()
    assert len(encoder.names) > 1
    assert not encoder.traceable
    grid = np.round(values * 8) / 8
    near = fit_encoder(grid[0], values[1], representation="bits")
    told = np.asarray(near.features(grid[0]))[:, 1:].mean(axis=0) - np.asarray(near.features(values[1]))[:, 1:].mean(
        axis=0
    )
    assert np.abs(told).max() > 0.5  # some column of bits tells a multiple of 1/8 from another number


def test_numbers_that_are_none_have_columns_of_their_own():
    values = np.array([1.5, math.nan, math.inf, -math.inf, 2.5, 3.5])
    encoder = fit_encoder(values, values)
    assert encoder.names == ("output", "output is NaN", "output is inf", "output is -inf")
    assert column(encoder, values, "output is NaN").tolist() == [0, 1, 0, 0, 0, 0]
    assert column(encoder, values, "output is inf").tolist() == [0, 0, 1, 0, 0, 0]
    assert column(encoder, values, "output is -inf").tolist() == [0, 0, 0, 1, 0, 0]
    numbers = column(encoder, values, "output")
    assert numbers[1] in (1.5, 2.5, 3.5)  # neutral
    assert numbers[2] == numbers.max()
    assert numbers[3] == numbers.min()


def test_nan_that_training_did_not_show_is_neutral_and_finite():
    encoder = fit_encoder(np.arange(8.0), np.arange(8.0))
    assert column(encoder, np.array([math.nan, 1e300, -math.inf]), "output")[0] == 4.0


@pytest.mark.parametrize("wide", [False, True])
def test_features_agree_under_jax_and_numpy(wide):
    with jax.enable_x64(wide):
        generator = np.random.default_rng(1)
        outputs = {
            "noise": jnp.asarray(generator.laplace(size=(500, 3))).at[7, 1].set(jnp.nan),
            "count": jnp.asarray(generator.integers(-5, 2**30, size=500)),
            "flag": jnp.asarray(generator.random(500) < 0.5),
            "wave": jnp.asarray(generator.normal(size=500) + 1j),
        }
        encoder = fit_encoder(outputs, outputs)
        assert encoder.names == (
            "output['count']",
            *[f"output['count'] bits {start} to {start + 15}" for start in ((0, 16, 32) if wide else (0,))],
            "output['flag'] is True",
            "output['noise'][0]",
            "output['noise'][1]",
            "output['noise'][2]",
            "output['noise'][1] is NaN",
            "output['wave'].real",
            "output['wave'].imag",
        )
        traced = np.asarray(jax.jit(encoder.features)(outputs))
        plain = encoder.features(jax.tree.map(np.asarray, outputs))
    assert traced.dtype == plain.dtype == np.float32
    np.testing.assert_array_equal(traced, plain)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64, np.uint8, bool])
def test_whole_numbers_stay_exact(kind):
    largest = 1 if kind is bool else np.iinfo(kind).max
    for base in {0, largest - min(200, largest), largest // 2}:
        values = np.array([base + step for step in range(min(200, largest - base) + 1)], kind)
        encoder = fit_encoder(values, values)
        assert len(np.unique(encoder.features(values), axis=0)) == len(values)
    spread = np.array([[step * (largest // 101), largest - step] for step in range(min(101, largest + 1))], kind)
    encoder = fit_encoder(spread, spread)
    assert len(np.unique(encoder.features(spread), axis=0)) == len(np.unique(spread, axis=0))


def test_noise_far_from_zero_is_not_lost():
    values = 1e9 + np.random.default_rng(2).laplace(size=(2, 1000))
    encoder = fit_encoder(values[0], values[1])
    (name,) = encoder.names
    offset = float(name.removeprefix("output - "))
    np.testing.assert_allclose(column(encoder, values[0], name).astype(float) + offset, values[0], atol=1e-5, rtol=0)


def test_python_numbers_are_as_fast_as_arrays_and_anything_else_is_unseen():
    encoder = fit_encoder([0.5, 1.5, 2.0], [1.0, 3.0, 2.5])
    assert encoder.names == ("output", "unseen output")
    rows = encoder.features([2, None, 1.5, Raised("ValueError"), "text", [1.0]])  # a whole number is a number
    assert rows[:, 1].tolist() == [0, 1, 0, 1, 1, 1]
    assert rows[[0, 2], 0].tolist() == [2, 1.5]
    assert encoder.features([1, 2])[:, 1].tolist() == [0, 0]


def test_text_none_and_exceptions_are_told_apart():
    outputs = ["yes", "no", None, Raised("ValueError"), b"yes"]
    encoder = fit_encoder(outputs, outputs)
    rows = encoder.features([*outputs, "new"])
    assert len(np.unique(rows, axis=0)) == 6
    assert column(encoder, [*outputs, "new"], "unseen output").tolist() == [0, 0, 0, 0, 0, 1]
    assert column(encoder, outputs, "output is 'yes'").tolist() == [1, 0, 0, 0, 0]
    assert column(encoder, outputs, "output raised ValueError").tolist() == [0, 0, 0, 1, 0]


def test_sets_sequences_and_dicts():
    sets = [{1, 2}, set(), {2}, frozenset({3})]
    encoder = fit_encoder(sets, sets)
    assert column(encoder, sets, "output contains 2").tolist() == [1, 0, 1, 0]
    assert column(encoder, sets, "len(output)").tolist() == [2, 0, 1, 1]
    assert column(encoder, [{4}], "unseen output").tolist() == [1]
    ragged = [[1.0, 2.0], [], [3.0], np.array([4.0, math.nan, 6.0])]
    encoder = fit_encoder(ragged, ragged)
    assert column(encoder, ragged, "len(output)").tolist() == [2, 0, 1, 3]
    assert column(encoder, ragged, "output[0]").tolist()[2:] == [3, 4]
    assert column(encoder, ragged, "output[1] is NaN").tolist() == [0, 0, 0, 1]
    dicts = [{"a": 1, "b": "x"}, {"a": 2}, {"c": None}]
    encoder = fit_encoder(dicts, dicts)
    assert column(encoder, dicts, "output['a'] is a number").tolist() == [1, 1, 0]
    assert column(encoder, dicts, "output['b'] is 'x'").tolist() == [1, 0, 0]
    assert column(encoder, dicts, "output['c'] is None").tolist() == [0, 0, 1]


def test_mixtures_of_everything_stay_finite_and_distinct():
    outputs = [1, 2.5, math.nan, math.inf, -math.inf, None, "a", (1, 2), (1,), {1}, {"k": [1, "b"]}, True, 2**200, 1j]
    encoder = fit_encoder(outputs, outputs)
    rows = encoder.features(outputs)
    assert np.isfinite(rows).all()
    assert len(np.unique(rows, axis=0)) == len(outputs) - 1  # True equals 1
    assert not rows[:, encoder.names.index("unseen output")].any()


def test_a_long_vocabulary_is_ordered_by_what_training_saw():
    words = ["".join(letters) for letters in itertools.product("abcdefgh", repeat=3)]
    encoder = fit_encoder(words[:300], words[200:500])
    rank = column(encoder, [words[3], words[250], words[450]], "output (rank)")
    assert rank[0] > rank[1] > rank[2]


def test_objects_without_a_stable_text_are_known_by_their_type():
    class Thing:
        pass

    encoder = fit_encoder([Thing(), 1], [Thing(), 2])
    assert column(encoder, [Thing(), 1], "output is a Thing").tolist() == [1, 0]


def test_wide_outputs_keep_the_columns_that_differ():
    values = np.random.default_rng(3).normal(size=(2, 50, 6000))
    values[1, :, 4321] += 5
    encoder = fit_encoder(values[0], values[1])
    assert len(encoder.names) == 4096
    assert "output[4321]" in encoder.names


def test_constant_and_empty_columns():
    encoder = fit_encoder(np.full(4, 7.25), np.full(4, 7.25))
    assert column(encoder, np.full(4, 7.25), "output").tolist() == [7.25] * 4
    never = np.full(4, math.nan)
    encoder = fit_encoder(never, never)
    assert column(encoder, never, "output is NaN").tolist() == [1] * 4


def test_bad_input_is_named():
    with pytest.raises(InvalidInput, match="choose values or bits"):
        fit_encoder(np.zeros(3), np.zeros(3), representation="raw")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="at least one sample"):
        fit_encoder([], [1])
    with pytest.raises(InvalidInput, match=r"shape \(2,\) on dataset 1 and \(3,\)"):
        fit_encoder(np.zeros((5, 2)), np.zeros((5, 3)))
    with pytest.raises(InvalidInput, match="different structures"):
        fit_encoder((np.zeros(3),), {"a": np.zeros(3)})
