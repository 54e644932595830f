"""Certificate files: what `replay` re-checks, written and read as JSON.

A certificate has `inputs`, from which everything follows, and the `result` that the trusted checker for its kind
computed from them. Replaying computes the result again and compares; nothing that a search found is believed. What
the evidence concludes about the claim is not in the file: the checker derives it.
"""

import hashlib
import json
import math
import os
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.files import write_file

FORMAT = "dpassay-certificate"
VERSION = 2
FIELDS = ("format", "version", "claim", "statement", "kind", "inputs", "result", "sha256")
OBJECTS = ("inputs", "result")
MAX_BYTES = 16 * 2**20
MAX_DEPTH = 200
MAX_DIGITS = 1000


@dataclass(frozen=True)
class Certificate:
    """One piece of evidence in re-checkable form.

    Attributes:
        claim: the claim's id.
        statement: what is claimed, in words; must be the registry's sentence when the id is registered.
        kind: the checker: `witness`, `law`, `formula`, `proof`, `statistics`, `reproduction`, ...
        inputs: everything the checker needs, numbers as integers or fractions in strings.
        result: what the checker computed.
    """

    claim: str
    statement: str
    kind: str
    inputs: Mapping[str, Any]
    result: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The file's content, checksum included."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "claim": self.claim,
            "statement": self.statement,
            "kind": self.kind,
            "inputs": dict(self.inputs),
            "result": dict(self.result),
        }
        return {**content, "sha256": checksum(content)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Certificate":
        """The certificate that `to_json` wrote; `read` checks a file first."""
        return cls(**{each.name: content[each.name] for each in fields(cls)})

    def write(self, path: Path) -> None:
        """Writes the file whole or not at all."""
        write_file(path, json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n")


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its own checksum: it tells a damaged file from a false one, and proves nothing."""
    bare = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read(path: Path) -> Certificate:
    """Reads a certificate file, whoever wrote it: an ordinary file of at most `MAX_BYTES`.

    Raises:
        InvalidInput: not a readable certificate of this version; keys that occur twice, numbers that are not finite or
            have more than `MAX_DIGITS` digits, and content nested deeper than `MAX_DEPTH` are not read.
    """
    try:
        content = json.loads(
            _ordinary(path).decode(),
            object_pairs_hook=_unambiguous,
            parse_constant=_finite,
            parse_float=_finite,
            parse_int=_short,
        )
        _require_shallow(content)
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror or error}; give the path of a certificate file"
        ) from error
    except RecursionError:
        raise InvalidInput(f"{path} is nested deeper than {MAX_DEPTH}; no certificate is") from None
    except InvalidInput as error:
        raise InvalidInput(f"{path} {error}") from None
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON ({error}); write it again with verify --certificates") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a dpassay certificate; write one with verify --certificates")
    if content.get("version") != VERSION:
        other = json.dumps(content.get("version"))[:60]
        raise InvalidInput(f"{path} has certificate version {other}; this program reads {VERSION}")
    absent = [name for name in FIELDS if name not in content]
    if absent:
        raise InvalidInput(f"{path} lacks {', '.join(absent)}; write it again with verify --certificates")
    wrong = [
        name for name in FIELDS if name != "version" and not isinstance(content[name], dict if name in OBJECTS else str)
    ]
    if wrong:
        raise InvalidInput(f"{path}: {wrong[0]} must be {'an object' if wrong[0] in OBJECTS else 'a text'}")
    if content["sha256"] != checksum(content):
        raise InvalidInput(f"{path} was damaged (its checksum differs); write it again with verify --certificates")
    return Certificate.from_json(content)


def _ordinary(path: Path) -> bytes:
    """The content of an ordinary file: a pipe or a device could wait, or never end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidInput("is not an ordinary file; give the path of a certificate file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"is larger than {MAX_BYTES // 2**20} megabytes; no certificate is")
    return content


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise InvalidInput(f"has the key {counts.most_common(1)[0][0][:60]!r} twice")
    return content


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise InvalidInput(f"has the number {number[:60]}; certificates hold finite ones")
    return value


def _short(number: str) -> int:
    if len(number) > MAX_DIGITS:
        raise InvalidInput(f"has an integer of {len(number)} digits; certificates hold at most {MAX_DIGITS}")
    return int(number)


def _require_shallow(content: Any) -> None:
    level, depth = [content], 0
    while level:
        if depth > MAX_DEPTH:
            raise RecursionError
        parts = [part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list)]
        level, depth = [each for part in parts for each in part], depth + 1
