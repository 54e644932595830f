"""Files that commands write: whole or not at all, and never in place of what is no ordinary file."""

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dpassay.core.errors import InvalidInput

STANDARD_STREAMS = (1, 2)  # the descriptors of standard output and standard error


def write_file(path: Path, content: str | bytes) -> None:
    """Writes a file; whatever breaks off, fills the disk or writes at the same time, its readers see it whole.

    A link is followed, the owner and the mode of a file that is there are kept, a missing folder is made. A pipe, a
    terminal or another character device is written to and stays what it is.

    Args:
        path: of the file.
        content: bytes, or text, which is written in UTF-8 (what UTF-8 cannot hold as an escape).

    Raises:
        InvalidInput: it cannot be written, is a folder, a socket or a disk, or nobody reads the pipe.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with _explained(path):
        if is_stream(path):
            with os.fdopen(_open_stream(path), "wb") as file:
                file.write(data)
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        with _temporary(target) as (temporary, file):
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(target)


def check_writable(path: Path) -> None:
    """Tries whether `write_file` could write a file in a folder that is there, and leaves everything as it is.

    Raises:
        InvalidInput: it could not.
    """
    with _explained(path):
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(None, "it may not be written to")
        if is_stream(path):
            return
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise FileNotFoundError(None, f"no folder {target.parent}")
        with _temporary(target):
            pass


def check_writable_folder(path: Path) -> None:
    """Tries whether files could be written in a folder, made if need be, and leaves everything as it is.

    Raises:
        InvalidInput: they could not.
    """
    with _explained(path):
        there = next(each for each in (path.absolute(), *path.absolute().parents) if os.path.lexists(each))
        if not there.is_dir():
            raise NotADirectoryError(None, f"{there} is no folder")
        with _temporary(there / "file"):
            pass


def is_stream(path: Path) -> bool:
    """Whether what lies at a path takes bytes as they come: standard output, a pipe, a terminal, /dev/null.

    Raises:
        InvalidInput: neither that nor an ordinary file may lie there.
    """
    with _explained(path):
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        if _own_stream(status) is not None or stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode):
            return True
        if not stat.S_ISREG(status.st_mode):
            kinds = {stat.S_IFDIR: "a folder", stat.S_IFBLK: "a disk", stat.S_IFSOCK: "a socket"}
            raise OSError(None, f"it is {kinds.get(stat.S_IFMT(status.st_mode), 'no ordinary file')}")
        return False


def _own_stream(status: os.stat_result) -> int | None:
    """The standard stream that a file is: `> out --json /dev/stdout` must go on in `out`, not replace it."""
    for descriptor in STANDARD_STREAMS:
        with contextlib.suppress(OSError):  # closed
            if os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
    return None


def _open_stream(path: Path) -> int:
    own = _own_stream(path.stat())
    if own is not None:
        sys.stdout.flush()
        return os.dup(own)
    try:
        opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)  # waiting for a reader could take forever
    except OSError as error:
        if error.errno == errno.ENXIO and path.is_fifo():
            raise OSError(error.errno, "nobody reads the pipe") from None
        raise
    os.set_blocking(opened, True)
    return opened


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file beside the target, with the owner and the mode it will have; gone at the end unless it was moved."""
    temporary = target.with_name(f".dpassay-{secrets.token_hex(8)}.part")
    old = target.stat() if target.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(temporary, flags, 0o666 if old is None else 0o600), "wb") as file:
        try:
            if old is not None:
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            yield temporary, file
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:  # a ValueError for a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"cannot write {path}: {reason}; choose a writable place") from error
