"""Theorems in Rocq: a certificate is bound to its reviewed statement, and the kernel's check cannot be talked round."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dpassay.commands.main import main
from dpassay.core.progress import Say, share_of, silent
from dpassay.core.registry import all_claims, expected_outcomes, reviewed_evidence
from dpassay.replay import Rejected, computed, kernel

ROCQ = Path(__file__).parents[2] / "proofs" / "rocq"
with_rocq = pytest.mark.skipif(shutil.which("coqc") is None, reason="Rocq is not installed: nothing was rechecked")


def claims() -> dict[str, str]:
    """Theorem -> the claim that it is named like."""
    named = {claim.id.replace("-", "_"): claim.id for claim in all_claims()}
    return {theorem: named[theorem] for theorem in kernel.definitions() if theorem in named}


def inputs(theorem: str) -> dict[str, Any]:
    definition = kernel.definitions()[theorem]
    return {"theorem": theorem, "definition": definition, "statements": kernel.STATEMENTS}


def test_the_statements_are_those_that_were_reviewed() -> None:
    assert hashlib.sha256((ROCQ / "Statements.v").read_bytes()).hexdigest() == kernel.STATEMENTS


def test_every_theorem_named_like_a_claim_is_reviewed_evidence_for_it() -> None:
    assert len(claims()) >= 60
    for theorem, claim_id in claims().items():
        (entry,) = (entry for entry in reviewed_evidence(claim_id) if entry.kind == "kernel")
        assert entry.says == (f"theorem {theorem}", kernel.definitions()[theorem])
        assert {entry.concludes} == set(expected_outcomes()[claim_id].values())
        assert computed("kernel", inputs(theorem))["theorem"] == theorem


def test_only_statements_and_no_proof_stand_in_the_file_of_statements() -> None:
    text = (ROCQ / "Statements.v").read_text()
    for word in ("Admitted", "Axiom", "Parameter", "Proof", "Qed", "Theorem", "Lemma", "Conjecture", "Hypothesis"):
        assert f"\n{word}" not in text


def test_a_certificate_about_anything_else_is_refused() -> None:
    one, other, *_ = claims()
    for change in (
        {"theorem": other},
        {"definition": kernel.definitions()[other]},
        {"definition": f"Definition {one} : Prop := True."},
        {"statements": "0" * 64},
        {"theorem": "NO_SUCH"},
        {"note": ""},
    ):
        with pytest.raises(Rejected):
            computed("kernel", {**inputs(one), **change})


STATEMENTS = "Definition T : Prop := forall n : nat, n = n.\n"
PROOF = "Theorem T : Statements.T. Proof. intro n; reflexivity. Qed.\n"
HEAD = "From Dpassay Require Import Statements.\n"


FALSE = "Axiom a : False.\n"
FROM_F = "Theorem T : Statements.T. Proof. destruct (f 0). Qed.\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a development of one theorem and rechecks it; its statements are the reviewed ones."""

    def recheck(
        theorems: str,
        statements: str = STATEMENTS,
        reviewed: str = STATEMENTS,
        *,
        coqchk: bool = False,
        progress: Say = silent,
        **files: str,
    ) -> str:
        for name, text in {"Statements": statements, "Theorems": theorems, **files}.items():
            (tmp_path / f"{name}.v").write_text(text)
        monkeypatch.setattr(kernel, "_folder", lambda: tmp_path)
        monkeypatch.setattr(kernel, "STATEMENTS", hashlib.sha256(reviewed.encode()).hexdigest())
        kernel.source.cache_clear()
        kernel.definitions.cache_clear()
        return kernel.recheck(coqchk=coqchk, progress=progress)

    yield recheck
    kernel.source.cache_clear()
    kernel.definitions.cache_clear()


@with_rocq
def test_a_proved_theorem_is_accepted(tree: Any) -> None:
    said: list[str] = []
    assert tree(HEAD + PROOF, progress=said.append)[0].isdigit()
    assert [(text, share_of(text)) for text in said] == [("Statements.v", 0.5), ("Theorems.v", 1.0)]
    assert tree(HEAD + "From Dpassay Require Import Before.\n" + PROOF, Before="Lemma l : True. Proof. exact I. Qed.\n")


@with_rocq
@pytest.mark.parametrize(
    ("theorems", "files"),
    [
        ("Theorem T : Statements.T. Proof. Admitted.\n", {}),
        ("Axiom a : False. Theorem T : Statements.T. Proof. destruct a. Qed.\n", {}),
        ("Parameter a : False. Theorem T : Statements.T. Proof. destruct a. Qed.\n", {}),
        ("Unset Guard Checking. Fixpoint f (n : nat) : False := f n. " + FROM_F, {}),
        ("Unset Universe Checking. Theorem T : Statements.T. Proof. intro n; reflexivity. Qed.\n", {}),
        ("Theorem T : True. Proof. exact I. Qed.\n", {}),
        ("Module Statements. Definition T := True. End Statements. Theorem T : Statements.T. exact I. Qed.\n", {}),
        ("Notation \"'Statements.T'\" := True. Theorem T : True. Proof. exact I. Qed.\n", {}),
        ("Theorem T : Statements.T. Proof. intro n. Qed.\n", {}),
        ("From Dpassay Require Import Before. Theorem T : Statements.T. Proof. destruct a. Qed.\n", {"Before": FALSE}),
        ("", {}),
    ],
)  # fmt: skip
def test_a_forged_development_is_refused(tree: Any, theorems: str, files: dict[str, str]) -> None:
    with pytest.raises(Rejected):
        tree(HEAD + theorems, **files)


@with_rocq
@pytest.mark.parametrize(
    "before",
    [
        FALSE,
        "Unset Guard Checking. Fixpoint f (n : nat) : False := f n.\n",
        "Unset Universe Checking. Definition t : Type := Type.\n",
        "Unset Positivity Checking. Inductive i := c (_ : i -> False).\n",
    ],
)
def test_coqchk_looks_at_what_no_theorem_needs_too(tree: Any, before: str) -> None:
    theorems = HEAD + "From Dpassay Require Import Before.\n" + PROOF
    assert tree(theorems, Before="Lemma l : True. Proof. exact I. Qed.\n", coqchk=True)
    assert tree(theorems, Before=before)
    with pytest.raises(Rejected, match=r"coqchk .* assumed: Dpassay\.Before"):
        tree(theorems, Before=before, coqchk=True)


@with_rocq
def test_other_statements_than_the_reviewed_ones_are_refused(tree: Any) -> None:
    weaker = "Definition T : Prop := True.\n"
    with pytest.raises(Rejected, match="not the one that was reviewed"):
        tree(HEAD + "Theorem T : Statements.T. Proof. exact I. Qed.\n", statements=weaker)


@pytest.mark.parametrize(
    ("absent", "command", "error"),
    [
        ("coqc", ["--kernel"], f"Rocq is not installed; on Debian 12: apt-get install {kernel.PACKAGES}"),
        ("coqchk", ["--kernel", "--coqchk"], "coqchk is not installed; on Debian 12: apt-get install coq"),
    ],
)
def test_without_rocq_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, absent: str, command: list[str], error: str
) -> None:
    monkeypatch.setattr(kernel.shutil, "which", lambda name: None if name == absent else name)
    assert main(["replay", *command]) == 2
    assert capsys.readouterr().err == f"dpassay: {error}\n"


@pytest.mark.parametrize("accepted", [True, False])
def test_verify_says_what_the_kernel_rechecked(accepted: bool, monkeypatch: Any, tmp_path: Path) -> None:
    asked = []

    def recheck(theorems: list[str], *, coqchk: bool) -> bool:
        asked.append((theorems, coqchk))
        return accepted

    monkeypatch.setattr("dpassay.commands.verify.recheck_theorems", recheck)
    claims = ("--claim", "XM-T3-BERN", "--claim", "PP-W9", "--claim", "DP-SUB2")
    written = tmp_path / "verdicts.json"
    code = main(["verify", "--kernel", *claims, "--jobs", "1", "--json", str(written)])
    assert asked == [(["DP_SUB2", "XM_T3_BERN"], False)]
    assert code == (0 if accepted else 1)
    assert written.exists() == accepted
    if accepted:
        verdicts = {each["id"]: each["rechecked"] for each in json.loads(written.read_text())["verdicts"]}
        assert verdicts == {"XM-T3-BERN": True, "PP-W9": False, "DP-SUB2": True}


def test_coqchk_alone_is_a_mistake(capsys: Any) -> None:
    assert main(["replay", "--coqchk", "one.json"]) == 2
    assert "--coqchk needs --kernel" in capsys.readouterr().err
