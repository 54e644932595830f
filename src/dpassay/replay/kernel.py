"""Theorems that Rocq's kernel checks: the binding of a certificate to its theorem, and the check itself.

Inputs: {"theorem": name, "definition": its text in proofs/rocq/Statements.v, "statements": SHA-256 of that file}. The
theorem `NAME : Statements.NAME` is proved in the files beside it. `compute` checks the binding: this package carries
the very file of statements that was reviewed, and the definition stands there. It does not run Rocq. `recheck` does: it
compiles the files in an empty folder, checks that each theorem has the type it should, and accepts only the axioms of
the library's classical reasoning, all of what Rocq prints being compared. On demand coqchk then reads what was compiled
and everything it needs, and checks it once more.
"""

import graphlib
import hashlib
import importlib.resources
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Say, Step, silent
from dpassay.replay import Rejected
from dpassay.replay.numbers import fields
from dpassay.runs.parallel import processors

STATEMENTS = "9868cffbe4010f81fc464a393183a2c2d2f9dd5035f894af43cd9d6c59f90174"
"""SHA-256 of the file of statements as it was reviewed."""
PACKAGES = "coq libcoq-mathcomp-analysis libcoq-mathcomp-real-closed libcoq-mathcomp-algebra-tactics"
"""Debian 12's packages: Coq 8.16, mathcomp 1.15, mathcomp-analysis 0.6."""
SECONDS = 3600
"""For one file, or for coqchk."""
COLLECTOR = "s=32M,o=2000"
"""Rocq collects its garbage rarely: 0.7 GB for a file instead of 0.6, and a sixth less time."""
AXIOMS = (
    "propositional_extensionality : forall P Q : Prop, P <-> Q -> P = Q",
    "functional_extensionality_dep : forall (A : Type) (B : A -> Type) (f g : forall x : A, B x), "
    "(forall x : A, f x = g x) -> f = g",
    "constructive_indefinite_description : forall (A : Type) (P : A -> Prop), (exists x : A, P x) -> {x : A | P x}",
)
"""What a theorem may assume: the classical axioms of mathcomp-analysis, as Rocq prints them on one line each."""
UNCHECKED = (
    "Constants/Inductives relying on type-in-type",
    "Constants/Inductives relying on unsafe (co)fixpoints",
    "Inductives whose positivity is assumed",
)
"""What coqchk must find none of."""


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Checks that the certificate is about the reviewed statements; raises `Rejected` when it is not."""
    fields(inputs, "a kernel certificate", ("theorem", "definition", "statements"))
    name = inputs["theorem"]
    _require_reviewed(inputs["statements"])
    if definitions().get(name) != inputs["definition"]:
        raise Rejected(f"Statements.v does not define {name} like that")
    return {
        "theorem": name,
        "definition": inputs["definition"],
        "summary": f"theorem {name} of proofs/rocq; not rechecked here: replay --kernel compiles and checks it",
    }


@cache
def source() -> str:
    """The text of the file of statements."""
    return _folder().joinpath("Statements.v").read_text(encoding="utf-8")


@cache
def definitions() -> Mapping[str, str]:
    """Theorem -> the definition of its statement: all that are named in capitals, as claims are."""
    texts = re.findall(r"^Definition [A-Z]\w* : Prop :=.*?\.$", source(), re.MULTILINE | re.DOTALL)
    named = {text.split()[1]: " ".join(text.split()) for text in texts}
    if len(named) < len(texts):
        raise Rejected("Statements.v defines a statement twice")
    return named


def recheck(theorems: Sequence[str] | None = None, *, coqchk: bool = False, progress: Say = silent) -> str:
    """Compiles the theorems (all by default) and checks what they say and assume; returns the version that did.

    Args:
        theorems: their names.
        coqchk: whether coqchk checks what was compiled, with all it needs, too.
        progress: called with the name of every file that compiled.

    Raises:
        InvalidInput: Rocq or its libraries are not installed; the one line says what is missing.
        Rejected: a file does not compile, a theorem is not what it should be, or it assumes something else.
    """
    names = sorted(definitions() if theorems is None else set(theorems))
    if shutil.which("coqc") is None:
        raise InvalidInput(f"Rocq is not installed; on Debian 12: apt-get install {PACKAGES}")
    if coqchk and shutil.which("coqchk") is None:
        raise InvalidInput("coqchk is not installed; on Debian 12: apt-get install coq")
    _require_reviewed(STATEMENTS)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = [entry for entry in _folder().iterdir() if entry.name.endswith(".v")]
        for entry in files:
            (folder / entry.name).write_text(entry.read_text(encoding="utf-8"), encoding="utf-8")
        _compile(folder, [entry.name for entry in files], progress)
        _confirm(folder, names)
        if coqchk:
            progress("what was compiled, by coqchk")
            _check_compiled(folder)
        return _rocq(folder, "coqc", "--print-version").split()[0]  # OCaml's comes after it


def _require_reviewed(digest: str) -> None:
    if {digest, hashlib.sha256(source().encode()).hexdigest()} != {STATEMENTS}:
        raise Rejected("the file of statements is not the one that was reviewed")


def _compile(folder: Path, files: Sequence[str], progress: Say) -> None:
    """Compiles the files, each after those it requires, as many at once as there are processors."""
    listed = _rocq(folder, "coqdep", "-Q", ".", "Dpassay", *files)
    rules = (line.split(":", 1) for line in listed.splitlines() if ".vo " in line.split(":", 1)[0])
    needs = {left.split()[0]: {name for name in right.split() if name.endswith(".vo")} for left, right in rules}
    order = graphlib.TopologicalSorter({made: needed & needs.keys() for made, needed in needs.items()})
    order.prepare()
    compiled = 0
    with ThreadPoolExecutor(processors()) as pool:
        running: dict[Future[str], str] = {}
        while order.is_active():
            running |= {pool.submit(_coqc, folder, name.removesuffix("o")): name for name in order.get_ready()}
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                done.result()
                name = running.pop(done)
                order.done(name)
                compiled += 1
                progress(Step(name.removesuffix("o"), compiled / len(needs)))


def _confirm(folder: Path, names: Sequence[str]) -> None:
    """Asks the kernel for each theorem's type and assumptions, and reads every line of the answer."""
    lines = ["From Dpassay Require Statements Theorems.", "Set Printing Width 1000000."]
    lines += [f"Definition checked_{name} : {_qualified(name)} := Dpassay.Theorems.{name}." for name in names]
    together = ", ".join(["tt", *(f"checked_{name}" for name in names)])  # looking once takes as long as for each
    lines += [f"Definition checked := ({together}).", "Print Assumptions checked."]
    (folder / "Checked.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = re.sub(r"\n\s+", " ", _coqc(folder, "Checked.v"))  # an axiom's type may stand on a line of its own
    answers = [line for line in said.splitlines() if line.strip()]
    heads = [line for line in answers if line in ("Axioms:", "Closed under the global context")]
    others = [line for line in answers if line not in heads and not _allowed(line)]
    if others or len(heads) != 1:
        raise Rejected(f"Rocq says something else of the theorems' assumptions: {' '.join(others)[:300]}")


def _check_compiled(folder: Path) -> None:
    """Has coqchk check all that was compiled; the libraries' axioms, which it lists too, are not the theorems'."""
    said = _rocq(folder, "coqchk", "-silent", "-o", "-Q", ".", "Dpassay", "Dpassay.Checked")
    ours = [line.strip() for line in said.splitlines() if line.strip().startswith("Dpassay.")]
    found = [what for what in UNCHECKED if f"* {what}: <none>" not in said]
    if ours or found:
        raise Rejected(f"coqchk says that something is assumed: {', '.join([*ours, *found])[:300]}")


def _allowed(line: str) -> bool:
    text = " ".join(line.split())
    return any(text == axiom or text.endswith(f".{axiom}") for axiom in AXIOMS)


def _qualified(name: str) -> str:
    """Where the statement is defined: at the top of the file or in one of its modules."""
    before = source()[: source().index(f"Definition {name} : Prop")]
    opened = [
        module for module in re.findall(r"^Module (\w+)\.", before, re.MULTILINE) if f"End {module}." not in before
    ]
    return ".".join(["Dpassay", "Statements", *opened, name])


def _coqc(folder: Path, name: str) -> str:
    return _rocq(folder, "coqc", "-q", "-w", "none", "-Q", ".", "Dpassay", name)


def _rocq(folder: Path, *command: str) -> str:
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    environment["OCAMLRUNPARAM"] = COLLECTOR
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**environment, "HOME": str(folder)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Rejected(f"{command[-1]} took more than {SECONDS} seconds") from None
    if done.returncode:
        said = " ".join((done.stderr + done.stdout).split())
        if "Cannot find a physical path" in said or "Unable to locate library" in said:
            raise InvalidInput(f"Rocq lacks a library; on Debian 12: apt-get install {PACKAGES}")
        raise Rejected(f"{command[0]} refuses {command[-1]}: {said[-300:]}")
    return done.stdout + done.stderr


def _folder() -> Any:
    return importlib.resources.files("dpassay.proofs").joinpath("rocq")
