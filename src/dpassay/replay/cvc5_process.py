"""cvc5 in a process of its own: some of its procedures heed no time limit, so the limit is kept from outside.

One process answers query after query; one that runs out of time is killed, and the next query starts another.
"""

import atexit
import importlib.util
import json
import subprocess
import sys
import threading

COMMAND = [sys.executable, "-c", "from dpassay.replay.cvc5_process import _serve; _serve()"]

_running: list[subprocess.Popen[str]] = []


def answer(query: str, seconds: float) -> str:
    """What cvc5 says to an SMT-LIB query: sat, unsat, unknown, or "(error ...)"; `unknown` when time runs out."""
    process = _process()
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        process.stdin.write(json.dumps(query) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    finally:
        timer.cancel()
    if not line:
        _stop()
        return "unknown"
    return str(json.loads(line))


def _process() -> subprocess.Popen[str]:
    if _running and _running[0].poll() is not None:  # killed just after its last answer
        _stop()
    if not _running and importlib.util.find_spec("cvc5") is None:
        raise ModuleNotFoundError("No module named 'cvc5'", name="cvc5")  # the other process could not say so
    if not _running:
        _running.append(subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    return _running[0]


@atexit.register
def _stop() -> None:
    while _running:
        process = _running.pop()
        process.kill()
        process.communicate()


def _serve() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_solve(json.loads(line))) + "\n")
        sys.stdout.flush()


def _solve(query: str) -> str:
    import cvc5

    solver = cvc5.Solver()
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, query, "query")
    manager = parser.getSymbolManager()
    result = "unknown"
    try:
        while not (command := parser.nextCommand()).isNull():
            output = str(command.invoke(solver, manager)).strip()
            if output.startswith("(error"):
                return output
            result = output or result
    except (RuntimeError, ValueError) as error:
        return f"(error {error})"
    return result
