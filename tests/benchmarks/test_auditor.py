"""The benchmark of the auditor: kept results, generic pairs, the search among them, rare leaks, the registry."""

import contextlib
import json
import math
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from scipy import stats

from dpassay import benchmarks
from dpassay.auditors import events
from dpassay.auditors.fixed_sample import Counts, epsilon_lower
from dpassay.auditors.guesses import Guesses, Rule, predicted
from dpassay.auditors.one_shot import Chosen
from dpassay.auditors.sampling import Sampler
from dpassay.auditors.scorers import Column
from dpassay.benchmarks import audit_runs, auditor, pair_search
from dpassay.benchmarks.audit_runs import NO_SEED, Task, audit_once
from dpassay.benchmarks.curator import MARK, Curator, caught_from
from dpassay.benchmarks.dp_sniper_suite import SUITE, row
from dpassay.benchmarks.pair_search import patterns, search_pair
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.runs.kept import Kept


def test_settings_say_all_that_a_result_depends_on():
    tasks = [Task("SVT1", 0, 1000, 1), Task("SVT1", 1, 1000, 1), Task("SVT1", None, 1000, 1), Task("SVT2", 0, 1000, 1),
             Task("SVT1", 0, 1001, 1), Task("SVT1", 0, 1000, 2), Task("SVT1", 0, 1000, NO_SEED)]  # fmt: skip
    settings = [json.dumps(task.settings) for task in tasks]
    assert len(set(settings)) == len(settings)
    assert not any("0x" in json.dumps(Task(entry.name, 0, 1, 1).settings) for entry in SUITE)  # no address in memory


def test_one_audit_stays_within_its_budget_and_below_the_truth():
    result = audit_once(Task("ReportNoisyMax2", 0, 200_000, 0))
    samples = result["samples"]
    assert samples["training"] + samples["selection"] + samples["test"] <= 100_000
    assert result["counts"][1] == result["counts"][3] == samples["test"]
    assert 0 <= result["bounds"][1] <= result["bounds"][0] < 0.1
    entry = row("ReportNoisyMax2")
    best = audit_runs.exact(entry, entry.pairs[0], 200_000)["best"]
    assert 0.8 * best < result["expected"] < 1.03 * best
    audit = audit_runs.audited(entry, entry.pairs[0], 200_000, 0)
    assert (result["bounds"][0], samples) == (audit.tested[0].epsilon_lower(1 - 0.9), audit.samples)


def chosen(found, scorer, cut, **named):
    """A run on one number with Laplace noise that has chosen "number >= cut", or guesses."""
    entry = row("Laplace")
    pair = entry.pairs[0]
    event = events.Event(scorer, cut, True, 1, (0.1, 0.0), "", 0.1)
    item = events.Tested(0, event, found, 1.0, **named)
    sampler = Sampler(entry.mechanism, *pair.arrays(), seed=3)
    sampler.probe()
    return audit_runs._Run(item, sampler, pair, {"test": 10**6}), entry.mechanism


@pytest.mark.parametrize("cut", [10.0, 60.0])
def test_the_expected_bound_has_none_of_the_test_s_luck(cut, monkeypatch):
    """Whatever the test has seen, what counts is how likely either dataset makes the event."""
    monkeypatch.setattr(audit_runs, "FURTHER", 400_000)
    lucky = Counts(9_000, 10**6, 1_000, 10**6)
    found = audit_runs._expected(*chosen(lucky, Column(np.int32(0)), cut))
    likely = [stats.laplace(mean, 10.0).sf(cut) * 10**6 for mean in (1.0, 0.0)]
    typical = Counts(round(likely[0]), 10**6, round(likely[1]), 10**6)
    assert found == pytest.approx(epsilon_lower(typical, delta=0.0, failure_probability=0.1), abs=0.002)


def test_the_expected_bound_of_guesses_is_that_of_their_rates(monkeypatch):
    monkeypatch.setattr(audit_runs, "FURTHER", 400_000)
    scorer = Column(np.int32(0))
    rates = np.diff([stats.laplace(mean, 10.0).cdf([-20, 0, 30, np.inf]) for mean in (0, 1)])
    rule = Rule(scorer, (-20.0, 0.0, 30.0), (0, 2, 0, -3), 1)
    levels = tuple(
        (weight, *(rates[side, place] * 10**6 for side in sides))
        for weight, place, sides in ((2, 0, (0, 1)), (3, 2, (1, 0)))
    )
    run = chosen(Counts(1, 10**6, 1, 10**6), scorer, 0.0, guesses=Guesses(((2, 9, 1), (3, 9, 1))), rule=rule)
    assert audit_runs._expected(*run) == pytest.approx(predicted(levels, 0.1), abs=0.001)


def test_patterns_are_neighbors_and_hold_the_published_ones():
    found = patterns(10)
    for pair in found:
        first, second = np.asarray(pair.dataset1), np.asarray(pair.dataset2)
        assert np.abs(first - second).max() == 1
        assert max(np.abs(first).max(), np.abs(second).max()) <= 10
    shown = {(pair.dataset1, pair.dataset2) for pair in found}
    assert len(shown) == len(found)
    for name in ("SVT1", "SVT5", "PrefixSum"):
        for pair in row(name).pairs:
            if pair.found_by == "DP-Sniper":
                assert {(pair.dataset1, pair.dataset2), (pair.dataset2, pair.dataset1)} & shown


def test_counts_that_differ_by_one_person_are_all_tried():
    pairs = pair_search._candidates(row("TruncatedGeometric"))
    assert [(pair.dataset1, pair.dataset2) for pair in pairs] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


@pytest.fixture
def few_pairs(monkeypatch):
    """The last four patterns in which all entries are equal, or one is far from the others."""
    few = [pair for pair in patterns(5) if np.ptp(pair.dataset1) in (0, 19)][-4:]
    monkeypatch.setattr(pair_search, "_candidates", lambda _: few)
    return few


def test_the_search_finds_a_telling_pair_within_its_budget(few_pairs):
    found = search_pair(row("ReportNoisyMax4"), 200_000, 100_000, PrivacyClaim(0.1), 0.1, 0)
    assert 0.95 * 200_000 <= found.spent <= 200_000
    assert found.sampler.drawn["test"] == [0, 0]
    pair = found.pair
    assert max(map(abs, np.subtract(pair.dataset1, pair.dataset2))) == 1
    assert np.ptp(pair.dataset1) > 10  # one entry far above the others: equal ones leave an event of 1e-7


def test_a_round_draws_the_samples_of_the_round_before_again():
    """Only so do they count once."""
    mechanism, pair = row("SVT3").mechanism, patterns(10)[7]
    rounds = [Sampler(mechanism, *pair.arrays(), seed=1, run=5) for _ in range(2)]
    for side in (0, 1):
        for phase in ("training", "selection"):
            few, more = (
                sampler.draw(side, phase, number) for sampler, number in zip(rounds, (50_000, 150_000), strict=True)
            )
            assert np.array_equal(few, more[:50_000])


def test_every_round_judges_more_samples_of_fewer_pairs(few_pairs, monkeypatch):
    sizes, tried, promises = [], [], iter((0.1, 0.4, 0.2, 0.3, 0.2, 0.5))

    def choose(sampler, claim, split, num_events, **_):
        assert split.test == 100_000
        sizes.append(split.training + split.selection)
        return Chosen(num_events * (SimpleNamespace(predicted=0.6),), split, [])

    def promise(sampler, events, size, *_):
        sizes[-1] += size
        tried.append(len(events))
        return next(promises)

    monkeypatch.setattr(pair_search, "choose_events", choose)
    monkeypatch.setattr(pair_search, "_promise", promise)
    found = search_pair(row("ReportNoisyMax4"), 200_000, 100_000, PrivacyClaim(0.1), 0.1, 0)
    assert sizes == [*4 * [8_333], *2 * [24_999], 58_332]
    assert tried == 6 * [pair_search.EVENTS]  # the last round only chooses
    assert found.pair == few_pairs[3]
    assert found.event.predicted == 0.6


def test_a_promise_rests_on_fresh_samples():
    """Rare events that were lucky when they were chosen do not lead the search, whichever side they favor."""

    class Fresh:
        def counts(self, side, phase, size, events):
            assert phase == "selection"
            return np.array([event.fresh[side] for event in events])

    def promise(*fresh):
        events = [
            SimpleNamespace(predicted=9.0, fresh=counts, direction=direction, point=(1.0, delta))
            for counts, direction, delta in fresh
        ]
        return pair_search._promise(Fresh(), events, 100_000, 10**7, 0.1)  # type: ignore[arg-type]

    solid = promise(((20_000, 10_000), 0, 0.0))
    assert 0.65 < solid < math.log(2)
    assert promise(((10_000, 20_000), 1, 0.0)) == solid
    assert promise(((10_000, 20_000), 0, 0.0)) < 0
    assert promise(((20_000, 10_000), 0, 0.15)) < 0
    assert promise(((0, 0), 0, 0.0), ((5, 7), 0, 0.0), ((3, 2), 1, 0.0)) < 0.1
    assert promise(((5, 7), 0, 0.0), ((20_000, 10_000), 0, 0.0), ((3, 2), 1, 0.0)) == solid
    assert 2 < promise(((60, 0), 0, 0.0)) < math.log(60)  # never seen is not impossible


def test_the_samples_of_a_pair_are_split_without_a_rest():
    for size in (10, 8_333, 78_906, 966_666, 1_262_500, 2_900_000, 31_000_000):
        split, fresh = pair_search._split(size, 10**8, 10)
        assert split.training + split.selection + split.refining + fresh == size
        assert min(split.selection, fresh) >= size // 4
        split, fresh = pair_search._split(size, 10**8, 1)
        assert fresh == 0
        assert split.refined().training + split.refined().selection == size
        assert split.refined().test == 10**8


def test_most_of_many_pairs_are_dropped_at_once():
    assert pair_search._rounds(210) == [210, 42, 8, 4, 2, 1]
    assert pair_search._rounds(21) == [21, 10, 5, 2, 1]
    assert pair_search._rounds(1) == [1]


def test_a_searched_audit_tests_the_event_of_the_search_on_all_that_is_left(few_pairs):
    result = audit_once(Task("ReportNoisyMax4", None, 400_000, 0))
    samples = result["samples"]
    assert 199_998 <= samples["test"] + samples["pair search"] <= 200_000
    assert result["counts"][1] == result["counts"][3] == samples["test"] >= 100_000
    assert result["bounds"][0] > 1.0  # the claim of 0.1 is far off


def test_marks_and_dents_have_their_probabilities():
    num = 200_000
    for kind, probability, inside in (
        ("mark", 0.01, lambda y, _: y == MARK),
        ("dent", 0.02, lambda y, width: np.abs(y - 0.5) < width),
    ):
        mechanism = Curator(probability, kind)  # type: ignore[arg-type]
        draws = [np.asarray(mechanism.sample_batch(jax.random.key(side), float(side), num)) for side in (1, 0)]
        hits = [int(inside(draw, mechanism.width).sum()) for draw in draws]
        expected = 0.0 if kind == "mark" else probability * math.exp(-5)
        assert stats.binomtest(hits[0], num, probability).pvalue > 1e-6
        assert stats.binomtest(hits[1], num, expected).pvalue > 1e-6 if expected else hits[1] == 0


def test_least_samples_grow_with_the_rarity_of_the_leak():
    needed = [caught_from(probability, math.inf) for probability in (1e-2, 1e-4, 1e-6)]
    assert needed[1] == pytest.approx(100 * needed[0], rel=0.15)
    assert needed[2] == pytest.approx(100 * needed[1], rel=0.15)
    assert caught_from(1e-4, 2.0) > needed[1]


def test_the_registry_names_its_benchmarks():
    with pytest.raises(InvalidInput, match="auditor: lower bounds"):
        benchmarks.run("unknown")
    with pytest.raises(InvalidInput, match="leave --resume out"):
        benchmarks.run("samplers", resume=Path("kept.jsonl"))
    with pytest.raises(InvalidInput, match="leave --seeds out"):
        benchmarks.run("samplers", seeds=3)
    with pytest.raises(InvalidInput, match="leave --part out"):
        benchmarks.run("samplers", parts=["tenth"])
    with pytest.raises(InvalidInput, match="choose from million, tenth, pairs"):
        benchmarks.run("auditor", parts=["eleventh"])


def test_a_part_is_that_table_only(tmp_path, monkeypatch):
    monkeypatch.setattr(auditor, "_cells", lambda entry, *_: [entry.name, *[""] * (len(auditor.COLUMNS) - 1)])
    monkeypatch.setattr(auditor.Kept, "get", lambda self, task, work: {})
    (table,) = benchmarks.run("auditor", parts=["tenth"], seeds=3, resume=tmp_path / "kept")["tables"]
    assert [row[0] for row in table["rows"]] == [entry.name for entry in SUITE]
    assert table["title"].endswith("46,000,000 samples in all, 3 seeds")  # and none of the bars, where none is known


def test_table_rows_say_what_is_above_and_why_not(tmp_path, monkeypatch):
    bounds = {"Laplace": [0.0985, 0.098], "Rappor": [0.39, 0.38]}
    monkeypatch.setattr(
        auditor,
        "audit_once",
        lambda task, _: {
            "bounds": bounds[task.name],
            "expected": 0.0498,
            "scorer": "s",
            "counts": [1, 2, 1, 2],
            "seconds": 1.0,
        },
    )
    chosen = [(entry, 0) for entry in SUITE if entry.name in bounds]
    table = auditor._table("t", chosen, auditor.TENTH, 2, 0, Kept(tmp_path / "kept"), lambda _: None)
    laplace, rappor = (dict(zip(table.columns, cells, strict=True)) for cells in table.rows)
    assert laplace["above it"] == "yes"
    assert laplace["above the bar"] == "no"
    assert laplace["remark"] == "bar above the best event"
    assert (laplace["expected"], laplace["share"]) == (0.0498, "0.500")
    assert rappor["above the bar"] == "yes"
    assert rappor["exact"] == pytest.approx(0.4001, abs=1e-4)
    assert table.title.endswith("2 seeds; above the bar on 1 of 2 rows")


def test_a_searched_row_shows_the_pair_that_was_found(tmp_path, monkeypatch):
    kept = {"bounds": [0.1, 0.1], "expected": 0.1, "scorer": "s", "counts": [1, 2, 1, 2], "seconds": 1.0}
    pairs = {"SVT1": ["(1.0, 0.5)", "(0.0, -1.0)"], "Rappor": ["-10", "3"]}
    monkeypatch.setattr(auditor, "audit_once", lambda task, _: {**kept, "datasets": pairs[task.name]})
    chosen = [(entry, None) for entry in SUITE if entry.name in pairs]
    table = auditor._table("t", chosen, auditor.TENTH, 1, 0, Kept(tmp_path / "kept"), lambda _: None)
    shown = {cells[0]: cells[table.columns.index("pair")] for cells in table.rows}
    assert shown == {"SVT1": "1 0.5 / 0 -1", "Rappor": "-10 / 3"}


def race_table(monkeypatch, answer, bound):
    one = next(iter(auditor._races()))
    monkeypatch.setattr(auditor, "_races", lambda: [one])
    monkeypatch.setattr(auditor, "available", lambda *_: None if answer is None else "1")
    monkeypatch.setattr(auditor, "measure", lambda *_: answer)
    monkeypatch.setattr(auditor, "FULL", 1 << 18)
    monkeypatch.setattr(auditor, "_bound", lambda *_: 0.0)
    timed = [(3.0, 0.5, 9.0), (2.0, 0.1, bound), (1.0, 9.0, 0.0)]
    monkeypatch.setattr(auditor, "_timed", lambda race, total, seed: timed[seed % 3])
    table = auditor._time_table(False, 0, "python", lambda _: None)
    return dict(zip(table.columns, table.rows[0], strict=True))


def test_a_race_divides_the_rival_s_seconds_by_those_without_compilation(monkeypatch):
    cells = race_table(monkeypatch, {"seconds": 50.0, "seconds_on_pair": 10.0, "bound": 0.09}, 0.095)
    assert (cells["ratio"], cells["ratio on one pair"], cells["with compilation"]) == (100.0, 20.0, 2.0)
    assert cells["our samples"] == 1 << 18
    assert cells["bound at 0.9"] == 0.095
    assert cells["note"] == ""
    assert race_table(monkeypatch, {"seconds": 50.0, "bound": 0.096}, 0.095)["note"] == "its bound was not reached"
    alone = race_table(monkeypatch, None, 0.095)
    assert (alone["ratio"], alone["ratio on one pair"]) == ("", "")
    assert "give --peers" in alone["note"]
    assert race_table(monkeypatch, {"error": "no torch"}, 0.095)["note"] == "no torch"


def test_samples_are_enough_when_audits_reach_the_bound_before_and_while_they_are_timed(monkeypatch):
    asked, timed = [], []
    lucky = {round(2**17.5): [0.05, 0.1, 0.1], 2**18: [0.05, 0.05, 0.1]}

    def bound(entry, total, seed):
        asked.append((total, seed))
        return lucky[total].pop() if total in lucky else 0.1 if total > 2**18 else 0.05

    def time(race, total, seed):
        timed.append((total, seed))
        return 2.0, 1.0, 0.1 if total > 500_000 else 0.05

    monkeypatch.setattr(auditor, "_bound", bound)
    monkeypatch.setattr(auditor, "_timed", time)
    race = next(iter(auditor._races()))
    assert auditor._raced(race, 0.08, 7) == (2**19, 2.0, 1.0, 0.1)
    steps = [2**17, round(2**17.5), 2**18, round(2**18.5), 2**19]
    assert [total for total, _ in asked] == [total for total in steps for _ in range(3)]
    assert [total for total, _ in timed] == [total for total in (steps[1], steps[3], steps[4]) for _ in range(3)]
    assert len({seed for _, seed in asked + timed}) == len(asked) + len(timed)


def test_what_is_timed_is_an_audit_whose_programs_were_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(auditor.tempfile, "TemporaryDirectory", lambda: contextlib.nullcontext(str(tmp_path)))
    race = next(iter(auditor._races()))
    first, second, bound = auditor._timed(race, 1 << 17, 3)
    assert min(first, second) > 0
    assert any(tmp_path.iterdir())
    assert 0.05 < bound < 0.1
    assert bound == auditor._bound(race.entry, 1 << 17, 3)
