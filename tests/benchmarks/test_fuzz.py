"""The fuzzing finds what is broken, and a few cases of every target; what it found stays mended."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dpassay.auditors.outputs import fit_encoder
from dpassay.benchmarks import fuzz, fuzz_certificates, fuzz_targets, fuzzing
from dpassay.benchmarks.fuzzing import Target
from dpassay.commands.main import main
from dpassay.core.certificate import FORMAT, read
from dpassay.core.errors import InvalidInput
from dpassay.data.dataset_files import load_dataset
from dpassay.report import audit_html, proof_html, schema
from dpassay.report.html import printable
from dpassay.runs.kept import Kept


@pytest.mark.parametrize("name", ["ratings", "datasets", "ledger", "commands", "callables"])
def test_a_few_cases_of_each_target(name: str) -> None:
    with fuzz_targets.targets() as known:
        found = fuzzing.row(known[name](), 20, 0)
    assert found[:2] == [name, 20]
    assert found[2] + found[3] == 20
    assert found[-1] == "0", found


@pytest.mark.parametrize("name", ["audit reports", "proof reports"])
def test_a_few_cases_of_reports(name: str) -> None:
    with fuzz_targets.targets() as known:
        assert fuzzing.row(known[name](), 20, 0)[-1] == "0"


def test_a_few_cases_of_certificates_of_strangers() -> None:
    with fuzz_targets.targets() as known:
        for kind in ("witness", "stability", "accounting", "kernel"):
            found = fuzzing.row(known[f"{kind} certificates"](), 20, 0)
            assert found[-1] == "0", found
            assert found[2] > 0  # the one without a change checks


def broken(how: Any) -> list[Any]:
    return fuzzing.row(Target("broken", st.integers(0, 1000), how), 100, 0)


def test_a_traceback_is_found_and_made_small() -> None:
    def answer(case: int, folder: Path) -> bool:
        if case >= 17:
            raise KeyError("lost")
        return True

    found = broken(answer)
    assert found[-1] == "FAIL"
    assert found[4] == "broken: 17 -> KeyError: 'lost'"


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(case: int, folder: Path) -> bool:
        try:
            time.sleep(5 * (case > 0))
        except Exception:  # whoever catches what mechanisms raise does not catch this
            return True
        return True

    monkeypatch.setattr(fuzzing, "SECONDS", 0.02)
    found = broken(answer)
    assert (found[-1], found[4]) == ("FAIL", "broken: 1 -> Broken: no answer within 0.02 seconds")


@pytest.mark.parametrize("message", ["", "Traceback (most", "dpassay: stopped by an error of its own"])
def test_what_is_no_clear_line_is_found(message: str) -> None:
    def answer(case: int, folder: Path) -> bool:
        raise InvalidInput(message)

    assert broken(answer)[-1] == "FAIL"


def test_an_exit_code_that_lies_and_a_file_left_behind_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code, leaves in ((0, False), (1, False), (2, True)):

        def lying(words: list[str], folder: Path, code: int = code, leaves: bool = leaves) -> Any:
            if leaves:
                (folder / ".dpassay-0.part").touch()
            return code, "", ["dpassay: no"]

        monkeypatch.setattr(fuzz_targets, "_called", lying)
        target = Target("commands", st.just(["lint", "x"]), fuzz_targets._command)
        assert fuzzing.row(target, 5, 0)[-1] == "FAIL"


def test_a_ledger_that_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpassay.auditors.ledger import LedgerRun

    record = LedgerRun.commit
    monkeypatch.setattr(LedgerRun, "commit", lambda run, log_e, *more: 2 * record(run, log_e, *more))
    with fuzz_targets.targets() as known:
        found = fuzzing.row(known["ledger"](), 100, 0)
    assert found[-1] == "FAIL"
    assert "recorded were" in found[4]


def test_a_certificate_that_checks_whatever_it_says_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpassay.replay import Replay

    target = fuzz_targets._certificates("stability", lambda path: Replay(str(path), "", "", "refuted", True, "x"))  # type: ignore[arg-type]
    found = fuzzing.row(target, 100, 0)
    assert found[-1] == "FAIL"
    assert "it checks with another" in found[4]


def test_the_same_seed_gives_the_same_cases_and_another_one_others() -> None:
    def drawn(seed: int) -> list[int]:
        cases: list[int] = []

        def answer(case: int, folder: Path) -> bool:
            cases.append(case)
            return True

        fuzzing.row(Target("any", st.integers(), answer), 150, seed)
        return cases

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(drawn(1)) == 150


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(InvalidInput, match="there is no part 'other'; choose from ratings"):
        fuzz.tables(True, 0, parts=["other"])


def test_an_audit_that_decides_nothing_exits_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd_mechanism.py").write_text("def odd(rng, dataset):\n    return 1\n")
    for number in (1, 2):
        (tmp_path / f"{number}.json").write_text(f"[{number}]")
    words = ["audit", "odd_mechanism:odd", "--dataset1", "1.json", "--dataset2", "2.json", "--epsilon", "1"]
    words += ["--num-samples", "16", "--failure-probability", "1e-9", "--json", "a.json"]
    assert main(words) == 2
    assert json.loads((tmp_path / "a.json").read_text())["verdict"]["outcome"] == "open"


@pytest.mark.parametrize("output", [10**400, -(10**400), np.ma.masked, np.zeros(0), np.zeros((2, 0))])
def test_outputs_without_a_usable_number_are_outputs(output: Any) -> None:
    encoder = fit_encoder([output] * 4, [output] * 4)
    assert encoder is not None


def test_parquet_whose_names_are_no_text_gets_a_line(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"user": [1]}), tmp_path / "a.parquet", store_schema=False)
    damaged = (tmp_path / "a.parquet").read_bytes().replace(b"user", b"\x80ser")
    (tmp_path / "a.parquet").write_bytes(damaged)
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        load_dataset(tmp_path / "a.parquet")


def test_an_array_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="holds nothing"):
        fit_encoder(np.zeros((4, 0)), np.zeros((4, 0)))


def test_a_version_of_several_lines_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"format": FORMAT, "version": "|\n|"}))
    with pytest.raises(InvalidInput, match=r'version "\|\\n\|"; this program reads'):
        read(tmp_path / "c.json")


def test_why_a_certificate_fails_is_one_line(tmp_path: Path) -> None:
    from dpassay.core.certificate import Certificate
    from dpassay.replay import OWN, replay, seal_own

    sealed = seal_own("stability", fuzz_certificates.stability())
    inputs = {**sealed.inputs, "dataset1": "|\n|"}
    Certificate(OWN["stability"], sealed.statement, "stability", inputs, sealed.result).write(tmp_path / "c.json")
    found = replay(tmp_path / "c.json")
    assert (found.checks, found.reason) == (False, "| | is no value")


def test_a_witness_of_the_wrong_shape_is_rejected(tmp_path: Path) -> None:
    from dpassay.core.certificate import Certificate
    from dpassay.replay import replay

    sealed = fuzz_targets._sealed("witness")
    inputs = {**sealed.inputs, "mechanism": {**sealed.inputs["mechanism"], "parameters": ""}}
    Certificate(sealed.claim, sealed.statement, "witness", inputs, sealed.result).write(tmp_path / "c.json")
    found = replay(tmp_path / "c.json")
    assert not found.checks
    assert found.reason.startswith("the inputs cannot be read: AttributeError")


def test_audits_of_the_library_have_a_page_and_malformed_ones_a_line() -> None:
    content = fuzz_certificates.audit_report()
    assert "</html>" in audit_html.render_audits(content)
    with pytest.raises(InvalidInput, match="verdict/evidence"):
        schema.validate_audits({**content, "verdict": {**content["verdict"], "evidence": "\0"}})
    with pytest.raises(InvalidInput, match="an integer of 401 digits"):
        schema.validate_audits({**content, "seed": 10**400})
    assert printable("\ud800") == "\N{REPLACEMENT CHARACTER}"


def test_a_proof_that_does_not_fit_its_program_gets_a_line() -> None:
    content = json.loads(json.dumps(fuzz_certificates.proof_report()))
    place = next(iter(content["alignment"]["shifts"]))
    content["alignment"]["shifts"][place] = "\0"
    with pytest.raises(InvalidInput, match="does not fit its program"):
        proof_html.render_proof(content)


def test_kept_batches_are_not_run_again(tmp_path: Path) -> None:
    run: list[int] = []

    def answer(case: int, folder: Path) -> bool:
        run.append(case)
        if len(run) == 150:
            raise KeyboardInterrupt
        return case > 0

    target, kept = Target("any", st.integers(), answer), tmp_path / "kept.jsonl"
    with pytest.raises(KeyboardInterrupt):
        fuzzing.row(target, 300, 0, kept=Kept(kept))
    first = run[:100]
    found = fuzzing.row(target, 300, 0, kept=Kept(kept))
    assert len(run) == 350
    assert found == fuzzing.row(target, 300, 0)
    assert run[350:450] == first
    assert fuzzing.row(target, 300, 0, kept=Kept(kept)) == found
    assert len(run) == 650
