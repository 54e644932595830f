"""However a mechanism ends its process, the command exits with 2 and one line, unless it handed an exit code over."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from dpassay.commands.supervised import limit
from dpassay.core.errors import InvalidInput

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")

START = "import ctypes, os, sys, time; from dpassay.commands.supervised import limit, supervised\n"


def ended(body, seconds=60):
    """Exit code and complaints of a program whose command is `body`."""
    program = f"{START}def work():\n{textwrap.indent(body, '    ')}\nsys.exit(supervised(work))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=seconds)
    return done.returncode, done.stderr


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_the_exit_code_of_the_command_is_handed_on(code):
    assert ended(f"return {code}") == (code, "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os._exit(0)", "ended its process with exit code 0"),
        ("os._exit(1)", "ended its process with exit code 1"),
        ("ctypes.string_at(0)", "ended by signal 11"),
        ("os.kill(os.getpid(), 9)", "as systems do that run out of memory"),
        ("limit('0.3:8000'); time.sleep(60)", "took more than 0.3 seconds"),
        ("limit('60:300'); keep = [bytearray(b'1' * (20 << 20)) for _ in range(100)]", "took more than 300 megabytes"),
    ],
)
def test_a_process_that_ends_without_an_exit_code_is_no_verdict(body, said):
    code, complaint = ended(body)
    assert code == 2
    assert said in complaint
    assert complaint.count("\n") == 1 or "Traceback" not in complaint


def test_threads_that_hang_do_not_keep_the_command():
    begin = time.monotonic()
    assert ended("import threading; threading.Thread(target=time.sleep, args=(1000,)).start(); return 0")[0] == 0
    assert time.monotonic() - begin < 30


def test_ctrl_c_is_the_commands_own():
    body = "try:\n    print('ready', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    return 3"
    program = f"{START}def work():\n{textwrap.indent(body, '    ')}\nsys.exit(supervised(work))"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(30) == 3


@pytest.mark.parametrize("text", ["", "1", "a:b", "0:5", "inf:5", "1:2:3", "5:nan"])
def test_limits_are_two_numbers(text):
    with pytest.raises(InvalidInput, match="write SECONDS:MEGABYTES"):
        limit(text)


def test_limits_need_a_process_that_watches():
    with pytest.raises(InvalidInput, match="leave it out"):
        limit("600:8192")
    limit(None)
