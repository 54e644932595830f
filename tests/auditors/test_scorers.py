import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpassay.auditors.scorers import (
    BLOCK,
    Atoms,
    Column,
    Network,
    Refined,
    Stack,
    Steps,
    column_names,
    columns_of,
    row_hashes,
)

NAMES = ("output[0]", "output[1]", "output[2]")


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)


def steps(derived=True, scale=1.0):
    generator = np.random.default_rng(1)
    tables = {
        column: (np.sort(generator.normal(size=20)).astype(np.float32), generator.normal(size=21) * scale)
        for column in (0, 2, 4)
    }
    return Steps.build(tables, "boosted stumps", derived=derived), tables


def network():
    generator = np.random.default_rng(2)
    shapes = ((6, 32), (32,), (32, 16), (16,), (16, 1), (1,))
    layers = tuple(generator.normal(size=shape).astype(np.float32) * 0.3 for shape in shapes)
    return Network(np.zeros(3, np.float32), np.ones(3, np.float32), layers, False)


def atoms():
    rows = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1]])
    return Atoms.build(rows, np.array([1.5, -0.5, 0.25]))


def all_scorers():
    model, _ = steps()
    return [
        Column(np.int32(1)),
        Column(np.int32(5), True),
        model,
        atoms(),
        network(),
        Stack((model, network()), np.ones(2)),
        Refined(model, atoms(), np.float32(-1), False),
        Refined(model, Column(np.int32(1)), np.float32(1), True),
    ]


@pytest.mark.parametrize("place", range(8))
def test_numpy_and_compiled_scores_agree(features, place):
    scorer = all_scorers()[place]
    features[:300] = np.round(np.abs(features[:300]) / 2)
    expected = scorer(features)
    compiled = jax.jit(lambda model, rows: model(rows))(scorer, jnp.asarray(features))
    assert compiled.dtype == jnp.float32
    assert expected.shape == (5000,)
    if isinstance(scorer, Network | Stack):
        # Rounded to a grid: programs may differ by one step of it where a score falls between two.
        assert np.abs(expected - compiled).max() <= 2 / 4096
        assert np.mean(expected != np.asarray(compiled)) < 0.02
    elif not (isinstance(scorer, Column) and scorer.derived):
        np.testing.assert_array_equal(expected, compiled)
    else:
        np.testing.assert_allclose(expected, compiled, rtol=1e-6, atol=1e-6)


def test_scorers_of_one_shape_share_a_compiled_program(features):
    traces = []

    @jax.jit
    def score(model, rows):
        traces.append(1)
        return model(rows)

    for scale in (1.0, 2.0):
        model, _ = steps(scale=scale)
        score(model, features)
    for values in ([1.0, 2.0, 3.0], [0.0, 1.0, -1.0]):
        score(Atoms.build(np.eye(3), np.array(values)), features)
    assert len(traces) == 2


def test_steps_are_the_sum_of_their_tables(features):
    model, tables = steps()
    rows = columns_of(features, derived=True)
    expected = sum(
        values[np.searchsorted(edges, rows[column], side="right")] for column, (edges, values) in tables.items()
    )
    np.testing.assert_allclose(model(features), expected, atol=1e-4)


def test_sums_of_steps_do_not_depend_on_the_order(features):
    model, _ = steps()
    order = np.random.default_rng(3).permutation(int(model.used))
    columns, edges, heights = model.columns.copy(), model.edges.copy(), model.heights.copy()
    columns[: len(order)], edges[: len(order)], heights[: len(order)] = columns[order], edges[order], heights[order]
    shuffled = Steps(columns, edges, heights, model.used, model.base, True, model.name)
    np.testing.assert_array_equal(model(features), shuffled(features))
    # The mutation: off the grid of a power of two, the same sums do depend on it.
    rough = Steps(model.columns, model.edges, model.heights * np.float32(1 / 3), model.used, model.base, True, "")
    other = Steps(columns, edges, heights * np.float32(1 / 3), model.used, model.base, True, "")
    assert (rough(features) != other(features)).any()


def test_unseen_outcomes_score_zero_and_negative_zero_is_zero():
    table = atoms()
    rows = np.array([[0, 0, 0], [-0.0, 0, 1], [1, 0, 1], [5, 5, 5]], np.float32)
    np.testing.assert_array_equal(table(rows), np.array([1.5, -0.5, 0.25, 0], np.float32))


def test_many_outcomes_keep_nearly_all_of_their_values():
    rows = np.arange(20_000, dtype=np.float32)[:, None]
    values = np.random.default_rng(0).normal(size=20_000).astype(np.float32)
    assert np.mean(Atoms.build(rows, values)(rows) == values) > 0.95


def test_hashes_tell_permuted_rows_apart():
    rows = np.array([[0, 1], [1, 0], [0, 0], [1, 1]], np.float32)
    assert len(np.unique(row_hashes(rows, np.array([0x9E3779B1, 0x85EBCA6B], np.uint32)))) == 4


def test_names_of_columns():
    assert column_names(NAMES[:1], derived=True) == NAMES[:1]
    assert column_names(NAMES, derived=True)[3:] == (
        "output[1] - output[0]",
        "output[2] - output[1]",
        "sum(output)",
        "max(output)",
        "min(output)",
    )
    assert len(column_names(NAMES, derived=True)) == columns_of(np.zeros((2, 3)), derived=True).shape[0]


def test_descriptions():
    assert Column(np.int32(0)).describe(3.25, True, ("output",)) == "output >= 3.25"
    assert Column(np.int32(3), True).describe(1.5, False, NAMES) == "output[1] - output[0] < 1.5"
    table = Atoms.build(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, -2.0]))
    assert table.describe(0.5, True, ("output",)) == "output == 0"
    assert table.describe(-0.5, True, ("output",)) == "output not in {1, 2}"
    assert steps()[0].describe(0.0312, True, NAMES) == "boosted stumps over 3 columns, score >= 0.0312"
    assert network().describe(0.25, False, NAMES) == "network over 3 columns, score < 0.25"
    hat = Steps.build({0: (np.array([0.0, 2.0], np.float32), np.array([0.0, 1.0, 0.0]))}, "histogram", derived=False)
    assert hat.describe(0.5, True, ("output",)) == "0 <= output < 2"
    assert hat.describe(0.5, False, ("output",)) == "output < 0 or output >= 2"


@pytest.mark.parametrize("above", [True, False])
def test_a_refined_scorer_reorders_one_end_and_leaves_the_rest(features, above):
    base, end = Column(np.int32(0)), Column(np.int32(1))
    scores = Refined(base, end, np.float32(1 if above else -1), above)(features)
    extreme = features[:, 0] >= 1 if above else features[:, 0] <= -1
    assert 500 < extreme.sum() < 1500
    np.testing.assert_array_equal(scores[~extreme], features[~extreme, 0])
    np.testing.assert_allclose(np.diff(scores[extreme]), np.diff(features[extreme, 1]), atol=1e-4)
    assert scores[extreme].min() > scores[~extreme].max() if above else scores[extreme].max() < scores[~extreme].min()


def test_padding_adds_nothing(features):
    model, _ = steps()
    assert len(model.columns) & (len(model.columns) - 1) == 0
    assert len(model.columns) > int(model.used)
    assert model.edges.shape == (len(model.columns), BLOCK)
    assert np.isinf(model.edges[int(model.used) :]).all()
