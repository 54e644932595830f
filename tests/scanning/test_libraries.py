"""What is listed of other libraries: their known wrong claims are found, and sound ones are left alone."""

import sys
from collections.abc import Iterable
from itertools import accumulate
from types import ModuleType

import pytest

from dpassay.scanning.candidates import Candidate, NotJudged
from dpassay.scanning.judging import Judged, judge
from dpassay.scanning.libraries import candidates


def one(listed: Iterable[Candidate | NotJudged], name: str) -> Candidate:
    (found,) = [each for each in listed if name in each.name]
    assert isinstance(found, Candidate)
    return found


def judged(candidate: Candidate, seconds: float) -> Judged:
    found = judge(candidate, 1e-6, seconds, 0)
    assert isinstance(found, Judged)
    return found


def test_opendp_constructors_are_called_or_named() -> None:
    pytest.importorskip("opendp")
    listed = list(candidates("opendp"))
    assert len({each.name for each in listed}) == len(listed)
    made = [each for each in listed if isinstance(each, Candidate)]
    assert {each.kind for each in made} == {"map", "mechanism"}
    assert len(made) > 25
    assert any(each.name == "opendp.measurements.make_alp_queryable" for each in listed)


@pytest.mark.parametrize(
    "name",
    [
        "make_sum_of_squared_deviations(far_reals",
        "make_b_ary_tree(pairs, l1",
        "make_laplace_threshold",
        "make_b_ary_tree(bits, l2",
    ],
    ids=["2923", "2925", "2922", "2924"],
)
def test_public_issues_of_opendp_are_found_and_their_code_shows_them(name: str, capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("opendp")
    found = judged(one(candidates("opendp"), name), 20.0)
    assert found.outcome == "violated"
    exec(found.code, {})
    shown = capsys.readouterr().out
    assert shown if found.kind == "map" else ": refuted" in shown


@pytest.mark.parametrize("name", ["make_sum(small", "make_laplace(*integer", "make_randomized_response_bool"])
def test_sound_parts_of_opendp_are_left_alone(name: str) -> None:
    pytest.importorskip("opendp")
    assert judged(one(candidates("opendp"), name), 1.0).outcome == "not refuted"


def test_a_public_issue_of_diffprivlib_is_found() -> None:
    pytest.importorskip("diffprivlib")  # IBM/differential-privacy-library, issue 105
    assert judged(one(candidates("diffprivlib"), "LinearRegression"), 10.0).outcome == "violated"


def test_what_diffprivlib_computes_from_other_parts_is_named_with_its_reason() -> None:
    pytest.importorskip("diffprivlib")
    reasons = {each.name: each.reason for each in candidates("diffprivlib") if isinstance(each, NotJudged)}
    assert "root of var" in reasons["diffprivlib.tools.std"]
    assert "no arguments" in reasons["diffprivlib.mechanisms.Vector"]


class Counting:
    """An accountant of Opacus' shape, which knows a Gaussian release alone: ten of them, told times `of`."""

    of = 1.0

    def __init__(self) -> None:
        self.steps: list[tuple[float, float]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        self.steps.append((noise_multiplier, sample_rate))

    def get_epsilon(self, delta: float) -> float:
        assert delta == 1e-5
        assert self.steps == [(2.0, 1.0)] * 10
        return 7.52 * self.of  # 7.5113 is the exact one: Balle and Wang 2018, at a noise multiplier of 2/sqrt(10)


@pytest.mark.parametrize(
    ("library", "module"), [("opacus", "opacus.accountants"), ("riskcal", "riskcal.accountants.ctd")]
)
@pytest.mark.parametrize(("of", "outcome"), [(1.0, "holds"), (0.99, "violated")], ids=["sound", "too low"])
def test_accountants_of_trainings_are_judged_by_what_they_say(
    library: str, module: str, of: float, outcome: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(Counting, "of", of)
    for name in accumulated(module):
        made = ModuleType(name)
        made.__path__ = []
        monkeypatch.setitem(sys.modules, name, made)
    vars(made).update(create_accountant=lambda kind: Counting(), CTDAccountant=Counting)
    listed = [each for each in candidates(library) if isinstance(each, Candidate) and "rate=1.0" in each.name]
    assert listed
    for each in listed:
        assert judged(each, 20.0).outcome == outcome
        exec(each.code, {})
        assert f"ACCOUNTING: {'refuted' if outcome == 'violated' else 'holds'}" in capsys.readouterr().out


def accumulated(module: str) -> list[str]:
    """a, a.b, a.b.c of "a.b.c"."""
    return list(accumulate(module.split("."), "{}.{}".format))
