"""Every notebook runs top to bottom at its small size, and says what it should."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
NAMED: dict[str, dict[str, str]] = {
    "ppns.ipynb": {
        "math.isinf(loss.epsilon)": "True",
        "math.isinf(loss_of_ppns)": "True",
        "loss_of_repaired <= 1": "True",
        "verdict.outcome": "'refuted'",
        "replayed.checks": "True",
        "found.epsilon > 0.9": "True",
        "nothing": "None",
    },
}


def test_every_notebook_has_expectations():
    assert {path.name for path in FOLDER.glob("*.ipynb")} == set(NAMED)


@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries
@pytest.mark.parametrize("name", NAMED)
def test_notebook_runs_and_names_its_numbers(name, monkeypatch):
    monkeypatch.setenv("SMALL", "1")
    monkeypatch.delenv("DPASSAY_NOTEBOOK_DATA", raising=False)
    notebook: Any = nbformat.read(FOLDER / name, as_version=4)
    for expression in NAMED[name]:
        notebook.cells.append(nbformat.v4.new_code_cell(f"print(repr({expression}))"))
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    printed = [cell.outputs[0]["text"].strip() for cell in notebook.cells[-len(NAMED[name]) :]]
    assert printed == list(NAMED[name].values())


@pytest.mark.parametrize("name", NAMED)
def test_notebook_is_committed_executed(name):
    notebook: Any = nbformat.read(FOLDER / name, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
