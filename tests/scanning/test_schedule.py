"""Rounds of a scan: shares that add up, time that is used, and most of it where samples may tell something."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpassay.scanning.candidates import Kind
from dpassay.scanning.schedule import LEAST, MOST, ROUNDS, Schedule

KINDS = st.lists(st.sampled_from(["formula", "accountant", "map", "mechanism"]), max_size=30)
HOPE = st.none() | st.floats(-5, 5) | st.just(-math.inf)


@given(KINDS, st.data(), st.floats(1.0, 100.0))
def test_the_shares_of_all_turns_add_up_to_the_failure_probability_at_most(kinds, data, time) -> None:
    schedule = Schedule(kinds, 0.05, 3, 2)
    hopes: dict = {}
    spent, seeds = 0.0, []
    while turns := schedule.turns(time, hopes):
        mechanisms = [place for place in turns if kinds[place] == "mechanism"]
        spent += sum(turns[place].share for place in mechanisms)
        assert len(hopes) == 0 or len(mechanisms) == len(turns)
        seeds.append({turn.seed for turn in turns.values()})
        hopes |= {place: data.draw(HOPE) if kinds[place] == "mechanism" else None for place in turns}
    assert spent <= 0.05 * (1 + 1e-12)
    assert len(schedule.shares) <= ROUNDS
    assert all(len(each) == 1 for each in seeds)
    assert len(set.union(set(), *seeds)) == len(seeds)


def test_the_first_round_judges_all_and_the_next_those_with_most_hope() -> None:
    kinds: list[Kind] = ["formula", "map", "map", *["mechanism"] * 13]  # type: ignore[list-item]
    schedule = Schedule(kinds, 0.06, 0, 2)
    first = schedule.turns(45.0, {})
    assert list(first) == list(range(16))
    assert first[3].share == pytest.approx(0.06 / 2 / 13)
    assert first[1].seconds == MOST
    assert first[3].seconds == pytest.approx(90 / 4 / 13)
    hopes = {0: None, 1: None, 2: None, **{place: -float(place) for place in range(3, 16)}} | {5: None, 15: 1.0}
    second = schedule.turns(20.0, hopes)
    assert list(second) == [15, 3, 4, 6]
    assert second[15].share == pytest.approx(0.06 / 6 / 4)
    assert second[15].seconds == pytest.approx(20.0 * 2 / 2 / 4)
    third = schedule.turns(10.0, hopes)
    assert list(third) == [15]
    assert third[15].seconds == 10.0


def test_no_round_follows_where_it_would_tell_nothing() -> None:
    for left, hope in ((45.0, None), (LEAST / 2, 0.0)):
        schedule = Schedule(["mechanism"], 0.05, 0, 2)
        assert schedule.turns(45.0, {})
        assert schedule.turns(left, {0: hope}) == {}


def test_a_turn_is_never_too_short_to_tell_anything() -> None:
    assert Schedule(["mechanism"] * 500, 0.05, 0, 2).turns(45.0, {})[7].seconds == LEAST
