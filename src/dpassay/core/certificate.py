"""Certificate files: what `replay` re-checks, written and read as JSON.

A certificate has `inputs`, from which everything follows, and the `result` that the trusted checker for its kind
computed from them. Replaying computes the result again and compares; nothing that a search found is believed. What
the evidence concludes about the claim is not in the file: the checker derives it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput

FORMAT = "dpassay-certificate"
VERSION = 2
FIELDS = ("format", "version", "claim", "statement", "kind", "inputs", "result", "sha256")


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
        write_text(path, json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n")


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its own checksum: it tells a damaged file from a false one, and proves nothing."""
    bare = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read(path: Path) -> Certificate:
    """Reads a certificate file.

    Raises:
        InvalidInput: not a readable certificate of this version.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror or error}; give the path of a certificate file"
        ) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidInput(f"{path} is not JSON ({error}); write it again with verify --certificates") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a dpassay certificate; write one with verify --certificates")
    if content.get("version") != VERSION:
        raise InvalidInput(f"{path} has certificate version {content.get('version')}; this program reads {VERSION}")
    absent = [name for name in FIELDS if name not in content]
    if absent:
        raise InvalidInput(f"{path} lacks {', '.join(absent)}; write it again with verify --certificates")
    if content["sha256"] != checksum(content):
        raise InvalidInput(f"{path} was damaged (its checksum differs); write it again with verify --certificates")
    return Certificate.from_json(content)


def write_text(path: Path, text: str) -> None:
    """Writes a file through a temporary neighbor, so that a reader never meets half a file."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror or error}; choose a writable place") from error
