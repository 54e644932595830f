"""The benchmark of `dp.prove` marks every contradiction, and nothing else, as FAIL."""

import dataclasses

import pytest

from dpassay.benchmarks import prove as bench
from dpassay.benchmarks.prove_programs import PROGRAMS
from dpassay.benchmarks.prove_programs.traps import TRAPS
from dpassay.core.claims import Evidence, Verdict
from dpassay.core.errors import InvalidInput

BY_NAME = {program.name: program for program in (*PROGRAMS, *TRAPS)}


def verdict(outcome, **details):
    return Verdict("P", outcome, "Tried in vain.", (Evidence("proof", "A proof."),), **details)


def truthful(function, **_):
    outcome = BY_NAME[function.__name__].outcome
    return verdict("open" if outcome == "beyond" else outcome)


def lines(prover, part, monkeypatch, programs=None):
    monkeypatch.setattr(bench, "AUDIT_SAMPLES", 300)
    if programs is not None:
        monkeypatch.setattr(bench, "_programs", lambda _: programs)
    said: list[str] = []
    summed, table = bench.tables(True, 0, said.append, (part,), prover)
    assert len(said) == len(table.rows) or part == "mutants"
    return summed.rows[0], table.rows


def test_true_verdicts_pass_and_stand_beside_their_sources(monkeypatch):
    summed, rows = lines(truthful, "programs", monkeypatch)
    assert {row[-1] for row in rows} <= {"pass", "open"}
    assert summed[-1] == "pass"
    assert all(row[-2] for row in rows)


def test_a_proof_of_a_broken_program_fails_and_so_does_a_refuted_right_one(monkeypatch):
    def liar(function, **_):
        return verdict({"holds": "refuted", "refuted": "holds", "beyond": "open"}[BY_NAME[function.__name__].outcome])

    summed, rows = lines(liar, "programs", monkeypatch)
    assert {row[-1] for row in rows} <= {"FAIL", "open"}
    assert summed[-1] == "FAIL"
    summed, rows = lines(lambda function, **_: verdict("holds"), "traps", monkeypatch)
    assert {row[-1] for row in rows} == {"FAIL"}
    assert summed[6] == len(rows)


def test_outputs_that_no_audit_reads_stop_nothing(monkeypatch):
    def holds_itself(rng, data, epsilon):
        output = [rng.laplace(scale=1 / epsilon)]
        return [*output, output, [[[[[[[[[output]]]]]]]]]]

    odd = dataclasses.replace(BY_NAME["bad_argmax"], function=holds_itself, outcome="beyond")
    _, rows = lines(lambda function, **_: verdict("open"), "mutants", monkeypatch, [odd])
    assert "unusable: " in rows[0][5]


def test_a_proved_mutant_that_an_audit_refutes_fails(monkeypatch):
    broken = [dataclasses.replace(BY_NAME[name], outcome="beyond") for name in ("bad_argmax", "bad_smart_sum")]
    summed, rows = lines(lambda function, **_: verdict("holds"), "mutants", monkeypatch, broken)
    assert [row[-1] for row in rows] == ["FAIL", "FAIL"]
    assert summed[-1] == "FAIL"


def test_an_open_mutant_is_shown_with_what_was_seen_of_it(monkeypatch):
    broken = [dataclasses.replace(BY_NAME[name], outcome="beyond") for name in ("bad_argmax", "noisy_max")]
    said = "Neither was found. Tried: a counterexample: 3 pairs; the largest loss was 0.9 of 1 claimed."
    open_ = dataclasses.replace(verdict("open"), explanation=said)
    summed, rows = lines(lambda function, **_: open_, "mutants", monkeypatch, broken)
    assert summed[7] == "0%"
    assert [(row[4], row[5], row[-1]) for row in rows] == [
        ("0.9 of 1", "refuted", "open"),
        ("0.9 of 1", "not refuted", "open"),
    ]


def test_too_few_decided_mutants_fail(monkeypatch):
    programs = [dataclasses.replace(BY_NAME["bad_argmax"], outcome="beyond")] * 5
    answers = iter(["open", *["refuted"] * 4, *["refuted"] * 5])
    assert lines(lambda function, **_: verdict(next(answers)), "mutants", monkeypatch, programs)[0][-1] == "FAIL"
    assert lines(lambda function, **_: verdict(next(answers)), "mutants", monkeypatch, programs)[0][-1] == "pass"


def test_what_is_refused_is_open_and_what_crashes_fails():
    def refusing(function, **_):
        raise InvalidInput("a.py:3: no while loops")

    def crashing(function, **_):
        raise ZeroDivisionError("by zero")

    refused = bench.measure("programs", 0, 0, refusing)
    assert (refused.outcome, refused.said) == ("refused", "a.py:3: no while loops")
    assert bench.result(PROGRAMS[0], refused) == "open"
    crashed = bench.measure("programs", 0, 0, crashing)
    assert bench.result(PROGRAMS[0], crashed) == "FAIL"


def test_an_error_of_ours_fails_and_slow_work_is_called_slow():
    disagreeing = verdict("open", warnings=("A proof and a counterexample were both found.",))
    measured = bench.measure("programs", 0, 0, lambda function, **_: disagreeing)
    assert bench.result(PROGRAMS[0], measured) == "FAIL"
    assert bench.result(BY_NAME["noisy_max"], bench.Measured("holds", 6.0)) == "slow"
    assert bench.result(BY_NAME["bad_noisy_max"], bench.Measured("refuted", 6.0)) == "pass"


def test_of_a_slow_verdict_the_quicker_run_counts(monkeypatch):
    clock, took = [0.0], iter([7.0, 4.0, 11.0, 12.0, 4.0])
    monkeypatch.setattr(bench, "cpu_seconds", lambda: clock[0])
    monkeypatch.setattr(bench, "_audited", lambda *_: "")

    def proving(outcome):
        def prove(function, **_):
            clock[0] += next(took)
            return verdict(outcome)

        return prove

    assert bench.measure("programs", 0, 0, proving("holds")).seconds == 4
    assert bench.measure("programs", 0, 0, proving("refuted")).seconds == 11
    assert bench.measure("programs", 0, 0, proving("holds")).seconds == 4
    assert next(took, None) is None


def test_a_trap_at_zero_may_be_proved_where_zero_is_excluded_and_no_other_trap_may():
    proof = bench.Measured("holds", 1.0, ("epsilon > 0", "c >= 1"))
    assert bench.result(BY_NAME["scale_zero"], proof) == "pass"
    assert bench.result(BY_NAME["scale_zero"], bench.Measured("holds", 1.0, ("epsilon > 0",))) == "FAIL"
    assert bench.result(BY_NAME["integer_division"], bench.Measured("holds", 1.0, ("epsilon < 0",))) == "FAIL"


def test_every_program_is_stated_in_the_terms_of_the_prover():
    seen = []

    def reading(function, **stated):
        seen.append(stated)
        return verdict("open")

    for place in range(len(PROGRAMS)):
        bench.measure("programs", place, 0, reading)
    assert all(("claim" in stated) == program.zcdp for stated, program in zip(seen, PROGRAMS, strict=True))
    with pytest.raises(InvalidInput, match="choose from programs, traps, mutants"):
        bench.tables(True, 0, print, ("trap",))


def test_a_run_goes_on_where_it_was_killed(monkeypatch, tmp_path):
    said: list[str] = []

    def killed(function, **_):
        if len(said) == 2:
            raise KeyboardInterrupt
        return verdict("holds", assumptions=("epsilon > 0",))

    monkeypatch.setattr(bench, "AUDIT_SAMPLES", 300)
    monkeypatch.setattr(bench, "_programs", lambda _: PROGRAMS[:3])
    arguments = (True, 0, said.append, ("programs",))
    with pytest.raises(KeyboardInterrupt):
        bench.tables(*arguments, killed, tmp_path / "kept")
    assert len(said) == 2
    whole = bench.tables(*arguments, lambda function, **_: verdict("open"), tmp_path / "kept")
    assert [row[-1] for row in whole[1].rows] == ["pass", "pass", "open"]
    assert len(said) == 3
