"""Finished runs, kept in a file so that killed work goes on where it stopped: one JSON object on each line.

A run is found again by its settings, its inputs and all code that it depends on (`dpassay.runs.code`), so that changed
code or data never meets an old number. Every line carries a digest: one that was cut off or damaged is skipped, and its
run is made again.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dpassay.core.certificate import checksum
from dpassay.core.errors import InvalidInput
from dpassay.core.files import is_stream
from dpassay.runs.code import code_digest

_FIELDS = {"key", "run", "sha256"}


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
