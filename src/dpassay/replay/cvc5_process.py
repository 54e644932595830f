"""cvc5 in a process of its own: some of its procedures heed no time limit, so the limit is kept from outside."""

import atexit
import importlib.util

from dpassay.replay.worker import Ended, Worker, serve

_worker = Worker("from dpassay.replay.cvc5_process import answer_queries; answer_queries()")
atexit.register(_worker.stop)


def answer(query: str, seconds: float) -> str:
    """What cvc5 says to an SMT-LIB query: sat, unsat, unknown, or "(error ...)"; `unknown` when time runs out."""
    if importlib.util.find_spec("cvc5") is None:
        raise ModuleNotFoundError("No module named 'cvc5'", name="cvc5")  # the other process could not say so
    try:
        return str(_worker.ask(query, seconds))
    except Ended:
        return "unknown"


def answer_queries() -> None:
    """What the process does."""
    serve(_solve)


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
