"""Executors by name give the audit of one process, also when a worker of a Dask cluster is killed in its midst."""

import importlib
import math
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dpassay.auditors import sampling, shared_draws
from dpassay.auditors.audit import run_audit
from dpassay.commands.main import main
from dpassay.core import extras
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.runs import schedulers
from dpassay.runs.parallel import results_in_parallel
from dpassay.runs.schedulers import DaskExecutor, executor_of, local_cluster

SAMPLES = 30_000


def mortal(rng, dataset):
    """Noise; the first worker that comes so far is killed, once."""
    value, marker = dataset
    noise = rng.laplace()
    worker = multiprocessing.parent_process() is not None
    if noise > 8 and worker and isinstance(marker, str) and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value + noise


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Everything is shared out, a chunk at a time."""
    monkeypatch.setattr(sampling, "SHARED", 0.0)
    monkeypatch.setattr(sampling, "TASK_SECONDS", 0.0)
    monkeypatch.setattr(shared_draws, "TASK_SECONDS", 0.0)


def found(marker, executor=None):
    pair = (0.0, str(marker)), (1.0, str(marker))
    content = run_audit(mortal, *pair, claim=PrivacyClaim(0.5), num_samples=SAMPLES, executor=executor).to_json()
    return {**content, "seconds": None}


def test_a_killed_worker_of_a_cluster_changes_no_count(tmp_path):
    pytest.importorskip("distributed")
    alone = found(tmp_path / "marker")
    assert not (tmp_path / "marker").exists()
    with local_cluster() as client:
        first = {worker.pid for worker in client.cluster.workers.values()}
        assert found(tmp_path / "marker", DaskExecutor(client)) == alone
        assert (tmp_path / "marker").exists()
        assert {worker.pid for worker in client.cluster.workers.values()} != first


def test_a_cluster_whose_worker_dies_at_its_start_is_started_again(monkeypatch):
    distributed = pytest.importorskip("distributed")
    begun: list[Any] = []
    real = distributed.LocalCluster

    def start(**settings):
        begun.append(settings)
        if len(begun) in failing:
            raise RuntimeError("Nanny failed to start.")
        return real(**settings)

    monkeypatch.setattr(distributed, "LocalCluster", start)
    failing = {1, 2}
    with local_cluster() as client:
        assert client.submit(math.sqrt, 4).result() == 2
    assert len(begun) == 3
    failing = {4, 5, 6}
    with (
        pytest.raises(InvalidInput, match=r"no Dask cluster .*\(Nanny failed.* the guard if __name__"),
        local_cluster(),
    ):
        pass


def test_a_task_that_kills_every_worker_is_told():
    pytest.importorskip("distributed")
    with local_cluster() as client, pytest.raises(InvalidInput, match="the scheduler gave a task up"):
        list(results_in_parallel(os._exit, [(1,), (1,)], DaskExecutor(client)))


def test_a_cluster_ends_and_hides_no_error_while_a_worker_is_started_anew(monkeypatch):
    distributed = pytest.importorskip("distributed")
    real, failed, clusters = distributed.Nanny.close, list[Any](), list[Any]()

    async def close(self, **settings):
        await real(self, **settings)
        if not settings and not failed:  # as the cluster asks, where others give their reason
            failed.append(self)
            raise AssertionError("can only join a started process")

    monkeypatch.setattr(distributed.Nanny, "close", close)

    def work():
        with local_cluster() as client:
            clusters.append(client.cluster)
            raise InvalidInput("what went wrong")

    with pytest.raises(InvalidInput, match="what went wrong"):
        work()
    (cluster,) = clusters
    assert failed
    assert (cluster.status.name, cluster.scheduler.status.name) == ("closed", "closed")


@pytest.mark.parametrize("scheduler", ["processes", "local"])
def test_what_a_worker_cannot_import_is_told(scheduler, tmp_path, monkeypatch):
    if scheduler == "local":
        pytest.importorskip("distributed")
    with executor_of(scheduler) as executor:
        assert dict(results_in_parallel(math.sqrt, [(4,), (9,), (1,)], executor)) == {0: 2, 1: 3, 2: 1}  # workers began
        (tmp_path / "only_here.py").write_text("def doubled(x):\n    return 2 * x\n")
        monkeypatch.syspath_prepend(tmp_path)
        doubled = importlib.import_module("only_here").doubled
        with pytest.raises(InvalidInput, match=r"a worker cannot import what it was sent .*only_here.* PYTHONPATH"):
            list(results_in_parallel(doubled, [(1,), (2,)], executor))
        if scheduler == "local":  # what a user maps over it, too
            with pytest.raises(ImportError, match="only_here"):
                executor.submit(doubled, 1).result(timeout=60)
        assert len(list(results_in_parallel(math.sqrt, [(4,), (9,)], executor))) == 2


def test_workers_without_the_package_are_told(monkeypatch):
    pytest.importorskip("distributed")
    with local_cluster() as client:
        address = client.cluster.scheduler_address
        with executor_of(address) as executor:
            assert executor.submit(math.sqrt, 4).result() == 2
        monkeypatch.setattr(schedulers, "__name__", "dpassay_of_tomorrow.runs")
        with pytest.raises(InvalidInput, match=r"the workers of .* lack this dpassay"), executor_of(address):
            pass


def test_a_scheduler_that_nobody_runs_or_works_for_is_told(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(schedulers, "_SECONDS", 1.0)
    monkeypatch.setattr(schedulers, "_FIRST", 1.0)
    monkeypatch.setattr(schedulers, "_MUTE", 0.1)
    said: list[str] = []
    alone = distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0")
    address = alone.scheduler_address
    mended = rf"the scheduler at {address} has no workers; start some with: dask worker {address}"
    with alone, pytest.raises(InvalidInput, match=mended), executor_of(address, progress=said.append):
        pass
    assert said[-1] == f"waiting for the first worker of the Dask scheduler at {address}"
    with pytest.raises(InvalidInput, match="no Dask scheduler answers"), executor_of(address, progress=said.append):
        pass
    assert said[-1] == f"connecting to the Dask scheduler at {address}"


def test_workers_that_are_all_gone_are_told(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(schedulers, "_GONE", 1.0)
    monkeypatch.setattr(schedulers, "_LOOK", 0.1)
    with local_cluster() as client, executor_of(address := client.cluster.scheduler_address) as executor:
        waiting = executor.submit(time.sleep, 60)
        client.cluster.scale(0)
        with pytest.raises(InvalidInput, match=f"all workers of {address} are gone; start some with: dask worker"):
            waiting.result(timeout=30)


def test_errors_and_cancelled_work_of_a_cluster_come_back():
    pytest.importorskip("distributed")
    with local_cluster() as client:
        executor = DaskExecutor(client)
        assert list(executor.map(math.factorial, range(4))) == [1, 1, 2, 6]
        with pytest.raises(ValueError, match="factorial"):
            executor.submit(math.factorial, -1).result()
        waiting = [executor.submit(time.sleep, 0.2) for _ in range(40)]
        assert waiting[-1].cancel()
        for future in waiting:
            future.cancel()
        with pytest.raises(InvalidInput, match=r"cannot be sent to a worker|gave a task up"):
            list(results_in_parallel(threading.Lock().acquire, [(), ()], executor))


def test_a_killed_process_is_told(tmp_path):
    with executor_of("processes") as executor, pytest.raises(InvalidInput, match="a working process died"):
        found(tmp_path / "marker", executor)
    with executor_of("processes") as executor:  # it is killed once
        assert found(tmp_path / "marker", executor) == found(tmp_path / "marker")


def test_unusable_schedulers_are_told_in_one_line(monkeypatch, tmp_path, capsys):
    for word in (
        "nowhere",
        ":",
        "tcp://head",
        "head:",
        "tcp://:8786",
        "ftp://head:21",
        "head:0",
        "head:65536",
        "a b:1",
    ):
        with pytest.raises(InvalidInput, match="give processes, local, or the address"), executor_of(word):
            pass
    monkeypatch.setattr(extras, "_installed", lambda package: package != "distributed")
    with pytest.raises(InvalidInput, match=r"pip install 'dpassay\[distributed\]'"), executor_of("local"):
        pass
    (tmp_path / "data.json").write_text("[1]")
    dataset = str(tmp_path / "data.json")
    command = ["audit", "ppns", "--dataset1", dataset, "--dataset2", dataset, "--epsilon", "1", "--scheduler", "local"]
    assert main(command) == 2
    assert "pip install 'dpassay[distributed]'" in capsys.readouterr().err


def test_two_ways_to_share_work_out_are_refused(capsys):
    assert main(["verify", "--claim", "PP-LAM2", "--jobs", "2", "--scheduler", "processes"]) == 2
    assert "leave it or --scheduler out" in capsys.readouterr().err


def test_commands_share_their_work_out(tmp_path, capsys):
    for name, value in (("one", 0.0), ("two", 1.0)):
        (tmp_path / f"{name}.json").write_text(f"[{value}, null]")
    audit = ["audit", f"{__name__}:mortal", "--epsilon", "0.5", "--num-samples", str(SAMPLES)]
    audit += ["--dataset1", str(tmp_path / "one.json"), "--dataset2", str(tmp_path / "two.json")]
    texts = []
    for scheduler in ([], ["--scheduler", "processes"]):
        for words in (audit, ["verify", "--claim", "PP-LAM2", "--claim", "PP-PMF", "--quick"]):
            code = main([*words, *scheduler])
            texts.append(
                (code, [line.split() for line in capsys.readouterr().out.splitlines() if "samples of" in line])
            )
    assert texts[:2] == texts[2:]
    assert texts[0][0] == 1
    assert len(texts[0][1]) == 1
    assert texts[1][0] == 0
