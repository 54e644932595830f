"""Every notebook runs top to bottom at its small size, and says what it should."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

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
    "dpp.ipynb": {
        "round(loss.epsilon, 9) == round(exact_epsilon(5, 1.0), 9), round(paper_bound(5, 1.0), 2)": "(True, 11.74)",
        "{judged.verdict.id: judged.verdict.outcome for judged in result.judged}['DP-SUM']": "'refuted'",
        "all(replay.checks for replay in replays)": "True",
        "math.isinf(witness.epsilon), 0.9 * limit < below.epsilon <= limit, above": "(True, True, None)",
        "[bool(values[-1] > 0.9) for values in advantages.values()]": "[True, False]",
        "bool(curves['k-DPP, exact theorem'][-1] > curves['DPP, exact theorem'][-1] > uniform)": "True",
        "bool(summary.precision['exponential top-N'].min() > summary.precision['k-DPP'].max())": "True",
    },
    "rating_collection.ipynb": {
        "gap": "1.0",
        "[verdicts[id].outcome for id in ('RC-T1', 'RC-IND2', 'RC-RIP')]": "['holds', 'refuted', 'vacuous']",
        "name, len(result['runs'])": "('movielens-100k', 196)",
        "reports[-1].metric('profile-advantage').value > reports[-1].metric('advantage').value": "True",
        "float(repaired.loss) <= repaired.epsilon": "True",
    },
    "xmap.ipynb": {
        "bool(np.isinf(witness.epsilon))": "True",
        "losses['paper'][-1] > 5 > 0.5 >= max(losses['repaired'])": "True",
        "judged": "{'XM-T1': 'refuted', 'XM-T1-REP': 'holds'}",
        "precision['alterego'].low > guess > 0.3": "True",
        "frame.iloc[-1, -1] != 'infinite' == frame.iloc[-2, -1]": "True",
        "all(final[name, 'repaired'] > final[name, 'own'] for name in real)": "True",
    },
    "pricdr.ipynb": {
        "{id: verdicts[id].outcome for id in ('CD-T52', 'CD-T52-REL', 'CD-SJLT-REP')}": "{'CD-T52': 'refuted', "
        "'CD-T52-REL': 'refuted', 'CD-SJLT-REP': 'holds'}",
        "all(replay.checks for replay in replays)": "True",
        "smallest, [certain > 0 for _, certain in found.values()]": "((1, 3), [False, True, False, True, True, False])",
        "bool(gaps['paper', 'without the rating'].max() < 1e-12 < 1e-6 < gaps['paper', 'with it'].min())": "True",
        "[bool(advantage['rank_deficient', variant] > permitted) for variant in labels]": "[True, False]",
        "correlation['paper'] < 0.1 < 0.9 < correlation['repaired']": "True",
        "bool(plain >= hits['repaired'][-1] - 0.05 > hits['paper'][-1] + 0.1)": "True",
        "saved is None or set(TABLE['Douban Book to Music']) <= {run['model'] for run in saved['runs']}": "True",
        "saved is None or saved['inputs'][0]['name'] == 'Douban Book'": "True",
        "[round(in_truth[label], 1) for label in noise], round(ratio, 1)": "([0.1, 15.1, 8.0], 54.1)",
    },
    "audit_your_own_mechanism.ipynb": {
        "verdict.outcome": "'refuted'",
        "0.5 < measured.epsilon_lower <= 0.625": "True",
        "round(sandwich['upper'], 6), sandwich['exact']": "(0.625, 0.625)",
        "streams.observed_sensitivity, streams.violates_sensitivity": "(5.0, True)",
        "bits.verdict.outcome, bits.epsilon_lower > 2": "('refuted', True)",
        "0.5 < witness.epsilon <= 0.625": "True",
    },
    "prove_your_own_mechanism.ipynb": {
        "proof.verdict.outcome, broken.verdict.outcome": "('holds', 'refuted')",
        "all(one.checks for one in replays)": "True",
        "sampled[-1] > 1.2 > 1 > sampled[0]": "True",
    },
    "attack_demonstration.ipynb": {
        "report.metric('precision').value > report.metric('guess-precision').value + 0.3": "True",
        "advantages['top_beta_k', 4.0].low > 0.5 > advantages['npns_repaired', 4.0].high": "True",
        "rows[0][2:] == rows[1][2:] == rows[3][2:], rows[2][2] > rows[0][2] + 0.1": "(True, True)",
        "report.to_json('', {'advantage': 0.1})['checks'][0]['exceeded']": "True",
    },
    "how_the_auditor_works.ipynb": {
        "0.8 < found <= 1.1": "True",
        "leaked_alarms, fresh_alarms <= 0.05": "(1.0, True)",
        "bool(naive[:, 1].mean() < 0.3 < cautious[:, 1].mean() <= 0.5 < naive[:, 0].mean())": "True",
        "powers['exact'][1] > powers['clopper-pearson'][1] + 0.2": "True",
        "worst['score'] > 0.01 >= worst['exact'] > worst['clopper-pearson']": "True",
        "naive_ever > 0.2, betting_ever <= 0.05, found_by_bets > 0.9": "(True, True, True)",
        "outcomes['broken'][0], outcomes['mended'][0]": "('refuted', 'not refuted')",
        "verdicts['textbook', 'values'], verdicts['textbook', 'bits']": "('not refuted', 'refuted')",
        "verdicts['on_a_grid', 'values'], verdicts['on_a_grid', 'bits']": "('not refuted', 'not refuted')",
        "audit.verdict.outcome, 'carries no noise' in streams.findings[0]": "('not refuted', True)",
    },
}
MECHANISM = """
def noisy_votes(rng, votes):
    noise = rng.laplace(scale=2.0, size=len(votes))
    return [vote + n for vote, n in zip(votes, noise)]
"""


def test_every_notebook_has_expectations():
    assert {path.name for path in FOLDER.glob("*.ipynb")} == set(NAMED)


@pytest.fixture
def shell(monkeypatch) -> Iterator[InteractiveShell]:
    """What a kernel runs its cells in, in this process: no kernel to start, nothing to import or to compile again."""
    monkeypatch.setenv("SMALL", "1")
    monkeypatch.delenv("DPASSAY_NOTEBOOK_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # IPython puts the notebook's there
    plt.switch_backend("agg")
    yield InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    plt.close("all")


@pytest.mark.filterwarnings("ignore")  # notebooks use libraries as users do
@pytest.mark.parametrize("name", NAMED)
def test_notebook_runs_and_names_its_numbers(name, shell):
    for cell in nbformat.read(FOLDER / name, as_version=4).cells:
        if cell.cell_type == "code":
            shell.run_cell(cell.source).raise_error()
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    assert {expression: repr(eval(expression, shell.user_ns)) for expression in NAMED[name]} == NAMED[name]


def test_a_mechanism_of_ones_own_is_audited_from_the_command_line(tmp_path):
    (tmp_path / "mymodule.py").write_text(MECHANISM)
    (tmp_path / "one.json").write_text("[3, 1]")
    parameters = {"target": "mymodule:noisy_votes", "dataset1": "one.json", "dataset2": "[2, 0]", "epsilon": 1.0}
    parameters |= {"num_samples": 2000, "time_limit": 2.0, "seed": 3, "sensitivity": 2, "relation": "vector:one"}
    options = [text for name, value in parameters.items() for text in ("-p", name, str(value))]
    source = FOLDER / "audit_your_own_mechanism.ipynb"
    command = [sys.executable, "-m", "papermill", str(source), "out.ipynb", "--no-progress-bar", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"SMALL": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    notebook: Any = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    texts = [output.text for cell in notebook.cells for output in cell.get("outputs", ()) if "text" in output]
    assert texts[0].startswith("mymodule:noisy_votes claims to be 1-DP")
    assert "dataset 1: [3 1]" in texts[0]
    assert texts[1].startswith("NOT REFUTED\nNo violation of 1-DP was found")  # the loss is 1, as claimed
    assert any("found with 2,000 samples per dataset" in " ".join(text.split()) for text in texts)
    assert any("the outputs differ by 2 (L1 distance)" in text for text in texts)
    assert any(text.startswith("no pair found") for text in texts)  # one vote of two moves it half as far
    assert "assert_private(noisy_votes, one, two, epsilon=1)" in texts[-1]


@pytest.mark.parametrize("name", NAMED)
def test_notebook_is_committed_executed(name):
    notebook: Any = nbformat.read(FOLDER / name, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    assert (FOLDER / name).stat().st_size < 1_500_000
    assert not any(output.get("name") == "stderr" for cell in code for output in cell.outputs)
    assert sum(len(cell.source.splitlines()) for cell in code if "jupyter" not in cell.metadata) <= 70  # not folded
