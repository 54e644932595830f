import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from dpassay.auditors import learners
from dpassay.auditors.learners import (
    Binned,
    SmoothAdditive,
    _location,
    fit_network,
    fit_outcomes,
    fit_product,
    fit_residual_outcomes,
    fit_stack,
    fit_stumps,
    learn_scorers,
    refine,
    tally,
)
from dpassay.auditors.scorers import Column, Steps


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def laplaces(generator, shift, size, columns, epsilon):
    return (generator.laplace(shift, 1 / epsilon, (size, columns))).astype(np.float32)


def correlation(scores, truth):
    return np.corrcoef(scores, truth)[0, 1]


def test_outcomes_are_log_ratios_shrunk_by_their_counts(generator):
    law1, law2 = np.array([0.5, 0.3, 0.2 - 2e-5, 2e-5]), np.array([0.3, 0.5, 0.2 - 1e-5, 1e-5])
    one, two = (generator.choice(4, size=(100_000, 1), p=law).astype(np.float32) for law in (law1, law2))
    table = fit_outcomes(one, two)
    assert table is not None
    scores = table(np.arange(5, dtype=np.float32)[:, None])
    np.testing.assert_allclose(scores[:3], np.log(law1 / law2)[:3], atol=0.04)
    assert abs(scores[3]) < np.log(2)  # one or two hits say next to nothing
    assert scores[4] == 0


def test_continuous_outputs_have_no_table_but_an_atom_among_them_has(generator):
    one, two = (laplaces(generator, shift, 5000, 1, 1.0) for shift in (0, 1))
    assert fit_outcomes(one, two) is None
    one[:1000] = 7.0
    two[:500] = 7.0
    table = fit_outcomes(one, two)
    assert table is not None
    assert len(table.rows) == 1
    assert table(np.array([[7.0]], np.float32))[0] == pytest.approx(np.log(2), abs=0.1)


def patterns(generator, sign, size, columns=6):
    """Random signs, of which the first two agree with probability 0.5 + 0.1 sign."""
    rows = generator.integers(0, 2, (size, columns)).astype(np.float32)
    rows[:, 1] = np.where(generator.random(size) < 0.5 + 0.1 * sign, rows[:, 0], 1 - rows[:, 0])
    return rows


def test_a_tally_counts_rows_however_they_are_parted(generator):
    one, two = (patterns(generator, sign, size) for sign, size in ((1, 3000), (-1, 2000)))
    rows, (counts1, counts2) = tally(one, two)
    assert len(rows) == 2**6
    places = (rows @ 2 ** np.arange(6)).astype(int)
    for side, counts in ((one, counts1), (two, counts2)):
        expected = np.bincount((side @ 2 ** np.arange(6)).astype(int), minlength=2**6)
        np.testing.assert_array_equal(counts, expected[places])
    part, some = tally(one[:1000], two[:50])
    joined = [np.concatenate([part, rest]) for rest in (one[1000:], two[50:])]
    weights = [np.concatenate([count, np.ones(n)]) for count, n in zip(some, (2000, 1950), strict=True)]
    again, counted = tally(joined[0], joined[1], (weights[0], weights[1]))
    np.testing.assert_array_equal(again[np.lexsort(again.T)], rows[np.lexsort(rows.T)])
    for one_way, other in zip(counted, (counts1, counts2), strict=True):
        np.testing.assert_array_equal(one_way[np.lexsort(again.T)], other[np.lexsort(rows.T)])


def test_counts_say_what_the_samples_say_that_they_count(generator, monkeypatch):
    monkeypatch.setattr(learners, "NETWORK_STEPS", 100)
    monkeypatch.setattr(learners, "NETWORK_BATCH", 256)
    one, two, *held = (patterns(generator, sign, size, columns=7) for size in (20_000, 5000) for sign in (1, -1))
    rows, counts = tally(one, two)
    of_samples = learn_scorers(one, two, [True] * 7, tuple(held))
    of_counts = learn_scorers(rows, rows, [True] * 7, tuple(held), weights=counts)
    assert [scorer.name for scorer in of_samples] == [scorer.name for scorer in of_counts]
    stack, corrected = of_counts[-2:]
    sampled = fit_residual_outcomes(stack, one, two)
    np.testing.assert_allclose(corrected(rows), sampled(rows), atol=1e-5)
    for sampled, counted in zip(of_samples, of_counts, strict=True):
        if sampled.name in ("network", "stack", "corrected stack"):
            continue
        tolerance = 0.02 if sampled.name == "boosted stumps" else 1e-5
        difference = sampled(rows) - counted(rows)
        assert np.ptp(difference) <= tolerance, sampled.name


def test_a_network_of_counts_sees_an_interaction_and_little_of_the_noise(generator):
    one, two = (patterns(generator, sign, 50_000, columns=9) for sign in (1, -1))
    rows, counts = tally(one, two)
    truth = np.where(rows[:, 0] == rows[:, 1], 1.0, -1.0)
    network, table = fit_network(rows, rows, weights=counts, seed=0), fit_outcomes(rows, rows, counts)
    assert table is not None
    assert correlation(network(rows), truth) > 0.97 > 0.95 > correlation(table(rows), truth)
    assert np.abs(network(rows) - truth * np.log(0.6 / 0.4)).mean() < 0.1


def test_a_product_of_laplaces_is_found_by_its_product_and_better_by_a_shared_histogram(generator):
    one, two = (laplaces(generator, shift, 20_000, 10, 0.05) for shift in (1, 0))
    binned = Binned(one, two, [False] * 10, derived=True)
    fresh = laplaces(generator, 0.5, 20_000, 10, 0.05)
    truth = (np.abs(fresh) - np.abs(fresh - 1)).sum(axis=1)
    columns = np.arange(10)
    own = correlation(fit_product(binned, columns, name="product")(fresh), truth)
    shared = correlation(fit_product(binned, columns, name="product", shared=True)(fresh), truth)
    assert own > 0.7
    assert shared > max(0.9, own)


def test_a_shared_histogram_of_many_columns_finds_where_the_ratio_changes(generator):
    one, two = (laplaces(generator, shift, 50_000, 40, 0.02) for shift in (1, 0))
    scorer = fit_product(Binned(one, two, [False] * 40, derived=False), np.arange(40), name="shared", shared=True)
    edges = scorer.edges[0][np.isfinite(scorer.edges[0])]
    assert np.abs(edges - 0.5).max() < 5  # of a scale of 50


def test_missing_numbers_take_no_resolution_from_the_others(generator):
    values = laplaces(generator, 0, 100_000, 1, 1.0)[:, 0]
    values[generator.random(len(values)) < 0.95] = -1e4
    edges = Binned(values[:, None], values[:, None], [False], derived=False).edges[0]
    assert len(edges) > 50
    assert np.diff(edges).min() > 0
    assert edges[-1] > np.log(50) > -np.log(50) > edges[1] > edges[0] > -1e4
    center, spread = _location(values)
    assert center == pytest.approx(0, abs=0.1)
    assert spread == pytest.approx(-np.log(2 * 0.16), abs=0.1)
    assert _location(np.zeros(10)) == (0, 1)
    assert _location(np.repeat([0.0, 3.0], 50)) == (3, 1.5)


def test_chance_differences_are_merged_away(generator):
    one, two = (laplaces(generator, 0, 20_000, 10, 1.0) for _ in range(2))
    product = fit_product(Binned(one, two, [False] * 10, derived=True), np.arange(10), name="product")
    assert np.count_nonzero(product.heights) <= 4


@pytest.mark.parametrize("weighted", [False, True])
def test_stumps_are_those_of_scikit_learn(generator, weighted):
    one, two = (np.cumsum(laplaces(generator, shift, 4000, 3, 1.0), axis=1) for shift in (1, 0))
    weights = tuple(generator.integers(1, 9, 4000).astype(float) for _ in range(2)) if weighted else None
    binned = Binned(one, two, [False] * 3, derived=True, weights=weights)
    model = fit_stumps(binned, np.arange(len(binned.edges)))
    codes = np.concatenate(binned.codes, axis=1).T.astype(np.float32)
    reference = HistGradientBoostingClassifier(
        max_iter=80,
        max_leaf_nodes=2,
        learning_rate=0.25,
        max_bins=64,
        min_samples_leaf=1 if weighted else 20,
        early_stopping=False,
        random_state=0,
    )
    shares = [np.ones(4000) if weights is None else side * 4000 / side.sum() for side in weights or (one, two)]
    with threadpool_limits(1, user_api="openmp"):
        reference.fit(codes, np.repeat([1.0, 0.0], 4000), sample_weight=np.concatenate(shares))
    expected = reference.decision_function(codes)
    scores = model(np.concatenate([one, two]))
    np.testing.assert_allclose(scores - scores[0], expected - expected[0], atol=1e-4)


def test_a_stack_weighs_as_scikit_learn(generator):
    def line(column):
        return lambda rows: rows[:, column]

    one, two = (generator.normal(shift, 1, (size, 2)) for shift, size in (([1, 0.3], 5000), ([0, 0], 3000)))
    stack = fit_stack([line(0), line(1)], one, two)
    rows, spread = np.concatenate([one, two]), np.concatenate([one, two]).std(axis=0)
    model = LogisticRegression(C=1e4, class_weight="balanced", tol=1e-8)
    model.fit(rows / spread, np.repeat([1, 0], [5000, 3000]))
    np.testing.assert_allclose(stack.weights, model.coef_[0] / spread, atol=1e-3)


def test_the_network_is_trained_as_optax_does(generator):
    one, two = (laplaces(generator, shift, 64, 2, 1.0) for shift in (1, 0))
    steps, sizes = 200, (2, *learners.HIDDEN, 1)
    ones = np.full(64, 1 / 64, np.float32)
    optimizer = optax.adam(optax.cosine_decay_schedule(learners.NETWORK_RATE, steps))

    def loss(layers):
        def logits(rows):
            for place in (0, 2):
                rows = jnp.tanh(rows @ layers[place] + layers[place + 1])
            return (rows @ layers[4] + layers[5])[:, 0]

        return jnp.mean(jax.nn.softplus(-logits(one))) + jnp.mean(jax.nn.softplus(logits(two)))

    @jax.jit
    def step(layers, state):
        updates, state = optimizer.update(jax.grad(loss)(layers), state)
        return optax.apply_updates(layers, updates), state

    layers = learners._start(jax.random.split(jax.random.key(0))[0], sizes)
    state = optimizer.init(layers)
    for _ in range(steps):
        layers, state = step(layers, state)
    trained = learners._trainer(2, steps, None)(jax.random.key(0), one, two, ones, ones)
    for ours, theirs in zip(trained, layers, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_differences_undo_running_sums(generator):
    def sums(shift, size):
        return np.cumsum(laplaces(generator, shift, size, 10, 1.0), axis=1)

    one, two, fresh = sums(1, 20_000), sums(0, 20_000), sums(0.5, 20_000)
    noise = np.diff(fresh, axis=1, prepend=0)
    truth = (np.abs(noise) - np.abs(noise - 1)).sum(axis=1)
    with_differences = Binned(one, two, [False] * 10, derived=True)
    raw = Binned(one, two, [False] * 10, derived=False)
    good = correlation(fit_stumps(with_differences, np.arange(22))(fresh), truth)
    poor = correlation(fit_stumps(raw, np.arange(10))(fresh), truth)
    assert good > 0.9
    assert poor < good - 0.1


def test_network_learns_an_interaction_despite_markers(generator, monkeypatch):
    monkeypatch.setattr("dpassay.auditors.learners.NETWORK_STEPS", 400)
    monkeypatch.setattr("dpassay.auditors.learners.NETWORK_BATCH", 256)

    def draw(sign, size):
        rows = generator.normal(size=(size, 2)).astype(np.float32)
        rows[:, 1] = np.abs(rows[:, 1]) * np.sign(rows[:, 0]) * sign * np.where(generator.random(size) < 0.8, 1, -1)
        rows[generator.random(size) < 0.1] = -1000
        return rows

    network = fit_network(draw(1, 20_000), draw(-1, 20_000), seed=0)
    fresh = draw(1, 5000)
    scores = network(fresh)
    same = np.sign(fresh[:, 0]) == np.sign(fresh[:, 1])
    real = fresh[:, 0] != -1000
    assert scores[same & real].mean() > 0.8
    assert scores[~same & real].mean() < -0.8
    assert np.abs(scores[~real]).max() < 0.3


def test_a_stack_leaves_out_what_says_nothing(generator):
    def draw(shift):
        return np.stack([generator.normal(shift, 1, 5000), generator.normal(0, 1, 5000)], axis=1).astype(np.float32)

    def line(column):
        return Steps.build({column: (np.arange(-2, 2.1, 0.5), np.arange(10) / 2)}, "line", derived=False)

    stack = fit_stack([line(0), line(1)], draw(1), draw(0))
    assert stack.weights[0] == pytest.approx(1.0, abs=0.15)
    assert abs(stack.weights[1]) < 0.1


def tail_samples(side, size, generator):
    """Two columns: only beyond 0.97 of the first does the second tell the sides apart, by a log-ratio of 1 to -1."""
    first, second = generator.random(size), generator.random(size)
    steep = np.log1p(generator.random(size) * np.expm1(1))  # density proportional to e^x on [0, 1]
    second = np.where(first > 0.97, 1 - steep if side else steep, second)
    return np.column_stack([first, second]).astype(np.float32)


def test_an_end_is_learned_by_itself(generator, monkeypatch):
    monkeypatch.setattr(learners, "NETWORK_STEPS", 400)
    monkeypatch.setattr(learners, "DRAWN_ROWS", 100_000)
    drawn = []

    def draw(side, size):
        drawn.append((side, size))
        return tail_samples(side, size, generator)

    base = Column(np.int32(0))
    low, high = refine(base, draw, 240_000, [False, False])
    assert sorted(drawn) == [(side, size) for side in (0, 1) for size in (40_000, 100_000, 100_000)]
    assert (low.above, high.above) == (False, True)
    assert high.cut == pytest.approx(0.97, abs=0.002)
    assert low.cut == pytest.approx(0.03, abs=0.002)
    rows = tail_samples(0, 20_000, generator)
    extreme = rows[rows[:, 0] > 0.975]
    assert correlation(high(extreme), 2 * extreme[:, 1]) > 0.98
    np.testing.assert_array_equal(high(rows)[rows[:, 0] < 0.96], rows[rows[:, 0] < 0.96, 0])


def test_an_end_with_too_few_samples_is_left(generator):
    assert (
        refine(Column(np.int32(0)), lambda side, size: tail_samples(side, size, generator), 20_000, [False] * 2) == ()
    )


def test_no_further_samples_refine_nothing():
    assert refine(Column(np.int32(0)), lambda _, n: pytest.fail("asked for samples"), 0, [False]) == ()


def test_ties_do_not_flood_an_end(generator, monkeypatch):
    fitted = []

    def fit(one, two, *, weights, seed):
        assert weights is None
        fitted.append((len(one), len(two)))
        return Column(np.int32(1))

    monkeypatch.setattr(learners, "fit_network", fit)
    refine(Column(np.int32(0)), lambda _, n: generator.integers(0, 2, (n, 2)).astype(np.float32), 250_000, [True] * 2)
    assert fitted == [(4 * learners.LARGEST_END // 5,) * 2] * 2


def test_outcomes_correct_a_scorer_where_it_is_wrong(generator):
    law1, law2 = np.full(8, 1 / 8), np.full(8, 1 / 8)
    law1[3], law2[3] = 0.2, 0.05
    bits = np.array(np.unravel_index(np.arange(8), (2, 2, 2))).T.astype(np.float32)
    one, two = (bits[generator.choice(8, size=20_000, p=law / law.sum())] for law in (law1, law2))
    flat = Steps.build({0: (np.array([0.5], np.float32), np.zeros(2))}, "flat", derived=False)
    corrected = fit_residual_outcomes(flat, one, two)
    assert np.argmax(corrected(bits)) == 3
    assert corrected(bits)[3] > 1.0


def stopped(generator, size, shift):
    """The first of two columns decides whether the second is seen; only the lows of the second tell more."""
    first = generator.integers(0, 2, size)
    second = generator.normal(size=size)
    likely = np.exp(-shift * np.minimum(second + 1, 0)) * np.exp(0.2 * shift * first)
    kept = generator.random(size) * likely.max() < likely
    return np.column_stack([first, first, np.where(first, second, 9.0)])[kept].astype(np.float32)


def test_a_smooth_model_counts_what_two_columns_say_once_and_follows_a_tail(generator):
    rows = np.array([[0, 0, 9], [1, 1, 0], [1, 1, -1.5], [1, 1, -2.5]], np.float32)
    smooth, products = [], []
    for _ in range(4):
        one, two = stopped(generator, 600_000, 0.15), stopped(generator, 600_000, 0.0)
        model = SmoothAdditive(one[:20_000], two[:20_000])
        for start in range(20_000, min(len(one), len(two)), 40_000):
            for side, samples in enumerate((one, two)):
                model.add(side, samples[start : start + 40_000, model.columns])
        smooth.append(np.diff(model.fit()(rows)))
        product = fit_product(Binned(one, two, [True, True, False], derived=False), range(3), name="product")
        products.append(np.diff(product(rows))[0])
    assert np.mean(smooth, axis=0) == pytest.approx([0.03, 0.075, 0.15], abs=0.03)
    assert np.mean(products) > 0.06  # the first two columns say the same, and the third says it again


def test_a_smooth_model_learns_of_a_place_from_those_beside_it(generator, monkeypatch):
    """The places of a sequence leak ever more; what the middle one leaks in its tail is hardly seen."""

    def sequence(size, tilt):
        rows = generator.normal(size=(size, 5))
        rows[:, 2] += 2.5
        likely = np.exp(tilt * (np.minimum(rows, 0) * np.arange(5)).sum(axis=1))
        return rows[generator.random(size) * 3 < likely].astype(np.float32)

    one, two = sequence(400_000, -0.05), sequence(400_000, 0.0)
    rows = np.zeros((2, 5), np.float32)
    rows[1, 2] = -1.5
    linked, alone = SmoothAdditive(one, two), SmoothAdditive(one, two)
    rows_of, kinds = alone._penalties()
    monkeypatch.setattr(alone, "_penalties", lambda: (rows_of[kinds != learners.BINS], kinds[kinds != learners.BINS]))
    errors = [abs(float(np.diff(model.fit()(rows))[0]) - 0.15) for model in (linked, alone)]
    assert errors[0] < 0.05 < errors[1]


def test_a_smooth_model_keeps_a_step_that_all_columns_have_at_one_place(generator, monkeypatch):
    def stepped(size, height):
        rows = generator.normal(size=(size, 6))
        likely = np.exp(height * (np.count_nonzero(rows > 0, axis=1) - 6))
        return rows[generator.random(size) < likely].astype(np.float32)

    one, two = stepped(200_000, 0.2), stepped(200_000, 0.0)
    told = np.count_nonzero(two > 0, axis=1)
    adaptive, uniform = SmoothAdditive(one, two), SmoothAdditive(one, two)
    rows, kinds = uniform._penalties()
    monkeypatch.setattr(uniform, "_penalties", lambda: (rows, np.where(kinds < learners.BINS, 0, kinds)))
    errors = [1 - np.corrcoef(model.fit()(two), told)[0, 1] for model in (adaptive, uniform)]
    assert errors[0] < 0.008
    assert errors[1] > 1.5 * errors[0]


def test_precisions_make_counts_the_likeliest_of_those_near(generator):
    """As the gradient of the evidence, found numerically, says."""
    one, two = (laplaces(generator, shift, 20_000, 3, 1.0) for shift in (0.3, 0.0))
    model = SmoothAdditive(one, two)
    (met, excess), (rows, kinds) = (model._met.sum(axis=0), model._excess.sum(axis=0)), model._penalties()
    assert np.array_equal(met, met.T)
    kinds = np.where(kinds < learners.BINS, 0, kinds)

    def evidence(logs):
        prior = learners._prior(rows, kinds, np.exp(logs))
        gained = np.linalg.slogdet(prior)[1] - np.linalg.slogdet(met / 4 + prior)[1]
        return (excess @ np.linalg.solve(met / 4 + prior, excess) + gained) / 2

    found = np.log(learners._precisions(met, excess, rows, kinds))
    best = evidence(found)
    for place in (0, learners.BINS, learners.BINS + 1):
        for by in (-1, 1):
            moved = found.copy()
            moved[place] += by
            assert evidence(moved) < best + 0.01
    assert best > evidence(np.log(np.repeat(learners.PRECISIONS, [learners.BINS, 1, 1]))) + 1


def test_a_smooth_model_reads_no_column_that_marks_what_another_holds(generator):
    """As the encoder gives numbers that may be missing: each with a column that says so."""
    sides = []
    for shift in (0.1, 0.0):
        rows = generator.laplace(shift, size=(50_000, 4)).astype(np.float32)
        rows[:, 1] = generator.random(len(rows)) < 0.3 + shift
        rows[rows[:, 1] > 0, 0] = 0.0
        rows[:, 3] = generator.random(len(rows)) < 0.001
        rows[rows[:, 3] > 0, 2] = 0.0
        sides.append(rows)
    assert SmoothAdditive(*sides).columns == [0, 2, 3]  # too few are missing of the other to have a bin of their own
    for rows in sides:
        rows[:10, 1] = 1 - rows[:10, 1]
    assert SmoothAdditive(*sides).columns == [0, 1, 2, 3]


def test_kept_samples_are_scored_as_rows_are_and_crossed_by_models_without_them(generator, monkeypatch):
    sides = [laplaces(generator, 0.0, 30_000, 3, 1.0).round(1) for _ in (0, 1)]
    model = SmoothAdditive(*(side[:20_000] for side in sides))
    for side in (0, 1):
        model.add(side, sides[side][20_000:, model.columns])
    order = model.fit()
    for kept, crossed, rows in zip(model.scores(), model.crossed(), sides, strict=True):
        assert np.array_equal(np.sort(kept), np.sort(order(rows)))
        assert kept.shape == crossed.shape
    model._prior = 10.0 * np.eye(len(model._prior))  # so that it learns noise, of which there is nothing else
    model.steps = model._model(model._met.sum(axis=0), model._excess.sum(axis=0))
    own, other = (stats.ttest_ind(*found).statistic for found in (model.scores(), model.crossed()))
    assert own > 6
    assert abs(other) < 4
    monkeypatch.setattr(learners, "KEPT_CODES", 3 * 25_000)
    small = SmoothAdditive(*(side[:20_000] for side in sides))
    small.add(0, sides[0][20_000:, small.columns])
    assert np.array_equal(small.fit().heights, order.heights) is False
    assert [len(side) for side in small.scores()] == [20_000, 20_000]  # the others are counted and forgotten
    small.add(1, sides[1][20_000:, small.columns])
    assert np.array_equal(small.fit().heights, order.heights)


def test_the_evidence_holds_back_more_where_there_is_less_to_learn(generator):
    sizes = []
    for shift in (0.5, 0.0):
        one, two = (laplaces(generator, mean, 20_000, 3, 1.0) for mean in (shift, 0.0))
        sizes.append(SmoothAdditive(one, two).fit()(two).std())
    assert sizes[0] == pytest.approx(np.sqrt(3) * 0.5 * np.sqrt(0.8), rel=0.15)
    assert sizes[1] < 0.05


@pytest.mark.parametrize("size", [2, 40, 3000])
@pytest.mark.parametrize("columns", [1, 3])
def test_small_training_sets_give_scorers_without_a_fit(generator, size, columns):
    one, two = (laplaces(generator, shift, size, columns, 1.0) for shift in (0, 1))
    scorers = learn_scorers(one, two, [False] * columns)
    assert any(scorer.name == "threshold" for scorer in scorers)
    assert all(np.isfinite(scorer(one)).all() for scorer in scorers)
    assert not {"network", "boosted stumps"} & {scorer.name for scorer in scorers}
