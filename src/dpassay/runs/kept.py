"""Finished runs, kept in a file so that killed work goes on where it stopped: one JSON object on each line.

A run is found again by its settings, its inputs and all code that it depends on (`dpassay.runs.code`), so that changed
code or data never meets an old number. Every line carries a digest: one that was cut off or damaged is skipped, and its
run is made again.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from dpassay.core.certificate import checksum
from dpassay.core.errors import InvalidInput
from dpassay.core.files import is_stream
from dpassay.core.progress import Say, Step, part, silent
from dpassay.runs.code import code_digest
from dpassay.runs.parallel import results_in_parallel

_FIELDS = {"key", "run", "sha256"}


class Planned(NamedTuple):
    """A run that is to be had.

    Attributes:
        settings: JSON-able; say everything that the run depends on, its seed included.
        arguments: of the function that computes its numbers.
        text: what is said when its turn comes.
    """

    settings: Mapping[str, Any]
    arguments: tuple[Any, ...]
    text: str = ""


class Kept:
    """The finished runs of one kind of work.

    Args:
        path: the file; None keeps nothing beyond this object.
        inputs: JSON-able; what the runs read beside their settings and code: hashes of data and of other files.
        modules: names of those that make the runs; with them counts all that they import.

    Raises:
        InvalidInput: no ordinary file, or one that cannot be read.
    """

    def __init__(self, path: Path | None, inputs: Any = (), *modules: str) -> None:
        self.path = path
        self._about = inputs if path is None else [inputs, code_digest(*modules)]
        self._runs = dict(_read(path)) if path is not None and path.exists() else {}

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, settings: Mapping[str, Any], work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """The settings and what `work` returns for them, from the file where they were run before.

        Args:
            settings: JSON-able; says everything that the run depends on, its seed included.
            work: computes the run's numbers, a JSON-able mapping.
        """
        found = self.find(settings)
        return self.keep(settings, work()) if found is None else found

    def all(
        self,
        plan: Sequence[Planned],
        work: Callable[..., Mapping[str, Any]],
        executor: Executor | None = None,
        say: Say = silent,
        *,
        tells: bool = False,
    ) -> list[dict[str, Any]]:
        """The runs of a plan, in its order; each that is not kept yet is computed once, and kept when it is done.

        Args:
            plan: the runs.
            work: called with each one's arguments; an executor must be able to send both.
            executor: whose workers compute; None for this process.
            say: told of each run, with the share that is done.
            tells: whether `work` takes `progress`, which in this process hears of a single run.
        """
        missing = {self._key(each.settings): each for each in plan if self.find(each.settings) is None}
        waiting, done = list(missing.values()), len(plan) - len(missing)
        if executor is None:
            for number, each in enumerate(waiting, done):
                own = part(say, number, len(plan))
                own(each.text)
                self.keep(each.settings, work(*each.arguments, **({"progress": own} if tells else {})))
        else:
            found = results_in_parallel(work, [each.arguments for each in waiting], executor)
            for finished, (number, numbers) in enumerate(found, done + 1):
                self.keep(waiting[number].settings, numbers)
                say(Step(waiting[number].text, finished / len(plan)))
        return [json.loads(self._runs[self._key(each.settings)]) for each in plan]

    def find(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """A kept run with its settings, or None."""
        run: dict[str, Any] | None = json.loads(self._runs.get(self._key(settings), "null"))
        return run

    def keep(self, settings: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Keeps a run, and returns it with its settings as `find` will.

        Raises:
            InvalidInput: the file cannot be written; the runs in it stay.
        """
        key = self._key(settings)
        self._runs[key] = json.dumps({**settings, **numbers})
        run: dict[str, Any] = json.loads(self._runs[key])
        if self.path is not None:
            _append(self.path, {"key": key, "run": run})
        return run

    def _key(self, settings: Mapping[str, Any]) -> str:
        return hashlib.sha256(json.dumps([settings, self._about], sort_keys=True).encode()).hexdigest()[:32]


def cache_folder() -> Path:
    """Where the command line keeps runs unless told where: `dpassay` in the user's cache folder (XDG_CACHE_HOME)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpassay"


def _read(path: Path) -> Iterator[tuple[str, str]]:
    """Keys and runs of the lines that are whole."""
    if is_stream(path):
        raise InvalidInput(f"cannot keep runs in {path}: it is no ordinary file; give another path")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}; give another path") from error
    for line in content.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.keys() == _FIELDS and record["sha256"] == checksum(record):
            yield record["key"], json.dumps(record["run"])


def _append(path: Path, record: Mapping[str, Any]) -> None:
    """Adds a line in one write, after whatever other processes add; makes the folder if need be."""
    # The line break comes first: what a kill cut off before cannot spoil this line.
    line = b"\n" + json.dumps({**record, "sha256": checksum(record)}).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            while line:
                line = line[file.write(line) :]
    except OSError as error:
        raise InvalidInput(
            f"cannot write {path}: {error.strerror}; the runs in it stay, and the same command goes on from them"
        ) from error
