"""Finished work as one JSON object per line, so that a killed run loses no more than the line it was writing."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["append_line", "read_lines"]


def read_lines(path: Path | None) -> Iterator[dict[str, Any]]:
    """The objects of a file, in order; a line that a kill cut off is skipped, and an absent file has none."""
    for line in path.read_text().splitlines() if path is not None and path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Adds one object, on a line of its own even where the last one was cut off; makes the folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        cut_off = False
        if file.tell():
            file.seek(-1, 2)
            cut_off = file.read(1) != b"\n"
        file.write(b"\n" * cut_off + json.dumps(record).encode() + b"\n")
