"""Work in a process of its own: its result, its errors with their place, and how it ended otherwise."""

import os
import subprocess
import sys
import textwrap

import pytest

from dpassay.runs.own_process import UNLIMITED, limit

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")

START = """
import os, time
from dpassay.core.errors import InvalidInput
from dpassay.runs.own_process import Limits, NoResult, can_fork, in_own_process, limit

class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(first)

def tried(work, *limits):
    try:
        return repr(in_own_process(work, *limits))
    except Exception as error:
        return " ".join([type(error).__name__, str(error), *getattr(error, "__notes__", [])])
"""


def said(body):
    """What a program prints, which may fork since it has no threads."""
    program = START + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    return done.stdout


def test_results_and_errors_come_back():
    shown = said("""
        def fails(): raise KeyError("place")
        def fails_on(): raise InvalidInput("one line")
        def caused():
            try: fails()
            except KeyError as error: raise InvalidInput("one line") from error
        def odd(): raise Odd(1, 2)
        print(len(tried(lambda: "x" * 3_000_000)))
        for work in (fails, fails_on, caused, odd, lambda: lambda: 0):
            print(tried(work).replace(chr(10), " "))
    """).splitlines()
    assert shown[0] == "3000002"
    assert shown[1].startswith("KeyError 'place' Traceback")
    assert shown[2] == "InvalidInput one line"
    assert shown[3].startswith("InvalidInput one line Traceback")
    assert shown[3].endswith("KeyError: 'place'")
    assert all("in fails" in shown[at] for at in (1, 3))
    assert shown[4].startswith("TypeError Odd(1)")
    assert shown[5].startswith("TypeError <function")


def test_a_process_whose_own_children_live_on_has_ended():
    shown = said("""
        def leaves_a_child():
            if os.fork() == 0:
                os.closerange(0, 3)
                time.sleep(20)
            os._exit(7)
        begin = time.monotonic()
        print(tried(leaves_a_child), time.monotonic() - begin < 15)
    """)
    assert shown == "NoResult code that the mechanism runs ended its process with exit code 7 True\n"


def test_what_is_given_up_is_ended():
    shown = said("""
        def hangs():
            print(os.getpid(), flush=True)
            time.sleep(60)
        print(tried(hangs, Limits(0.2, 4000, "--isolate")))
    """).splitlines()
    assert "took more than 0.2 seconds" in shown[1]
    with pytest.raises(ProcessLookupError):
        os.kill(int(shown[0]), 0)


def test_it_ends_with_the_process_that_watches():
    shown = said("""
        if os.fork() == 0:
            tried(lambda: (print(os.getpid(), flush=True), os.kill(os.getppid(), 9), time.sleep(100)))
        os.wait()
    """)  # returns when nobody holds the pipe any more
    assert int(shown) > 0


def test_nobody_watches_this_process():
    assert not limit(UNLIMITED)


def test_a_process_in_which_jax_has_computed_cannot_be_forked():
    shown = said("""
        import jax
        print(can_fork())
        jax.numpy.zeros(1)
        print(can_fork())
    """)
    assert shown == "True\nFalse\n"
