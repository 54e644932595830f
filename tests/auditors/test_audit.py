"""The whole pipeline: any sampler in, a verdict out, with the promised error rate."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpassay as dp
from dpassay.auditors import anytime, betting, events, guesses, learners, one_shot, sampling, scorers
from dpassay.auditors.audit import _samplers, limit_of, run_audit
from dpassay.core.progress import share_of
from dpassay.replay import check
from dpassay.report import audit_text


def laplace(rng, dataset, num_samples):
    return dataset + rng.laplace(size=num_samples)


LAPLACE = dp.from_callable(laplace, batched=True)  # 1-DP on the datasets 0 and 1


def bound_of(found: dp.Audit) -> float:
    assert found.epsilon_lower is not None
    return found.epsilon_lower


def randomized_response(rng, dataset):
    """Says the truth with probability 3/4: log(3)-DP."""
    return dataset if rng.random() < 0.75 else "no" if dataset == "yes" else "yes"


class Coin:
    """A JAX mechanism with a law: truth 0 or 1, reported with probability 3/4."""

    def sample(self, key, dataset):
        return (jax.random.uniform(key) < 0.25) ^ (dataset == 1)

    def outputs(self, dataset):
        return np.arange(2)

    def log_prob(self, output, dataset):
        import jax.numpy as jnp

        return jnp.log(jnp.where(output == dataset, 0.75, 0.25))


@pytest.fixture(autouse=True)
def no_look_takes_time(monkeypatch):
    """Batches of a run with a time limit grow with the seconds that a look takes: here it repeats on any machine."""
    monkeypatch.setattr(anytime, "time", SimpleNamespace(perf_counter=lambda: 0.0))


def test_a_table_of_few_outcomes_of_several_columns_is_rarely_wrong_at_its_claim(monkeypatch):
    """Its samples learn and choose; others test."""
    monkeypatch.setattr(one_shot, "learn", lambda *_, **__: pytest.fail("learned from the training samples alone"))
    likely = math.e / (1 + math.e)

    def response(rng, dataset, num_samples):
        told = np.where(rng.random(num_samples) < likely, dataset, 1 - dataset)
        return np.column_stack([told, rng.integers(0, 5, num_samples)])

    mechanism = dp.from_callable(response, batched=True)

    def audited(epsilon, seed):
        claim = dp.PrivacyClaim(epsilon)
        return run_audit(mechanism, 0, 1, claim=claim, failure_probability=0.1, num_samples=6000, seed=seed)

    audits = [audited(1.0, seed) for seed in range(100)]
    refuted = sum(audit.verdict.outcome == "refuted" for audit in audits)
    assert 1 <= refuted <= stats.binom.ppf(0.9999, 100, 0.1)
    assert {sum(audit.samples[each] for each in ("training", "selection", "test")) for audit in audits} == {6000}
    assert audited(0.8, 0).verdict.outcome == "refuted"


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("mechanism", [LAPLACE, Coin(), randomized_response])
def test_its_progress_is_the_share_of_the_samples_drawn(mechanism, shared, monkeypatch):
    monkeypatch.setattr(sampling, "SHARED", 0.0)  # seconds
    texts, shares = [], []

    def hear(text):
        texts.append(text)
        shares.append(share_of(text))

    with ThreadPoolExecutor(2) as executor:
        run_audit(
            mechanism,
            0,
            1,
            claim=dp.PrivacyClaim(9.0),
            num_samples=40_000,
            executor=executor if shared else None,
            progress=hear,
        )
    split = one_shot.plan(40_000)
    before = [split.training / 40_000, (split.training + split.selection / 2) / 40_000, 1 - split.test / 40_000]
    assert shares == [None, *map(pytest.approx, before)]
    assert share_of(texts[-1]) == 1.0


def test_its_progress_is_that_of_its_limits():
    shares = []
    run_audit(
        LAPLACE,
        0,
        1,
        claim=dp.PrivacyClaim(9.0),
        num_samples=4000,
        time_limit=100.0,
        progress=lambda text: shares.append(share_of(text) or 0.0),
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert [limit_of(None, None), limit_of(9, None), limit_of(None, 3.0)] == [10.0, None, 3.0]


@pytest.mark.parametrize("limits", [{"num_samples": 4000}, {"num_samples": 4000, "time_limit": 100.0}])
def test_false_claim_is_refuted_and_bounded(limits):
    found = run_audit(LAPLACE, 0.0, 1.0, claim=dp.PrivacyClaim(0.5), seed=1, **limits)
    assert found.verdict.outcome == "refuted"
    assert 0.5 < bound_of(found) <= 1.0
    assert found.verdict.confidence == 0.95
    assert found.mode == ("fixed" if len(limits) == 1 else "anytime")
    assert found.certificate is not None
    assert check("audit", found.certificate["inputs"])["supports"] == "refuted"


def test_a_claim_that_just_fell_is_said_to_be_exceeded(monkeypatch):
    """The capital of a bet may reach the threshold at the claim's own point of the grid and nowhere beyond."""
    monkeypatch.setattr(betting, "lower_bound", lambda grid, log_e, threshold: 0.5)
    found = run_audit(LAPLACE, 0.0, 1.0, claim=dp.PrivacyClaim(0.5), num_samples=4000, time_limit=100.0)
    assert "0.5-DP is violated: the epsilon is more than 0.5 with" in found.verdict.explanation
    content = found.to_json()
    assert audit_text.headline(content) == "laplace is not 0.5-DP: epsilon is more than 0.5."
    assert "for the same numbers (seed 0)" in audit_text.next_steps(content)[1]
    assert "to add fresh samples" in audit_text.next_steps({**content, "ledger": {"runs": 1}})[1]


@pytest.mark.parametrize("epsilon", [0.02, 0.1])
def test_the_bound_of_a_refuted_claim_is_never_below_it(epsilon):
    for seed in range(4):
        found = run_audit(
            LAPLACE, 0.0, 1.0, claim=dp.PrivacyClaim(epsilon), num_samples=2000, time_limit=100.0, seed=seed
        )
        assert found.verdict.outcome == "refuted"
        assert epsilon <= bound_of(found) <= 1.0


def test_a_claim_stands_while_a_smaller_parameter_does():
    log_e = np.array([5.0, 2.9, 5.0, 5.0])
    assert betting.evidence(log_e, 2) == 2.9
    assert betting.evidence(log_e, 0) == 5.0


def test_anytime_mode_stops_early():
    found = run_audit(LAPLACE, 0.0, 1.0, claim=dp.PrivacyClaim(0.5), num_samples=100_000, time_limit=100.0)
    assert found.verdict.outcome == "refuted"
    assert found.samples["total"] < 1000


@pytest.mark.parametrize("limits", [{"num_samples": 3000}, {"num_samples": 3000, "time_limit": 100.0}])
def test_true_claim_is_not_refuted_nor_called_private(limits):
    found = run_audit(LAPLACE, 0.0, 1.0, claim=dp.PrivacyClaim(1.0), failure_probability=1e-6, **limits)
    assert found.verdict.outcome == "not refuted"
    assert "does not show the mechanism private" in found.verdict.explanation
    assert (found.detectable["smallest_epsilon"] or 0.0) > 1.0
    assert 0 < (found.detectable["rarest_event"] or 0.0) < 0.1


def _alarms(failure_probability: float, runs: int, epsilon: float, **limits) -> int:
    audits = (
        run_audit(
            LAPLACE,
            0.0,
            1.0,
            claim=dp.PrivacyClaim(epsilon),
            failure_probability=failure_probability,
            seed=seed,
            **limits,
        )
        for seed in range(runs)
    )
    return sum(found.verdict.outcome == "refuted" for found in audits)


@pytest.mark.parametrize("limits", [{"num_samples": 400}, {"num_samples": 400, "time_limit": 100.0}])
def test_alarms_at_the_boundary_are_as_rare_as_promised(limits):
    runs = 25
    assert _alarms(0.2, runs, 1.0, **limits) <= stats.binom.isf(1e-6, runs, 0.2)
    assert _alarms(0.2, 3, 0.2, **limits) == 3  # the same procedure does see a violation


@pytest.mark.parametrize(
    ("mechanism", "pair", "false_claim"),
    [
        (randomized_response, ("yes", "no"), 0.5),
        (lambda rng, dataset: {"a", dataset} if rng.random() < 0.8 else {"a"}, ("b", "c"), 1.0),
        (lambda rng, dataset: [0] * (dataset + int(rng.integers(3))), (0, 1), 1.0),
        (lambda rng, dataset: math.nan if rng.random() < dataset else 1.0, (0.2, 0.8), 1.0),
        (lambda rng, dataset: math.inf if rng.random() < dataset else rng.normal(), (0.2, 0.8), 1.0),
        (lambda rng, dataset: None if rng.random() < dataset else {"count": 1}, (0.2, 0.8), 1.0),
        (lambda rng, dataset: (dataset, rng.normal()), (0, 1), 3.0),
        (lambda rng, dataset: dataset, (0, 1), 3.0),
    ],
    ids=["strings", "sets", "lengths", "nan", "infinity", "none", "leaking part", "deterministic"],
)
def test_outputs_of_any_kind(mechanism, pair, false_claim):
    verdict = dp.audit(mechanism, *pair, epsilon=false_claim, num_samples=1500)
    assert verdict.outcome == "refuted"
    assert verdict.epsilon_lower > false_claim


def test_jax_mechanism_with_a_law_gets_its_exact_loss_in_the_picture():
    found = run_audit(Coin(), 0, 1, claim=dp.PrivacyClaim(1.0), num_samples=50_000)
    assert found.sandwich["exact"] == pytest.approx(math.log(3))
    assert found.verdict.outcome == "refuted"
    assert bound_of(found) <= found.sandwich["exact"]


def test_direction_does_not_matter():
    for pair in ((0.0, 1.0), (1.0, 0.0)):
        rare = dp.audit(lambda rng, d: int(rng.random() < (0.3 if d else 0.05)), *pair, epsilon=1.0, num_samples=4000)
        assert rare.outcome == "refuted"


def test_delta_claims():
    noisy = dp.from_callable(lambda rng, d, n: d + rng.normal(size=n), batched=True)
    tight = dp.PrivacyClaim.gaussian(1.0).delta_at(1.0)
    assert dp.audit(noisy, 0, 1, epsilon=1.0, delta=tight / 3, num_samples=20_000).outcome == "refuted"
    assert (
        dp.audit(noisy, 0, 1, epsilon=1.0, delta=tight, num_samples=20_000, failure_probability=1e-6).outcome
        == "not refuted"
    )


@pytest.mark.parametrize(
    ("true", "false", "largest"),
    [
        (dp.PrivacyClaim.gaussian(1.0), dp.PrivacyClaim.gaussian(0.6), 1.0),
        (dp.PrivacyClaim.zcdp(0.5), dp.PrivacyClaim.zcdp(0.15), 0.5),
        (dp.PrivacyClaim.renyi(2.0, 1.0), dp.PrivacyClaim.renyi(2.0, 0.3), 1.0),
        (dp.PrivacyClaim.profile([(1.0, 0.13), (2.0, 0.03)]), dp.PrivacyClaim.profile([(1.0, 0.13), (1.2, 0.03)]), 1.6),
    ],
    ids=["gaussian", "zcdp", "renyi", "profile"],
)
def test_other_claims(true, false, largest):
    noisy = dp.from_callable(lambda rng, d, n: d + rng.normal(size=n), batched=True)
    found = run_audit(noisy, 0, 1, claim=false, num_samples=10_000)
    assert found.verdict.outcome == "refuted"
    assert false.parameter < found.parameter_lower <= largest
    assert found.certificate is not None
    assert check("audit", found.certificate["inputs"])["supports"] == "refuted"
    assert dp.audit(noisy, 0, 1, claim=true, num_samples=10_000, failure_probability=1e-6).outcome == "not refuted"


@pytest.mark.parametrize(
    "claim", [dp.PrivacyClaim.zcdp(0.15), dp.PrivacyClaim.profile([(0.1, 0.2), (0.3, 0.05)])], ids=str
)
def test_bets_on_other_claims_have_certificates(claim):
    noisy = dp.from_callable(lambda rng, d, n: d + rng.normal(size=n), batched=True)
    found = run_audit(noisy, 0, 1, claim=claim, num_samples=20_000, time_limit=60.0)
    assert found.verdict.outcome == "refuted"
    assert found.certificate is not None
    assert check("audit", found.certificate["inputs"])["supports"] == "refuted"


def test_several_pairs_share_the_failure_probability():
    found = run_audit(
        LAPLACE,
        0.0,
        0.5,
        more_pairs=[(0.0, 1.0)],
        claim=dp.PrivacyClaim(0.7),
        num_samples=5000,
        failure_probability=0.1,
    )
    assert found.verdict.outcome == "refuted"
    assert [item.pair for item in found.tested] == [1, 0]  # the pair that shows it comes first
    anytime = run_audit(
        LAPLACE, 0.0, 0.5, more_pairs=[(0.0, 1.0)], claim=dp.PrivacyClaim(0.7), num_samples=5000, time_limit=100.0
    )
    assert anytime.verdict.outcome == "refuted"
    assert anytime.tested[0].pair == 1


def test_evidence_lost_by_a_process_that_shares_the_ledger_counts(tmp_path, monkeypatch):
    """Only products that were recorded count: the audit's own luck does not, beside a past that has changed since."""
    from dpassay.auditors.ledger import LedgerRun

    commit = LedgerRun.commit
    rivals: list[LedgerRun] = []

    def interleaved(run, log_e, samples, stamp=""):
        if not rivals:
            with run.ledger._connection() as database:
                ((name, version, grid),) = database.execute("SELECT name, fingerprint, grid FROM hypotheses")
            rivals.append(run.ledger.begin(name, version, np.frombuffer(grid)))
            commit(rivals[0], np.full(run.size, -1000.0), 1)
        return commit(run, log_e, samples, stamp)

    def outcome(ledger):
        limits = {"num_samples": 5000, "ledger": tmp_path / ledger}
        return run_audit(LAPLACE, 0.0, 1.0, claim=dp.PrivacyClaim(0.2), **limits).verdict.outcome

    assert outcome("alone.db") == "refuted"
    monkeypatch.setattr(LedgerRun, "commit", interleaved)
    assert outcome("shared.db") == "not refuted"


def test_pairs_of_runs_with_different_numbers_of_pairs_share_no_stream():
    seen = [
        sampler._run
        for run, pairs in ((1, 3), (2, 1), (3, 1), (4, 2), (5, 2))
        for sampler in _samplers(LAPLACE, [(0.0, 1.0)] * pairs, 0, run, "values")
    ]
    assert len(set(seen)) == len(seen) == 9


def test_ledger_adds_evidence_until_it_suffices(tmp_path):
    outcomes = []
    for _ in range(12):
        found = run_audit(
            LAPLACE,
            0.0,
            1.0,
            claim=dp.PrivacyClaim(0.6),
            num_samples=150,
            ledger=tmp_path / "ledger.db",
            name="laplace",
        )
        outcomes.append(found.verdict.outcome)
    assert outcomes[0] != "refuted"
    assert outcomes[-1] == "refuted"
    assert found.ledger is not None
    assert found.ledger["runs"] == 12
    assert found.run == 12


@pytest.mark.parametrize("num_samples", [100, 5000, 5_999_999, 6_000_000, 23_000_000, 232_000_000])
def test_every_sample_of_a_budget_has_one_use(num_samples):
    split = one_shot.plan(num_samples)
    assert split.test >= 0.73 * num_samples
    assert (split.refining > 0) == (num_samples >= 6_000_000)
    for used in (split, split.refined()):
        assert used.training + used.selection + used.test == num_samples
        assert used.test >= 0.64 * num_samples


def test_samples_that_refine_scorers_are_taken_from_those_that_test(monkeypatch):
    monkeypatch.setattr(one_shot, "LEAST_REFINING", 0)
    monkeypatch.setattr(learners, "NETWORK_STEPS", 100)

    def refine(base, draw, num_samples, discrete, *, seed):
        for side in (0, 1):
            assert draw(side, num_samples).shape == (num_samples, 3)
        return (learners.Refined(base, base, np.float32(0), True),)

    monkeypatch.setattr(events, "refine", refine)

    class Sums:
        def sample(self, key, dataset):
            return dataset + jnp.cumsum(jax.random.laplace(key, (3,)))

    found = run_audit(Sums(), 0.0, 1.0, claim=dp.PrivacyClaim(0.5), num_samples=60_000)
    assert found.samples == {"training": 11_000, "selection": 10_000, "test": 39_000, "total": 60_000}
    assert found.verdict.outcome == "refuted"
    assert 0.9 < bound_of(found) < 1.0

    class Signs:
        def sample(self, key, dataset):
            return dataset + jnp.cumsum(jax.random.laplace(key, (5,))) > 0

    counted = run_audit(Signs(), 0.0, 1.0, claim=dp.PrivacyClaim(0.5), num_samples=60_000)
    assert counted.samples == found.samples
    single = run_audit(LAPLACE, 0.0, 1.0, claim=dp.PrivacyClaim(0.5), num_samples=60_000)
    assert single.samples == {"training": 6_000, "selection": 10_000, "test": 44_000, "total": 60_000}


def test_samples_are_those_of_the_pair_that_is_reported(monkeypatch):
    """Only the second pair takes more samples to learn from."""
    monkeypatch.setattr(one_shot, "LEAST_REFINING", 0)
    learn, pairs = one_shot.learn, []

    def learns(*features, more, **named):
        pairs.append(more)
        if len(pairs) == 2:
            for side in (0, 1):
                more[0](side, more[1])
        return learn(*features, **named)

    monkeypatch.setattr(one_shot, "learn", learns)
    claim = dp.PrivacyClaim(0.5)
    second = run_audit(LAPLACE, 0.0, 0.5, more_pairs=[(0.0, 1.0)], claim=claim, num_samples=240_000)
    assert second.samples == {"training": 44_000, "selection": 40_000, "test": 156_000, "total": 240_000}
    pairs.clear()
    first = run_audit(LAPLACE, 0.0, 1.0, more_pairs=[(0.0, 0.5)], claim=claim, num_samples=240_000)
    assert first.samples == {"training": 24_000, "selection": 40_000, "test": 176_000, "total": 240_000}


def test_the_samples_that_choose_are_learned_from_when_that_is_of_use(monkeypatch):
    """By a smooth additive model, whose events are chosen by what it says of samples that it has not counted."""
    learned, models, seen = [], [], []
    select = one_shot.select

    def selects(orders, *scores, **named):
        seen.append([np.sort(side[:, 0]) for side in scores])
        return select(orders, *scores, **named)

    def learns(one, two, *_, **__):
        models.append(learners.SmoothAdditive(one, two))
        learned.append(models[-1].fit())
        return events.Learned((scorers.Column(np.int32(3)),), models[-1])

    added = []
    add = learners.SmoothAdditive.add

    def adds(self, side, rows):
        added.append((side, *rows.shape))
        add(self, side, rows)

    monkeypatch.setattr(one_shot, "learn", learns)
    monkeypatch.setattr(one_shot, "select", selects)
    monkeypatch.setattr(learners.SmoothAdditive, "add", adds)
    monkeypatch.setattr(one_shot, "SCORED_ROWS", 8_000)
    shift = np.array([0.3, -0.2, 0.1, 0.0])
    mechanism = dp.from_callable(lambda rng, on, size: rng.laplace(on * shift, size=(size, 4)), batched=True)
    found = run_audit(mechanism, 1.0, 0.0, claim=dp.PrivacyClaim(0.3), num_samples=60_000)
    assert added == [(0, 8_000, 4), (0, 2_000, 4), (1, 8_000, 4), (1, 2_000, 4)]
    assert [len(side) for side in seen[0]] == [10_000, 10_000]
    for last, crossed in zip(seen[1], models[0].crossed(), strict=True):
        assert np.array_equal(last, np.sort(crossed))  # not by the model that has counted them
    event, rule = found.tested[0].event, found.tested[0].rule
    assert event.scorer is models[0].steps is not learned[0]
    assert f"{event.cut:.4g}" in event.description
    assert event.predicted > 0.1  # from scores, not from what was read beside them
    assert rule is None or (rule.scorer is event.scorer and list(rule.cuts) == sorted(rule.cuts))
    rows = np.random.default_rng(0).laplace(np.multiply.outer([1, 0], shift)[:, None], size=(2, 100_000, 4))
    rows = rows.reshape(-1, 4).astype(np.float32)
    told = (np.abs(rows) - np.abs(rows - shift)).sum(axis=1)
    before, after = (np.corrcoef(told, order(rows))[0, 1] for order in (learned[0], event.scorer))
    assert after > before > 0.9
    sampler = sampling.Sampler(mechanism, 1.0, 0.0)
    several = one_shot.choose_events(
        sampler, dp.PrivacyClaim(0.3), one_shot.plan(60_000), failure_probability=0.1, num_events=3
    )
    assert [len(side) for side in seen[2]] == [10_000, 10_000]  # its order is one of the others
    assert models[1].steps in [each.scorer for each in several.events]
    assert len(seen) == 3


def test_an_order_that_promises_more_than_the_smooth_model_is_kept(monkeypatch):
    """The columns tell nothing one by one, their product much."""

    class Product:
        name = "product"

        def __call__(self, rows):
            return (rows[:, 0] * rows[:, 1]).astype(np.float32)

        def describe(self, cut, above, names):
            return "product"

    def learns(one, two, *_, **__):
        return events.Learned((Product(),), learners.SmoothAdditive(one, two))

    def draw(rng, on, size):
        first, second = rng.normal(size=(2, size))
        return np.column_stack([first, second + 0.5 * on * first])

    monkeypatch.setattr(one_shot, "learn", learns)
    found = run_audit(dp.from_callable(draw, batched=True), 1.0, 0.0, claim=dp.PrivacyClaim(0.3), num_samples=60_000)
    assert found.tested[0].event.scorer.name == "product"
    assert bound_of(found) > 0.3


@pytest.mark.parametrize("above", [True, False])
def test_moved_cuts_keep_their_share_of_the_scores(above):
    generator = np.random.default_rng(3)
    crossed, scores = ([generator.normal(size=50_000) * scale for _ in (0, 1)] for scale in (1, 3))
    order = learners.SmoothAdditive(*(generator.normal(size=(9_000, 3)).astype(np.float32) for _ in (0, 1))).fit()
    event = events.Event(order, 2.0, above, 0, (0.5, 0.0), "first", 0.7)
    rule = guesses.Rule(order, (-9.0, 2.0, 9.0), (0, 1, 2, 3), 5)
    moved, followed = one_shot._moved(event, rule, crossed, scores, ("a", "b", "c"))
    assert (moved.scorer, moved.above, moved.predicted) == (order, above, 0.7)
    assert np.mean(np.concatenate(scores) < moved.cut) == np.mean(np.concatenate(crossed) < 2.0)
    assert f"{moved.cut:.4g}" in moved.description
    assert followed is not None
    assert (followed.scorer, followed.weights, followed.seed) == (order, rule.weights, 5)
    low, cut, high = followed.cuts  # beyond all samples: where the first and the last of them are
    assert (low, cut) == (np.float32(min(map(np.min, scores))), moved.cut)
    assert max(map(np.max, scores)) == pytest.approx(high, rel=0.05)
    assert one_shot._moved(event, None, crossed, scores, ("a", "b", "c"))[1] is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_moved_cuts_keep_ties_together(sign):
    """An output that cross-fitting gives four scores has one in the end, wherever a cut was between them."""
    order = learners.SmoothAdditive(*np.random.default_rng(3).normal(size=(2, 9_000, 3)).astype(np.float32)).fit()
    common = np.linspace(-1, 1, 900)
    crossed = [np.concatenate([common, np.repeat(sign * np.array([3.0, 3.1, 3.2, 3.3]), 25)])] * 2
    scores = [np.concatenate([common, np.repeat(sign * 3.15, 100)]).astype(np.float32)] * 2

    def moved(cut, *cuts):
        event = events.Event(order, sign * cut, sign > 0, 0, (0.5, 0.0), "", 0.7)
        rule = guesses.Rule(order, cuts, (5, 3, 2, 1), 5)
        return one_shot._moved(event, rule, crossed, scores, ("a", "b", "c"))

    for cut in (2.9, 3.05, 3.15, 3.25):
        event, rule = moved(cut, *sorted(sign * np.array([2.0, 3.05, 3.25])))
        assert ((scores[0] >= event.cut) == (sign > 0)).sum() == 100  # never an event without what told
        assert rule is not None
        place = int(np.searchsorted(np.array(rule.cuts, np.float32), np.float32(sign * 3.15), side="right"))
        assert rule.weights[place] == (2 if sign > 0 else 3)  # where half of them were
    _, rule = moved(3.15, *(sign * np.array([3.3, 3.2, 3.05]))[:: -int(sign)])
    assert rule is not None
    assert len(rule.weights) == len(rule.cuts) + 1
    assert list(rule.cuts) == sorted(set(rule.cuts))
    assert len(rule.cuts) == 2


def short_run(mechanism, folder) -> dp.Audit:
    limits = {"num_samples": 200, "ledger": folder / "ledger.db"}
    return run_audit(mechanism, 0.0, 1.0, claim=dp.PrivacyClaim(1.0), name="it", **limits)


@pytest.mark.parametrize("draw", [lambda g, x: x + g.laplace(), lambda g, x: bool(g.random() < 0.3 + 0.4 * x)])
def test_runs_of_a_ledger_that_draw_the_same_samples_are_refused(tmp_path, draw):
    """As those of a sampler are that seeds a generator of its own once in each process."""

    def seeded(own):
        return dp.from_callable(lambda rng, dataset: draw(own, dataset))

    short_run(seeded(np.random.default_rng(7)), tmp_path)
    with pytest.raises(dp.InvalidInput, match=r"runs 1 and 2 .* drew the same samples; draw all randomness from"):
        short_run(seeded(np.random.default_rng(7)), tmp_path)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("sampler", [lambda rng, dataset: 0, lambda rng, dataset: dataset])
def test_runs_of_a_ledger_whose_outputs_hardly_vary_may_agree(tmp_path, sampler):
    for _ in range(2):
        audit = short_run(sampler, tmp_path)
    assert audit.ledger is not None
    assert audit.ledger["runs"] == 2


def test_evidence_is_committed_before_an_interruption(tmp_path):
    calls = []

    def breaks_off(rng, dataset):
        calls.append(1)
        if len(calls) > 400:
            raise KeyboardInterrupt
        return dataset + rng.laplace()

    ledger = dp.Ledger(tmp_path / "ledger.db")
    with pytest.raises(dp.InvalidInput, match="which ends programs"):
        run_audit(breaks_off, 0.0, 1.0, claim=dp.PrivacyClaim(0.99), num_samples=10_000, ledger=ledger, name="it")
    with ledger._connection() as database:
        (samples,) = database.execute("SELECT samples FROM runs").fetchone()
    assert 100 <= samples <= 200


def test_json_follows_the_schema():
    from dpassay.report.schema import validate_audits

    found = run_audit(LAPLACE, 0.0, 1.0, claim=dp.PrivacyClaim(0.5), num_samples=500)
    (content,) = validate_audits(json.loads(json.dumps(found.to_json())))
    assert content["verdict"]["outcome"] == "refuted"


def test_too_few_samples_say_so():
    found = dp.audit(LAPLACE, 0.0, 1.0, epsilon=5.0, num_samples=16)
    assert found.outcome == "open"
    assert "too few" in found.explanation


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((LAPLACE, 0, 1), {"epsilon": -1.0}, "epsilon is -1"),
        ((LAPLACE, 0, 1), {"epsilon": math.nan}, "epsilon is nan"),
        ((LAPLACE, 0, 1), {"epsilon": 1.0, "delta": 1.0}, "delta is 1"),
        ((LAPLACE, 0, 1), {}, "state what is claimed"),
        ((LAPLACE, 0, 1), {"epsilon": 1.0, "claim": dp.PrivacyClaim(2.0)}, "both given"),
        ((LAPLACE, 0, 1), {"epsilon": 1.0, "num_samples": 3}, "too few"),
        ((LAPLACE, 0, 1), {"epsilon": 1.0, "failure_probability": 0.0}, "failure_probability is 0"),
        ((LAPLACE, 0, 1), {"epsilon": 1.0, "time_limit": -1.0}, "time_limit is -1"),
        ((LAPLACE, 0, 1), {"epsilon": 1.0, "representation": "words"}, "representation is 'words'"),
        ((Coin, 0, 1), {"epsilon": 1.0}, "Coin is a class"),
        ((3, 0, 1), {"epsilon": 1.0}, "int is no mechanism"),
        ((lambda rng, d: 1 / 0, 0, 1), {"epsilon": 1.0, "num_samples": 100}, "ZeroDivisionError"),
    ],
)
def test_bad_input_is_one_line(arguments, named, message):
    with pytest.raises(dp.InvalidInput, match=message) as raised:
        dp.audit(*arguments, **named)
    assert "\n" not in str(raised.value)


def test_zero_epsilon_is_a_claim():
    assert dp.audit(LAPLACE, 0.0, 1.0, epsilon=0.0, num_samples=2000).outcome == "refuted"
    blind = dp.from_callable(lambda rng, data: rng.laplace())
    same = dp.audit(blind, 0.0, 1.0, epsilon=0.0, num_samples=2000, failure_probability=1e-6)
    assert same.outcome == "not refuted"


def test_datasets_must_be_neighbors_under_the_stated_relation():
    claim = dp.PrivacyClaim(1.0, relation=dp.NeighboringRelation.parse("replace_one:rating"))
    one, two = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    with pytest.raises(dp.InvalidInput, match="differ in 2 cells"):
        dp.audit(LAPLACE, one, two, claim=claim, num_samples=100)


@pytest.mark.parametrize(("shift", "epsilon"), [(3, 5.0), (2, 1.0)])
def test_one_event_is_the_headline_of_every_report(shift, epsilon):
    claim = dp.PrivacyClaim(epsilon)
    found = run_audit(lambda rng, at: at + rng.laplace(), 0, shift, claim=claim, num_samples=3000, time_limit=60)
    content = found.to_json()
    words = content["events"][0]["description"]
    assert len(content["events"]) > 1
    assert (audit_text.best_event(content) or {})["description"] == words
    assert content["tables"][0]["rows"][0][0] == words
    assert (f'"{words}"' in found.verdict.explanation) == (found.verdict.outcome == "refuted")


def test_lists_of_lists_of_unequal_lengths_are_read():
    def longer(rng, dataset):
        return [1.0], [1.0] * (2 + dataset[0] + int(rng.random() < 0.5))

    assert dp.audit(longer, [0], [1], epsilon=1.0, num_samples=1000).outcome == "refuted"
