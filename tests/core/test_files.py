"""Files are written whole or not at all, and what is no ordinary file stays what it is."""

import os
import select
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpassay.core.errors import InvalidInput
from dpassay.core.files import check_writable, check_writable_folder, write_file


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_new_files_obey_the_umask_and_old_ones_keep_mode_and_owner(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "new", "é\n")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == "é\n".encode()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    old = tmp_path / "old"
    old.touch()
    old.chmod(0o604)
    if os.geteuid() == 0:
        os.chown(old, 1234, 4321)
    owner = old.stat().st_uid, old.stat().st_gid
    write_file(old, b"\0\xff")
    assert old.read_bytes() == b"\0\xff"
    assert stat.S_IMODE(old.stat().st_mode) == 0o604
    assert (old.stat().st_uid, old.stat().st_gid) == owner
    assert names(tmp_path) == ["new", "old"]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far/file").write_text("old")
    (tmp_path / "link").symlink_to("far/file")
    (tmp_path / "far/second").symlink_to("../link")
    (tmp_path / "dangling").symlink_to("far/new")
    write_file(tmp_path / "far/second", "through two links")
    write_file(tmp_path / "dangling", "new")
    assert (tmp_path / "far/file").read_text() == "through two links"
    assert (tmp_path / "far/new").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    (tmp_path / "loop").symlink_to("loop")
    for attempt in (check_writable, lambda path: write_file(path, "")):
        with pytest.raises(InvalidInput, match=r"cannot write .*loop: .*links"):
            attempt(tmp_path / "loop")


@pytest.fixture
def unusable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Places where no file may be put, and none could be."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_text("kept")
    with socket.socket(socket.AF_UNIX) as door:
        monkeypatch.chdir(tmp_path)  # a socket's path may not be long
        door.bind("socket")
    return {
        "folder": tmp_path / "folder",
        "socket": tmp_path / "socket",
        "in a file": tmp_path / "folder/file/new",
        "long": tmp_path / ("n" * 300),
        "NUL": tmp_path / "a\0b",
    }


@pytest.mark.parametrize("place", ["folder", "socket", "in a file", "long", "NUL"])
def test_what_cannot_be_written_is_refused_before_and_after(
    unusable: dict[str, Path], place: str, tmp_path: Path
) -> None:
    before = names(tmp_path)
    for attempt in (check_writable, lambda path: write_file(path, "new")):
        with pytest.raises(InvalidInput, match=r"(?s)^cannot write .*choose a writable place"):
            attempt(unusable[place])
    assert names(tmp_path) == before
    assert (tmp_path / "folder/file").read_text() == "kept"


def test_a_trial_leaves_everything_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    old = file.stat()
    check_writable(file)
    check_writable(tmp_path / "new")
    check_writable_folder(tmp_path / "to/be/made")
    assert names(tmp_path) == ["file"]
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (old.st_ino, old.st_mtime_ns)
    with pytest.raises(InvalidInput, match="no folder"):
        check_writable(tmp_path / "absent/new")
    with pytest.raises(InvalidInput, match="file is no folder"):
        check_writable_folder(file / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_what_may_not_be_written_is_refused_before(tmp_path: Path) -> None:
    (tmp_path / "file").touch(mode=0o444)
    (tmp_path / "folder").mkdir(mode=0o555)
    for path in (tmp_path / "file", tmp_path / "folder/new"):
        with pytest.raises(InvalidInput, match="cannot write"):
            check_writable(path)


def test_devices_are_written_to_and_stay_devices(tmp_path: Path) -> None:
    for name, minor in (("null", 3), ("full", 7)):
        try:
            os.mknod(tmp_path / name, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        except PermissionError:
            pytest.skip("only root makes devices")
    write_file(tmp_path / "null", "gone")
    check_writable(tmp_path / "full")
    with pytest.raises(InvalidInput, match="No space left"):
        write_file(tmp_path / "full", "gone")
    (tmp_path / "link").symlink_to("full")
    with pytest.raises(InvalidInput, match="No space left"):
        write_file(tmp_path / "link", "gone")
    assert all(stat.S_ISCHR((tmp_path / name).stat().st_mode) for name in ("null", "full", "link"))
    assert names(tmp_path) == ["full", "link", "null"]


def test_a_pipe_is_written_to_when_somebody_reads_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)
    with pytest.raises(InvalidInput, match="nobody reads the pipe"):
        write_file(pipe, "unread")
    reader = os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    os.set_blocking(reader.fileno(), True)
    check_writable(pipe)  # must not look like the end to the reader
    content = "x" * 300_000
    with ThreadPoolExecutor() as pool, reader:
        writing = pool.submit(write_file, pipe, content)
        while not select.select([reader], [], [], 1)[0]:
            assert not writing.done()
        assert reader.read() == content
        writing.result()
    assert pipe.is_fifo()


STDOUT = """
import os
from pathlib import Path
from dpassay.core.files import check_writable, write_file
print("before", flush=False)
check_writable(Path("/dev/stdout"))
write_file(Path("/dev/stdout"), "written\\n")
print("after")
"""


@pytest.mark.parametrize("to", ["file", "pipe"])
def test_standard_output_is_written_in_its_place(tmp_path: Path, to: str) -> None:
    path = tmp_path / "out"
    with path.open("w") as file:
        done = subprocess.run(
            [sys.executable, "-c", STDOUT], stdout=file if to == "file" else subprocess.PIPE, text=True, check=True
        )
    assert (path.read_text() if to == "file" else done.stdout) == "before\nwritten\nafter\n"
    assert names(tmp_path) == ["out"]


WRITER = """
import sys
from pathlib import Path
from dpassay.core.files import write_file
for number in range(150):
    write_file(Path(sys.argv[1]), sys.argv[2] * (10_000 + number))
"""


def test_two_writers_and_a_reader_meet_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, "a" * 10_000)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, letter]) for letter in "abc"]
    reads = 0
    while any(each.poll() is None for each in writers):
        text = path.read_text()
        reads += 1
        assert len(text) >= 10_000
        assert text == text[0] * len(text)
    assert [each.wait() for each in writers] == [0, 0, 0]
    assert reads > 10
    assert names(tmp_path) == ["file"]


SMALL_DISK = """
import resource, signal, sys
from pathlib import Path
from dpassay.core.files import write_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # stands for a full disk: the write breaks off
write_file(Path(sys.argv[1]), "n" * 200_000)
"""


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", SMALL_DISK, path], capture_output=True, text=True, check=False)
    assert "InvalidInput: cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]
