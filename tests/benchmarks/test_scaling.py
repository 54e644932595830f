"""What the cost of the sybil attack is measured on, and how it is drawn."""

from pathlib import Path

import click
import numpy as np
import pytest

from dpassay.benchmarks import attack_costs, command_costs, compilation, run
from dpassay.commands.main import commands
from dpassay.core.errors import InvalidInput


def test_long_tail_has_the_size_asked_for():
    ratings = attack_costs.long_tail(200, 300, 4000, seed=1)
    assert (ratings.num_users, ratings.num_items, len(ratings.values)) == (200, 300, 4000)
    assert len(np.unique(ratings.users * 300 + ratings.items)) == 4000
    popularity = np.bincount(ratings.items, minlength=300)
    assert popularity[:30].sum() > 3 * popularity[-30:].sum()


def test_tables_and_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack_costs, "SIZES", {"MovieLens 100K": (120, 80, 3000)})
    monkeypatch.setattr(
        attack_costs, "GROWING", {"users": ((120, 80, 3000),), "items": ((120, 80, 3000), (120, 160, 3000))}
    )
    monkeypatch.setattr(attack_costs, "METHODS", ("knn",))
    monkeypatch.setattr(attack_costs, "OURS", 5)
    result = run("scaling", quick=True, parts=("attack",))
    swept, whole, growth, literal = result["tables"]
    assert dict(zip(swept["columns"], swept["rows"][0], strict=True))["lists"] == 40 * (50 + 200)
    assert [row[5] for row in whole["rows"]] == ["1", "4"]
    assert literal["rows"][0][-1] > 1  # the attack word for word is slower
    beta, users, items = result["plots"]
    assert [plot["series"][0]["x"] for plot in (beta, users, items)] == [[1.0, 4.0], [120], [80, 160]]
    assert items["series"][0]["y"] == [row[-1] for row in growth["rows"][1:]]


def test_commands_are_measured_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_costs, "GROWTHS", command_costs.GROWTHS[6:7])
    result = run("scaling", quick=True, parts=("commands",))
    (table,) = result["tables"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert [(row["command"], row["size"]) for row in rows] == [("replay", 1), ("replay", 10)]
    for row in rows:
        assert row["seconds"] > 0.1 < row["CPU seconds"]
        assert 30 < row["peak memory, MiB"] < 1000
    seconds, memory = result["plots"]
    assert seconds["series"][0]["x"] == memory["series"][0]["x"] == [1.0, 10.0]
    assert memory["series"][0]["y"] == [row["peak memory, MiB"] for row in rows]


def test_memory_is_that_of_the_command_and_not_of_what_measures_it(tmp_path: Path) -> None:
    held = np.ones(2**27)  # 1 GiB, touched
    assert 30 < command_costs.measure(["--version"], str(tmp_path))["peak memory, MiB"] < 300
    assert held[-1] == 1


def test_a_command_without_a_verdict_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"replay nothing.json ended with exit code 2: 0 of 1 certificates check"):
        command_costs.measure(["replay", "nothing.json"], str(tmp_path))


@pytest.mark.parametrize(
    "growth",
    [*command_costs.GROWTHS, *command_costs.EXPERIMENTS],
    ids=lambda growth: f"{growth.command}, {growth.grows}",
)
def test_every_command_can_be_started(growth: command_costs.Growth, tmp_path: Path) -> None:
    """What it is given is known to it: a dry look at the options and the files."""
    command, *arguments = growth.prepared(tmp_path, growth.sizes[0])
    known: click.Command | None = commands.commands[command]
    if isinstance(known, click.Group):
        known, arguments = known.get_command(click.Context(known), arguments[0]), arguments[1:]
    assert known is not None
    known.make_context(command, list(arguments))
    assert list(growth.sizes) == sorted(growth.sizes)


def test_unknown_parts_are_named() -> None:
    with pytest.raises(InvalidInput, match="choose from attack, commands, experiments"):
        run("scaling", parts=("lunch",))


@pytest.mark.parametrize(("compiling", "said"), [(2.0, "ok"), (9.0, "FAIL")])
def test_a_session_that_compiles_again_fails(compiling: float, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compile = "/jax/core/compile/"
    counted = {
        f"{compile}jaxpr_trace_duration": (30, 0.5),
        f"{compile}jaxpr_to_mlir_module_duration": (20, 1.0),
        f"{compile}backend_compile_duration": (20, compiling),
        "/jax/compilation_cache/cache_retrieval_time_sec": (18, 0.4),
    }
    monkeypatch.setattr(compilation, "_session", lambda folder: (100.0, counted))
    (table,) = run("scaling", quick=True, parts=("compilation",))["tables"]
    first, second = (dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
    assert (second["compiled"], second["loaded"]) == (2, 18)
    assert second["share of the time"] == f"{compiling + 1.5:.1f}%"
    assert (first[""], second[""]) == ("", said)


def test_a_session_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own compiled programs, and none of whoever measures it."""
    (tmp_path / "conftest.py").write_text(compilation._COUNTING)
    kept = "from dpassay.runs.compiled import kept_programs\n\ndef test_it():\n    with kept_programs():\n"
    (tmp_path / "test_releases.py").write_text(f"import jax\n{kept}        jax.jit(lambda x: x + 1)(1.0)\n")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "ours"))
    seconds, counted = compilation._session(tmp_path)
    assert seconds > 0.1
    assert counted["/jax/core/compile/backend_compile_duration"][0] > 0
    assert "/jax/compilation_cache/cache_retrieval_time_sec" not in counted
    again = compilation._session(tmp_path)[1]
    assert again["/jax/compilation_cache/cache_retrieval_time_sec"][0] > 0
    (tmp_path / "test_releases.py").write_text("def test_it():\n    assert False\n")
    with pytest.raises(InvalidInput, match="exit code 1"):
        compilation._session(tmp_path)
