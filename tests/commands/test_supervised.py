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


def signaled(body, send, number=signal.SIGINT, setup=""):
    """Exit code and complaints of a program that is signaled, by `send`, once its command said a line, and the line."""
    program = f"{START}{setup}\ndef work():\n{textwrap.indent(body, '    ')}\nsys.exit(supervised(work))"
    command, pipe = [sys.executable, "-c", program], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        send(running.pid, number)
        _, complaint = running.communicate(timeout=30)
        return running.returncode, complaint, said


@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_ctrl_c_is_the_commands_own_whomever_it_reaches(send):
    body = """
try:
    print('ready', flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.5)  # a second one would break it off
    return 7
"""
    assert signaled(body, send)[:2] == (7, "")


@pytest.mark.parametrize(
    "body",
    [
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {2}); print('ready', flush=True); time.sleep(60)",
        """
import contextlib
print('ready', flush=True)
with contextlib.suppress(KeyboardInterrupt): time.sleep(60)
time.sleep(60)
""",
    ],
    ids=["hears nothing", "goes on"],
)
def test_ctrl_c_ends_what_does_not_end_itself(body):
    hurry = "from dpassay.runs import own_process; own_process._ENDED = 0.5"
    code, complaint, _ = signaled(body, os.kill, setup=hurry)
    assert code == 3
    assert complaint == "dpassay: interrupted: the mechanism's process did not end, and was ended\n"


def test_a_command_that_is_terminated_leaves_no_process():
    code, complaint, child = signaled("print(os.getpid(), flush=True); time.sleep(60)", os.kill, signal.SIGTERM)
    assert code == 2
    assert complaint == "dpassay: no verdict: this command was asked to end\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(child), 0)


@pytest.mark.parametrize("text", ["", "1", "a:b", "0:5", "inf:5", "1:2:3", "5:nan"])
def test_limits_are_two_numbers(text):
    with pytest.raises(InvalidInput, match="write SECONDS:MEGABYTES"):
        limit(text)


def test_limits_need_a_process_that_watches():
    with pytest.raises(InvalidInput, match="leave it out"):
        limit("600:8192")
    limit(None)
