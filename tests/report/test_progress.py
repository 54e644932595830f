"""What is shown of long work: shares, the time left, and nothing of work that is short."""

import os
import re
import subprocess
import sys
import time

import pytest

from dpassay.core.progress import Notice, Step, part, share_of, told
from dpassay.report import progress
from dpassay.report.progress import Estimate, Progress, duration, in_notebooks


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_time_left_is_by_the_speed_since_the_first_seconds(clock: Clock) -> None:
    estimate = Estimate(clock=clock)
    assert (estimate.share, estimate.left, str(estimate)) == (None, None, "")
    clock.now = 1.0
    estimate.saw(0.5)  # kept runs that were found again
    assert estimate.left is None
    clock.now = 11.0
    estimate.saw(0.6)  # a tenth takes ten seconds, so that the rest takes forty
    assert estimate.left == pytest.approx(40)
    clock.now = 21.0
    estimate.saw(0.6)
    assert estimate.left == pytest.approx(30)
    assert str(estimate) == "about 30 s left"
    clock.now = 100.0
    assert estimate.left is None  # it was wrong


def test_work_with_a_limit_has_at_most_the_rest_of_it_left(clock: Clock) -> None:
    estimate = Estimate(60.0, clock=clock)
    clock.now = 20.0
    assert estimate.share == pytest.approx(1 / 3)
    assert str(estimate) == "at most 40 s left"


def test_a_share_that_falls_begins_anew(clock: Clock) -> None:
    estimate = Estimate(clock=clock)
    for clock.now, share in ((6.0, 0.1), (16.0, 0.9), (20.0, 0.0), (30.0, 0.5)):
        estimate.saw(share)
    assert estimate.left == pytest.approx(10)


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 s"), (59, "59 s"), (61, "1 min"), (7260, "2 h 01 min")])
def test_durations_are_rough(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_parts_make_a_whole() -> None:
    heard: list[str] = []
    for number in (0, 1):
        own = part(heard.append, number, 2)
        assert list(told("ab", own, str.upper)) == ["a", "b"]
        own("no share")
        own(Notice("read me"))
    assert list(map(share_of, heard)) == [0, 0.25, 0, None, 0.5, 0.75, 0.5, None]


def test_a_part_goes_on_while_nothing_is_said() -> None:
    heard: list[str] = []
    done = [0.0]
    part(heard.append, 1, 2)(Step("drawing", lambda: done[0]))
    done[0] = 0.5
    assert share_of(heard[0]) == 0.75


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SETTLING", 0.05)
    monkeypatch.setattr(progress, "PAUSE", 0.05)


@pytest.mark.usefixtures("quick")
def test_silent_work_is_told_of_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("attack sketch") as shown:
        time.sleep(0.12)
        shown.note(Step("half", 0.5))
        time.sleep(0.1)
    said = capsys.readouterr().err
    assert re.search(r"^ +0\.\d s  attack sketch$", said, re.MULTILINE)
    assert "half (50%" in said
    time.sleep(0.1)
    assert capsys.readouterr().err == ""  # it ends with its block


def test_nothing_is_said_of_short_work_but_what_must_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("short") as shown:
        shown.note("one step")
        shown.note(Notice("ratings: twice rated items were dropped"))
    assert capsys.readouterr().err == "ratings: twice rated items were dropped\n"


def test_programs_are_not_disturbed(capsys: pytest.CaptureFixture[str]) -> None:
    with in_notebooks("audit") as say:
        say("anything")
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals")
def test_a_terminal_has_a_bar_with_the_time_left_and_results_above_it() -> None:
    program = (
        "import time\nfrom dpassay.core.progress import Step\nfrom dpassay.report import progress\n"
        "progress.SETTLING = 0.0\n"
        "with progress.Progress('work') as shown:\n"
        "    for number in range(4):\n"
        "        shown.note(Step(f'step {number}', number / 4)); time.sleep(0.15)\n"
        "        print('result', number)\n"
    )
    leader, follower = os.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", program], stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    seen = b""
    while True:
        try:
            seen += (piece := os.read(leader, 4096))
        except OSError:
            break
        if not piece:
            break
    assert child.wait() == 0
    text = seen.decode()
    assert "━" in text
    assert "about 1 s left" in text
    assert all(f"result {number}" in text for number in range(4))


def test_time_of_the_processor_is_told_as_such():
    spent = [0.0]
    estimate = Estimate(60.0, lambda: spent[0], " of CPU time")
    spent[0] = 45.0
    assert (estimate.share, str(estimate)) == (0.75, "at most 15 s of CPU time left")
