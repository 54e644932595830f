"""Every step of every proof: accepted, and refused once it is falsified.

Proofs are found, not listed: all public functions named `*_proof` of `dpassay.proofs`, and nothing else may build one.
`mutations.json` has what cannot be derived, both by module and step:
  "unneeded": hypotheses that a step does without (they tell a reader what the letters mean),
  "too strong": conclusions just past the tight one.
"""

import ast
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import z3

from dpassay import proofs
from dpassay.proofs import lemmas
from dpassay.proofs.decisions import objections
from dpassay.proofs.notation import formula, proof
from dpassay.replay import check
from dpassay.replay.formula import text, variables
from dpassay.replay.proof import query

Step = dict[str, Any]

# Arguments of the proofs that have any.
ARGUMENTS = {
    "case_proof": ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"],
    "created_rating_proof": ["refuted", "holds"],
}
KNOWN: Mapping[str, Mapping[str, Mapping[str, list[str]]]] = json.loads(
    Path(__file__).with_name("mutations.json").read_text(encoding="utf-8")
)


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(proofs.__path__, "dpassay.proofs."):
        if not found.ispkg:
            yield importlib.import_module(found.name)


def proofs_of(module: ModuleType) -> Iterator[Mapping[str, Any]]:
    for name, build in inspect.getmembers(module, inspect.isfunction):
        if name.endswith("_proof") and build.__module__ == module.__name__:
            yield from (build(argument) for argument in ARGUMENTS[name]) if name in ARGUMENTS else [build()]


def stated_in(module: ModuleType) -> list[tuple[Step, ...]]:
    """The lemmas of a module: its public constants."""
    return [value for name, value in vars(module).items() if name[0].isupper() and isinstance(value, tuple)]


@cache
def steps() -> dict[str, list[Step]]:
    """Every step once, under the module that states it first (the lemmas under theirs)."""
    seen: set[str] = set()
    found: dict[str, list[Step]] = {}
    stated = {"dpassay.proofs.lemmas": [step for lemma in stated_in(lemmas) for step in lemma]}
    stated |= {m.__name__: [s for p in proofs_of(m) for s in p["inputs"]["steps"]] for m in modules() if m != lemmas}
    for module, all_steps in stated.items():
        for step in map(dict, all_steps):
            key = json.dumps(step, sort_keys=True)
            if key not in seen:
                seen.add(key)
                found.setdefault(module.removeprefix("dpassay.proofs."), []).append(step)
    return found


MODULES = sorted(steps())


def alone(step: Mapping[str, Any]) -> dict[str, Any]:
    return proof("one step", step)


def counterexample(step: Step) -> str:
    """z3's answer to the step's query: sat when its conclusion can fail, and then the checker refuses it."""
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.from_string(query(step, negated_conclusion=True))
    return str(solver.check())


@pytest.mark.parametrize("module", MODULES)
def test_the_checker_accepts_every_step(module: str) -> None:
    for step in steps()[module]:
        assert check(**alone(step))["steps"][0]["name"] == step["name"]


@pytest.mark.parametrize("module", MODULES)
def test_every_hypothesis_is_needed_or_known_not_to_be(module: str) -> None:
    unneeded: dict[str, list[str]] = {}
    for step in steps()[module]:
        if step["engine"] == "smt":
            for place, dropped in enumerate(step["hypotheses"]):
                kept = [*step["hypotheses"][:place], *step["hypotheses"][place + 1 :]]
                if counterexample({**step, "hypotheses": kept}) != "sat":
                    unneeded.setdefault(step["name"], []).append(text(dropped))
    assert unneeded == KNOWN["unneeded"].get(module, {})


@pytest.mark.parametrize("module", MODULES)
def test_the_opposite_conclusion_is_refused(module: str) -> None:
    for step in steps()[module]:
        if step["engine"] == "smt":
            assert counterexample({**step, "conclusion": ["not", step["conclusion"]]}) == "sat", step["name"]


@pytest.mark.parametrize("module", MODULES)
def test_changed_identities_derivatives_and_models_are_refused(module: str) -> None:
    side = {"identity": "right", "derivative": "derivative"}
    for step in steps()[module]:
        if step["engine"] in side:
            moved = side[step["engine"]]
            for change in (1, "1/1000"):
                assert "not an identity" in objections(alone({**step, moved: ["+", step[moved], change]})), step["name"]
        elif step["engine"] == "satisfiable":
            refused = [objections(alone({**step, "model": model})) for model in moved_models(step["model"])]
            assert any("does not satisfy" in each for each in refused), step["name"]


def moved_models(model: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for name, value in model.items():
        yield {**model, name: str(Fraction(value) + Fraction(1, 2))}
        yield {**model, name: str(Fraction(value) - 7)}


@pytest.mark.parametrize("module", sorted(KNOWN["too strong"]))
def test_a_conclusion_past_the_tight_one_is_refused(module: str) -> None:
    for name, conclusions in KNOWN["too strong"][module].items():
        for conclusion in map(formula, conclusions):
            stated = [
                s for s in steps()[module] if s["name"] == name and variables(conclusion) <= {*s.get("variables", ())}
            ]
            assert stated, name
            for step in stated:
                assert counterexample({**step, "conclusion": conclusion}) == "sat", (name, text(conclusion))


def test_z3_s_counterexample_makes_the_checker_refuse() -> None:
    """What the tests above rely on, once through the checker itself."""
    (step,) = lemmas.SUM_KEEPS_RATIO
    assert "not proved" in objections(alone({**step, "hypotheses": step["hypotheses"][1:]}))
    assert "not proved" in objections(alone({**step, "conclusion": ["not", step["conclusion"]]}))


def test_only_public_functions_named_proof_build_proofs() -> None:
    for module in modules():
        for node in ast.parse(inspect.getsource(module)).body:
            name = getattr(node, "name", "")
            built = [
                call for call in ast.walk(node) if isinstance(call, ast.Call) and ast.unparse(call.func) == "proof"
            ]
            raw = [each for each in ast.walk(node) if isinstance(each, ast.Constant) and each.value == "steps"]
            if built or (raw and module.__name__ != "dpassay.proofs.notation" and not name.endswith("_proof")):
                assert name.endswith("_proof"), f"{module.__name__}: {name}"
                assert not name.startswith("_"), f"{module.__name__}: {name}"
