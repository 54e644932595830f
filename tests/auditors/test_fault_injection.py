"""Faults put into the auditor do not go unseen: false alarms exceed what is promised, or the sampler stops the audit.

Each fault comes with its control: the same audits without it, which must stay within the promise.
"""

import pytest

from dpassay.auditors import calling
from dpassay.benchmarks.auditor_faults import FAULTS
from dpassay.benchmarks.calibration import PROMISE, Cell, exceeds, measure

CONFIDENCE = 1 - 1e-6
UNITS = {
    "20 events at the full probability each": 14,
    "one batch of integers again and again": 18,
    "runs of a ledger on one stream": 2,
}
STOPPED = {
    "test samples that chose the event": "repeats its random stream",
    "both datasets on one stream": "repeats its random stream",
    "one chunk of samples again and again": "repeats its random stream",
    "runs of a ledger on one stream": "drew the same samples",
}
SLOW = {"20 events at the full probability each", "runs of a ledger on one stream"}  # without the fault


def _cell(name: str, units: int, control: bool) -> Cell:
    fault = FAULTS[name]
    return Cell(fault.case, fault.mode, fault.samples, units, fault=name, control=control)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_show(name: str) -> None:
    tally = measure(_cell(name, UNITS.get(name, 10), control=False), 11)
    if name in STOPPED:
        assert tally.stopped == tally.units
        assert STOPPED[name] in tally.errors
    else:
        assert tally.stopped == 0
        assert exceeds(tally.wrong, tally.units, PROMISE, CONFIDENCE), tally


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in SLOW])
def test_without_the_fault_audits_are_sound(name: str) -> None:
    units = 2 if FAULTS[name].mode == "looks" else 4
    tally = measure(_cell(name, units, control=True), 12)
    assert tally.stopped == 0
    assert not exceeds(tally.wrong, tally.units, PROMISE, CONFIDENCE), tally


def test_faults_are_taken_out_again() -> None:
    batch, update = calling.Caller._batch, FAULTS["bets placed after the batch"].patches
    from dpassay.auditors.betting import EProcess

    original = EProcess.update
    with update[0]():
        assert EProcess.update is not original
    measure(_cell("one chunk of samples again and again", 1, control=False), 0)
    assert (EProcess.update, calling.Caller._batch) == (original, batch)
