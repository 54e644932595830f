"""The programs that proofs are measured with run, on neighbors, and what is said of them stands an audit."""

import collections
import inspect
import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpassay.benchmarks.prove_programs import PROGRAMS, mutants
from dpassay.benchmarks.prove_programs.audits import Audited, audit_program
from dpassay.benchmarks.prove_programs.traps import TRAPS

BY_NAME = {program.name: program for program in (*PROGRAMS, *TRAPS)}
CHECKDP = {
    "noisymax", "sparsevector", "gapsparsevector", "numsparsevector", "adaptivesparsevector", "partialsum", "smartsum",
    "svt_increasing", "svt_decreasing", "badnoisymax", "badsparsevector1", "badsparsevector2", "badsparsevector3",
    "badgapsparsevector", "badadaptivesparsevector", "badpartialsum", "badsmartsum",
}  # fmt: skip


def neighbors(relation, one, two) -> bool:
    if relation == "add_or_remove_one:entry":
        one, two = (collections.Counter(each) for each in (one, two))
        return ((one - two) + (two - one)).total() == 1
    if not isinstance(one, list):
        return relation == "replace_one:entry" and one != two
    moves = [b - a for a, b in zip(one, two, strict=True) if a != b]
    if relation == "replace_one:entry":
        return len(moves) == 1
    small = all(abs(move) <= 1 for move in moves)
    return (
        small
        and {
            "one_query": len(moves) == 1,
            "all_queries": len(moves) >= 1,
            "monotone_queries": len({move > 0 for move in moves}) == 1,
        }[relation]
    )


def test_the_relations_of_this_test_refuse_what_is_no_neighbor():
    assert neighbors("one_query", [0, 0], [0, 1])
    assert not neighbors("one_query", [0, 0], [0, 2])
    assert not neighbors("one_query", [0, 0], [1, 1])
    assert not neighbors("monotone_queries", [0, 0], [1, -1])
    assert not neighbors("add_or_remove_one:entry", [1], [2])


@pytest.mark.parametrize("program", [*PROGRAMS, *TRAPS], ids=lambda program: program.name)
def test_every_program_runs_on_random_data_and_on_neighbors(program):
    assert neighbors(program.relation, *program.pair)
    assert program.claimed() >= 0
    data = [program.random_data(np.random.default_rng(seed), 2 + seed) for seed in range(4)]
    for dataset in (*program.pair, *data):
        program.run(np.random.default_rng(0), dataset)
    low, high = program.bounds or (-np.inf, np.inf)
    inside = [eval(str(each), {"inf": np.inf}, {**program.parameters}) for each in (low, high)]
    entries = np.concatenate([np.ravel(each) for each in (*program.pair, *data)])
    assert entries.min() >= inside[0]
    assert entries.max() <= inside[1]


def test_the_programs_of_the_field_are_there():
    assert len({(program.name, program.claim) for program in PROGRAMS}) == len(PROGRAMS) >= 60
    assert len({program.name for program in TRAPS}) == len(TRAPS) >= 40
    sources = " ".join(program.source for program in PROGRAMS)
    assert set(sources.replace(";", " ").replace(",", " ").replace("CheckDP ", " ").split()) >= CHECKDP
    lyu = {program.source.partition("Algorithm ")[2][:1] for program in PROGRAMS if program.source.startswith("Lyu")}
    assert lyu >= set("1234567")
    assert all(program.function.__doc__ and program.source for program in (*PROGRAMS, *TRAPS))
    assert all(program.outcome == "refuted" for program in TRAPS)


@pytest.mark.parametrize(
    "name",
    ["sparse_vector_lyu_1", "partial_sum", "randomized_response", "bad_partial_sum", "bad_unary_encoding", "decorated"],
)
def test_audits_agree_with_what_is_said(name):
    audited = audit_program(BY_NAME[name], 2000)
    assert audited.outcome == {"holds": "not refuted", "refuted": "refuted"}[audited.program.outcome]
    assert not audited.wrong


def test_an_audit_that_refutes_what_holds_is_a_contradiction():
    assert Audited(BY_NAME["partial_sum"], "refuted", 2.0).wrong
    assert not Audited(BY_NAME["bad_partial_sum"], "refuted", 2.0).wrong


def test_there_are_enough_mutants_and_they_are_the_same_in_every_run():
    found = list(mutants.mutants())
    assert len(found) >= 300
    assert len({mutant.name for mutant in found}) == len(found)
    kinds = collections.Counter(mutant.source.partition(": ")[2].split()[0] for mutant in found)
    assert min(kinds[kind] for kind in ("half", "no", "turned", "weakened", "moved", "publishes")) >= 5
    first = list(itertools.islice(mutants.mutants(), 12))
    for mutant, again in zip(first, found, strict=False):
        source = inspect.getsource(mutant.function)
        assert source == inspect.getsource(again.function)
        body = source.partition("\n")[2]
        assert body not in inspect.getsource(BY_NAME[mutant.source.partition(":")[0]].function)


def test_a_mutant_that_never_ends_or_fails_is_left_out():
    def endless(rng, queries, epsilon):
        while True:
            pass

    def failing(rng, queries, epsilon):
        return queries[100]

    program = BY_NAME["partial_sum"]
    assert mutants.runs(program)
    for function in (endless, failing):
        assert not mutants.runs(replace(program, function=function))
