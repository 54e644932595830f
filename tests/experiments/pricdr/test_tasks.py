"""The experiment `pricdr-tasks`: shapes, what is marked, and what is refused."""

import pytest

from dpassay import experiments
from dpassay.core.errors import InvalidInput
from dpassay.core.records import plain
from dpassay.data.pricdr_tasks import TASKS
from dpassay.experiments.pricdr import experiment as pricdr
from dpassay.experiments.pricdr import tasks as pricdr_tasks
from dpassay.experiments.request import Request

LIGHT = [entry for entry in pricdr.MODELS if entry.label in ("popularity", "BPR")]


@pytest.mark.parametrize("name", ["Amazon Movie to Music", "Douban Movie to Book", "Douban Movie to Music"])
def test_made_up_tasks_have_a_quarter_of_the_size(name: str) -> None:
    task, sizes = pricdr_tasks.scaled(name, 4), TASKS[name]
    shape = (task.num_users, task.num_source_items, task.num_target_items)
    assert shape == (sizes.users // 4, sizes.source_items // 4, sizes.target_items // 4)
    assert task.source.nnz == pytest.approx(sizes.source_ratings / 4, rel=0.05)
    assert task.target.nnz + 2 * task.num_users == pytest.approx(sizes.target_ratings / 4, rel=0.05)
    assert task.name == f"made up, 1/4 of {name}"


def test_all_five_tasks_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricdr_tasks, "SCALE", 8)
    monkeypatch.setattr(pricdr_tasks, "OTHERS", pricdr_tasks.OTHERS[-2:])
    monkeypatch.setattr(pricdr_tasks, "EPOCHS", 3)
    monkeypatch.setattr(pricdr_tasks, "MANY", 150)  # between the two
    monkeypatch.setattr(pricdr, "MODELS", LIGHT)
    result = plain(pricdr_tasks.run(Request(seed=1)))
    assert [(run["task"], run["model"], run["seed"], run["epochs"]) for run in result["runs"]] == [
        (f"made up, 1/8 of Douban Movie to {target}", model, 1, epochs)
        for target, longest in (("Book", 3), ("Music", 20))
        for model, epochs in (("popularity", 1), ("BPR", longest))
    ]
    accuracy, sizes = result["tables"]
    assert accuracy["columns"][1:3] == ["Douban Movie to Book: HR10", "Douban Movie to Book: NDCG10"]
    assert accuracy["rows"][1][4] == f"{result['runs'][3]['authors_NDCG10']:.4f}"
    assert [row[:2] for row in sizes["rows"]] == [
        [run["task"], users] for run, users in zip(result["runs"][::2], (196, 131), strict=True)
    ]


def test_quick_is_one_small_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricdr, "MODELS", LIGHT)
    result = experiments.run("pricdr-tasks", quick=True)
    assert {run["task"] for run in result["runs"]} == {"made up, 1/8 of Douban Movie to Music"}
    assert [run["epochs"] for run in result["runs"]] == [1, 2]


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match="makes its data up"):
        pricdr_tasks.run(Request("folder"))
    with pytest.raises(InvalidInput, match="no task is called 'Amazon Book to Film'; choose from Amazon Music"):
        pricdr_tasks.scaled("Amazon Book to Film", 4)
