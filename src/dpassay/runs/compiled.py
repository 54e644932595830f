"""Compiled JAX programs, kept between runs in a folder of ours that is whole, small and its owner's alone.

JAX can keep programs itself, but it writes an entry in place: a process that reads meanwhile meets half of it, and one
that is killed leaves it for ever. Here a run has a folder of its own, which begins with links to the shared entries,
and what it adds is moved to them when it ends as it should. A run that is killed adds nothing.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpassay.runs.kept import cache_folder

LIMIT = 256 * 2**20
"""Bytes of shared entries; the oldest go first."""

_ABANDONED = 7 * 24 * 3600.0  # seconds after which a run's folder is that of a run that was killed
_ENTRIES = "*-cache"
_SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,  # most of our programs compile in milliseconds, and are many
    "jax_persistent_cache_min_entry_size_bytes": -1,
    "jax_persistent_cache_enable_xla_caches": "none",  # they put the folder's name into the programs' keys
}


@contextlib.contextmanager
def kept_programs(limit: int = LIMIT) -> Iterator[None]:
    """Programs that are compiled in the context are kept, and those kept are not compiled again.

    Processes that are started in the context use them, too. Nothing is kept where the user has told JAX what to do
    (`JAX_COMPILATION_CACHE_DIR`, `JAX_ENABLE_COMPILATION_CACHE=false`), or where the folder cannot be written, or by
    others as well. What is computed does not depend on it.

    Args:
        limit: bytes of programs that are left when the context ends.
    """
    shared = None if _decided() else _shared()
    if shared is None:
        yield
        return
    own = Path(tempfile.mkdtemp(prefix="run-", dir=shared))
    try:
        for entry in shared.glob(_ENTRIES):
            with contextlib.suppress(OSError):  # another run has just deleted it, or links are not to be had
                os.link(entry, own / entry.name)
        with _told(own):
            yield
        for entry in own.glob(_ENTRIES):
            with contextlib.suppress(OSError):  # another run was first
                os.link(entry, shared / entry.name)
        _shrink(shared, limit)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def folder() -> Path:
    """Where programs are kept for machines like this one: compiled code may use whatever its processor can do."""
    features = f"{platform.machine()} {platform.processor()}"
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features += next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return cache_folder() / "programs" / hashlib.sha256(features.encode()).hexdigest()[:16]


def _decided() -> bool:
    """Whether the user has told JAX what to keep, or a process that started this one has."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ or os.environ.get("JAX_ENABLE_COMPILATION_CACHE"):
        return True
    jax = sys.modules.get("jax")
    return jax is not None and jax.config.jax_compilation_cache_dir is not None


def _shared() -> Path | None:
    """The folder of shared entries; None where it cannot be used or anybody else could write to it."""
    try:
        shared = folder()
        shared.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = shared.stat()
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            return None
        for run in shared.glob("run-*"):
            if run.stat().st_mtime < time.time() - _ABANDONED:
                shutil.rmtree(run, ignore_errors=True)
        return shared if os.access(shared, os.W_OK) else None
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None


@contextlib.contextmanager
def _told(own: Path) -> Iterator[None]:
    """JAX is told of a folder: by its variables where it is not imported yet, and in processes that start now."""
    settings = {"jax_compilation_cache_dir": str(own), **_SETTINGS}
    os.environ.update({name.upper(): str(value) for name, value in settings.items()})
    _set(settings)
    try:
        yield
    finally:
        for name in settings:
            os.environ.pop(name.upper(), None)
        _set({"jax_compilation_cache_dir": None})  # the folder goes


def _set(settings: Mapping[str, Any]) -> None:
    """Of a JAX that is imported already."""
    if (jax := sys.modules.get("jax")) is not None:
        from jax.experimental.compilation_cache import compilation_cache

        for name, value in settings.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


def _shrink(shared: Path, limit: int) -> None:
    """Deletes the oldest entries until at most `limit` bytes are left."""
    entries = []
    for entry in shared.glob(_ENTRIES):
        with contextlib.suppress(OSError):
            entries.append((entry.stat().st_mtime, entry.stat().st_size, entry))
    total = sum(size for _, size, _ in entries)
    for _, size, entry in sorted(entries):
        if total <= limit:
            return
        with contextlib.suppress(OSError):
            entry.unlink()
        total -= size
