"""The benchmark of samplers: its table, its samplers, and what it says of absent peers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from dpassay.benchmarks import peers, run, samplers
from dpassay.core.errors import InvalidInput

SMALL = (
    samplers.Task(12, 3, None, 64, in_quick=True),
    samplers.Task(12, None, 4, 64),
    samplers.Task(12, None, None, 8),
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "TASKS", SMALL)
    monkeypatch.setattr(samplers.sketches, "rows", lambda *_: [])


@pytest.mark.usefixtures("small")
def test_without_peers_it_measures_ours_and_says_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "available", lambda python, module: None)
    said: list[str] = []
    result = run("samplers", quick=True, seed=1, progress=said.append)
    table, _ = json.loads(json.dumps(result))["tables"]
    assert said == ["DPP, n = 12, rank 3", "random sketches"]
    (row,) = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert row["ours"] > 0
    assert row["Gflop/s"] > 0
    assert (row["peer's"], row["ratio"]) == ("", "")
    assert "pip install dppy" in row["note"]


@pytest.mark.usefixtures("small")
def test_a_peer_is_timed_beside_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def answer(python: str, script: str, task: dict[str, Any]) -> dict[str, Any]:
        asked.append(task)
        assert np.load(task["kernel"]).shape == (12, 12)
        return {"samples": 2.0, "mean_size": 3.0} if task["size"] is None else {"error": "it broke"}

    monkeypatch.setattr(samplers, "available", lambda python, module: "0.3.3")
    monkeypatch.setattr(samplers, "measure", answer)
    found = samplers.tables(True, 0, sys.executable, lambda _: None)[0].rows
    assert found[0][4] == 2.0
    assert found[0][5] == pytest.approx(found[0][1] / 2, rel=0.01)
    row = samplers._row(SMALL[1], True, 0, sys.executable, "0.3.3")
    assert "it broke" in row[-1]
    assert row[5] == ""
    assert [task["size"] for task in asked] == [None, 4]


@pytest.mark.parametrize("task", SMALL)
def test_the_timed_samplers_have_the_expected_size(task: samplers.Task) -> None:
    spectrum = samplers._decomposed(task.kernel(0), task.rank)
    values = np.asarray(spectrum.values)
    expected = task.size or (values / (1 + values)).sum()
    rate, size = samplers._time_ours(task, spectrum, 0, 0.0)
    assert rate > 0
    spread = 0 if task.size else np.sqrt((values / (1 + values) ** 2).sum() / task.batch)
    assert abs(size - expected) <= 5 * spread
    assert np.linalg.matrix_rank(task.kernel(0)) == (task.rank or 12)
    assert samplers._operations(task, spectrum) > 0


def test_peers_run_in_the_interpreter_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert peers.interpreter(None) == sys.executable
    assert peers.interpreter(Path(sys.executable)) == sys.executable
    for wrong in (tmp_path / "python", "/bin/true"):
        with pytest.raises(InvalidInput, match="interpreter"):
            peers.interpreter(wrong)
    assert peers.available(sys.executable, "numpy") == np.__version__
    assert peers.available(sys.executable, "no_such_module") is None
    script = tmp_path / "peer.py"
    script.write_text("import json, sys; task = json.load(sys.stdin); print(1 / task['x']); print('{\"y\": 1}')")
    monkeypatch.setattr(peers, "__file__", str(tmp_path / "peers.py"))
    assert peers.measure(sys.executable, "peer.py", {"x": 1}) == {"y": 1}
    assert peers.measure(sys.executable, "peer.py", {"x": 0}) == {"error": "ZeroDivisionError: division by zero"}


def test_the_peer_script_needs_nothing_of_ours(tmp_path: Path) -> None:
    """A stand-in for DPPy: the script builds the process, draws, counts, and keeps the library's chatter out."""
    (tmp_path / "dppy").mkdir()
    (tmp_path / "dppy" / "__init__.py").write_text("")
    (tmp_path / "dppy" / "finite_dpps.py").write_text(
        "class FiniteDPP:\n"
        "    def __init__(self, kind, L): print('chatter'); self.n = len(L)\n"
        "    def sample_exact(self, random_state): print('chatter'); return [0] * self.n\n"
        "    def sample_exact_k_dpp(self, size, random_state): return [0] * size\n"
    )
    np.save(tmp_path / "kernel.npy", np.eye(5))
    script = Path(peers.__file__).parent / "dppy_peer.py"
    for size, mean in ((None, 5), (2, 2)):
        task = {"kernel": str(tmp_path / "kernel.npy"), "size": size, "seconds": 0.0, "seed": 0}
        answer = subprocess.run(
            [sys.executable, str(script)],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": str(tmp_path)},
        )
        result = json.loads(answer.stdout)
        assert result["mean_size"] == mean
        assert result["samples"] > 0


def test_an_unknown_benchmark_is_refused() -> None:
    with pytest.raises(InvalidInput, match="samplers"):
        run("sampler")


def test_keys_decide_the_samples() -> None:
    spectrum = samplers._decomposed(SMALL[0].kernel(0), 3)
    one, two, other = (samplers.sample_process(jax.random.key(seed), spectrum, 50) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (np.asarray(one) != np.asarray(other)).any()
