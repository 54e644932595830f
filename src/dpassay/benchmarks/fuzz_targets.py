"""What is fuzzed: loaders, certificates, the ledger, the command line, audits of odd callables, report writers."""

import contextlib
import copy
import functools
import gzip
import importlib
import io
import json
import math
import re
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import click
import numpy as np
from hypothesis import strategies as st

from dpassay.benchmarks.fuzzing import Broken, Target, clear
from dpassay.core.certificate import Certificate, checksum
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import find_claim
from dpassay.data.reading import Reading
from dpassay.replay import OUTCOMES, OWN, seal, seal_own
from dpassay.replay.budget import BudgetedReplay, Limits

MARK = "<script>alert(7)</script>"
TEXTS = ("", "\0", "\ud800", MARK, "]]>", "|\n|", "a\nb", "\x1b[2J", "nan", "1/0", "-1", "9" * 5000, "1e999", "é" * 300)
ODD: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(TEXTS),
    st.sampled_from([None, True, -1, 0, 1e308, 5e-324, 10**400, math.nan, math.inf, [], {}, [[]], {"": None}, [None]]),
    st.integers(-3, 300),
    st.floats(),
    st.text(max_size=20),
)
DELETED = ...
TOLD = ("claim", "statement", "kind", "result")
"""What the inputs of a certificate imply: no other may check with them."""
CLAIMS = {  # kind of certificate -> a claim that is soon judged and has one
    "kernel": "RC-T1-ii", "proof": "RC-T1-ii", "selection": "PP-T1-MU", "formula": "CD-T51-DET", "floating": "RC-EXE",
    "reproduction": "CD-RQ5", "witness": "DP-INF", "profile": "CD-T52-REP", "determinantal": "DP-EPS-REP",
    "law": "PP-SEC2",
}  # fmt: skip


def edited(content: Any) -> st.SearchStrategy[list[tuple[tuple[Any, ...], Any]]]:
    """Some edits of a JSON value: at a place odd content, or `DELETED`."""
    places = dict(_places(content))
    texts, numbers = [place for place, old in places.items() if isinstance(old, str)], st.integers(-9, 9) | st.floats()
    counted = [place for place, old in places.items() if isinstance(old, int | float)]
    edit = st.tuples(st.sampled_from(list(places)), ODD | st.just(DELETED))
    same_type = st.tuples(st.sampled_from(texts), st.sampled_from(TEXTS) | st.text())
    same_type |= st.tuples(st.sampled_from(counted or list(places)), numbers)
    return st.lists(same_type | edit, max_size=3)


def _places(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield (*place, key), value
        yield from _places(value, (*place, key))


def applied(content: Any, edits: list[tuple[tuple[Any, ...], Any]]) -> Any:
    """The value after the edits; one whose place an earlier one took is left out."""
    content = copy.deepcopy(content)
    for (*before, last), value in edits:
        with contextlib.suppress(LookupError, TypeError):
            inner = functools.reduce(lambda part, key: part[key], before, content)
            if not isinstance(inner, dict if isinstance(last, str) else list):
                continue
            if value is DELETED:
                del inner[last]
            else:
                inner[last] = copy.deepcopy(value)
    return content


@contextlib.contextmanager
def targets() -> Iterator[dict[str, Callable[[], Target]]]:
    """By name what makes each target; the process that checks certificates ends with the context."""
    with BudgetedReplay(Limits(10.0, 2048)) as recheck:
        kinds = (*CLAIMS, *OWN, "statistics")
        yield {
            "ratings": lambda: Target("ratings", _files(("table",)), _ratings),
            "datasets": lambda: Target("datasets", _pairs(), _datasets),
            "ledger": lambda: Target("ledger", st.lists(_operation(), min_size=1, max_size=12), _ledger),
            "commands": lambda: Target("commands", _words(), _command),
            "callables": lambda: Target("callables", _callables(), _callable),
            **{f"{name} reports": functools.partial(_report, name) for name in WRITERS},
            **{f"{kind} certificates": functools.partial(_certificates, kind, recheck) for kind in kinds},
        }


# Ratings and datasets

FIELDS = st.sampled_from([
    "1", "2", "3", "5", "0", "-1", "4.5", "nan", "inf", "1e400", "", '"', "a b", "é", "\0", "9" * 400, "1_0", "١", "ab",
]) | st.text(max_size=4)  # fmt: skip
HEADERS = (
    "user,item,rating", "user,item,rating", "user,item", "userId,movieId,rating,timestamp", "user,item,plays",
    "age,zip", "a,a", "",
)  # fmt: skip


def _files(unwanted: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Name, bytes, and how to read them."""
    good = st.tuples(*[st.sampled_from(["1", "2", "3", "a"])] * 2, st.sampled_from(["1", "2.5", "5"])).map(list)
    rows = st.lists(st.one_of(good, good, good, st.lists(FIELDS, min_size=1, max_size=4)), max_size=5)
    separators = st.sampled_from([",", "\t", "::", ";", " ", ","])
    text = st.builds(_text, st.sampled_from(HEADERS), rows, separators, st.sampled_from(["\n", "\r\n", "\r"]))
    numbers = st.lists(st.lists(st.sampled_from([1, 2, 3, 5, 4.5, None]), min_size=1, max_size=3), max_size=3)
    parallel = st.fixed_dictionaries({name: st.lists(ODD, max_size=3) for name in ("users", "items", "values")})
    values = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
    as_json = (numbers | parallel | values).map(lambda value: json.dumps(value).encode())
    arrays = st.sampled_from(
        [np.eye(3), np.ones((2, 0)), np.arange(4), np.array(5.0), np.array([[1, np.nan]]), np.array(["a"])]
    )
    raw = st.one_of(
        st.tuples(st.sampled_from([".csv", ".tsv", ".dat", ".data", ".inter", ".txt", ""]), text),
        st.tuples(st.just(".json"), as_json),
        st.tuples(st.just(".npy"), arrays.map(_npy)),
        st.tuples(st.just(".parquet"), _parquet()),
        st.tuples(st.sampled_from([".csv", ".json", ".npy", ".parquet"]), text | st.binary(max_size=40)),
    )
    packings = st.sampled_from(["", "", "", ".gz", ".zip"])
    damage = st.sampled_from([None, None]) | st.tuples(st.integers(0, 400), st.binary(max_size=3))
    scales = st.sampled_from([None, None, (1.0, 5.0), (0.0, 1.0), (5.0, 1.0), (math.nan, 1.0), (-math.inf, math.inf)])
    formats = st.sampled_from(
        [each for each in ("auto", "auto", "ratings", "implicit", "table") if each not in unwanted]
    )
    reading = st.builds(Reading, scales, formats, st.sampled_from(["error", "first", "last", "mean"]))
    return st.tuples(st.builds(_file, raw, packings, damage), st.just(Reading()) | reading)


def _pairs() -> st.SearchStrategy[tuple[Any, Any]]:
    """Two files, or one file twice."""
    return st.tuples(_files(()), _files(())) | _files(()).map(lambda file: (file, file))


def _text(header: str, rows: list[list[str]], separator: str, end: str) -> bytes:
    lines = [header.replace(",", separator)] * bool(header) + [separator.join(row) for row in rows]
    return end.join(lines).encode("utf-8", "surrogatepass")


def _npy(array: np.ndarray) -> bytes:
    np.save(file := io.BytesIO(), array)
    return file.getvalue()


def _parquet() -> st.SearchStrategy[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    def whole(column: list[Any]) -> bytes:
        table = pa.table({"user": [1, 2], "item": ["a", "b"], "rating": column})
        parquet.write_table(table, file := io.BytesIO())
        return file.getvalue()

    columns = ([1.0, 2.0], [None, 3.0], ["x", "y"], [math.inf, 1.0], [[1], [2]], [b"\xff", b""])
    return st.sampled_from([whole(column) for column in columns])


def _file(raw: tuple[str, bytes], packing: str, damage: tuple[int, bytes] | None) -> tuple[str, bytes]:
    suffix, data = raw
    if packing == ".gz":
        data = gzip.compress(data, mtime=0)
    elif packing == ".zip":
        with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
            archive.writestr(zipfile.ZipInfo(f"ratings{suffix}"), data)
        data = file.getvalue()
    return f"file{suffix}{packing}", data if damage is None else data[: damage[0]] + damage[1] + data[damage[0] + 1 :]


def _ratings(case: tuple[tuple[str, bytes], Reading], folder: Path) -> bool:
    from dpassay.data.rating_files import read_ratings

    (name, data), reading = case
    (folder / name).write_bytes(data)
    found = read_ratings(folder / name, reading)
    low, high = found.scale
    if not (
        len(found) and np.isfinite(found.values).all() and (found.values >= low).all() and (found.values <= high).all()
    ):
        raise Broken(f"unusable ratings were read: {found.values}, scale {found.scale}")
    return True


def _datasets(case: tuple[Any, Any], folder: Path) -> bool:
    from dpassay.data.dataset_files import read_dataset_pair

    paths = [folder / f"{number}{name}" for number, ((name, _), _) in enumerate(case)]
    for path, ((_, data), _) in zip(paths, case, strict=True):
        path.write_bytes(data)
    pair = read_dataset_pair(paths[0], paths[1], case[0][1])
    if any(each.value is None for each in pair):
        raise Broken("nothing was read")
    return True


# Certificates


@functools.cache
def _sealed(kind: str) -> Certificate:
    """A real certificate."""
    if kind in CLAIMS:
        from dpassay.core.claims import Context
        from dpassay.data.ratings import synthetic
        from dpassay.judging.judge import judge

        claim = find_claim(CLAIMS[kind])
        assert claim is not None
        return next(each for each in judge(claim, Context(synthetic())).certificates if each.kind == kind)
    if kind == "statistics":  # of a measurement on real ratings; what was counted here was not reviewed
        claim = find_claim("PP-L2")
        assert claim is not None
        counted = {"successes": 4, "trials": 943, "failure_probability": "1/100", "num_looks": 2}
        outcomes = {"holds": [">", "lower", "1/2"], "refuted": ["<", "upper", "1/2"]}
        return seal(claim.id, claim.statement, kind, {**counted, "outcomes": outcomes, "description": "of 943 drawn"})
    from dpassay.benchmarks import fuzz_certificates

    return seal_own(kind, getattr(fuzz_certificates, kind)())


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True)


def _certificates(kind: str, recheck: BudgetedReplay) -> Target:
    sealed = json.loads(json.dumps(_sealed(kind).to_json()))

    def answer(case: tuple[list[Any], bool], folder: Path) -> bool:
        edits, summed = case
        content = applied(sealed, edits)
        summed = summed and isinstance(content, dict)
        path = folder / "certificate.json"
        path.write_text(json.dumps({**content, "sha256": checksum(content)} if summed else content), "utf-8")
        found = recheck(path)
        if found.checks:
            if found.outcome not in (*OUTCOMES, "note"):
                raise Broken(f"{found.outcome!r} is no outcome")
            other = [name for name in TOLD if _canonical(content[name]) != _canonical(sealed[name])]
            if other and _canonical(content["inputs"]) == _canonical(sealed["inputs"]):
                raise Broken(f"it checks with another {other[0]}: {content[other[0]]!r}")
            return True
        clear(found.reason or " ")
        return False

    return Target(f"{kind} certificates", st.tuples(edited(sealed), st.sampled_from([True, True, True, False])), answer)


# The ledger


def _operation() -> st.SearchStrategy[Any]:
    few, texts = st.integers(0, 3), st.sampled_from(["a", "b", "", "é\0", "'; DROP TABLE runs"])
    numbers = st.sampled_from([0.0, 1.5, -2.0, -math.inf, math.inf, math.nan, 1e3])
    grids = st.sampled_from([[0.5, 1.0], [0.5], [], [math.nan, 1.0], [[1.0]]])
    return st.one_of(
        st.tuples(st.just("begin"), texts, texts, grids),
        st.tuples(st.just("commit"), few, st.lists(numbers, min_size=1, max_size=2), st.integers(-1, 100), texts),
        st.tuples(st.just("enroll"), st.dictionaries(texts, st.sampled_from([None, 0.5, 0.1, 0.9, 1.0]), max_size=3)),
        st.tuples(st.just("damage"), st.integers(0, 60_000), st.binary(min_size=1, max_size=4)),
    )  # fmt: skip


def _ledger(case: list[Any], folder: Path) -> bool:
    """Runs the operations on the file and on a model of it: what the ledger says is what was recorded, or nothing."""
    from dpassay.auditors.ledger import Ledger

    path, refused = folder / "ledger.db", 0
    runs: list[tuple[Any, tuple[Any, ...]]] = []
    recorded: dict[int, np.ndarray] = {}
    shares: dict[str, float] = {}

    def evidence(hypothesis: tuple[Any, ...], size: int, beside: int = -1) -> np.ndarray:
        ours = (v for n, v in recorded.items() if runs[n][1] == hypothesis and n != beside)
        return sum(ours, np.zeros(size))

    for operation, *given in case:
        try:
            if operation == "begin":
                name, fingerprint, grid = given
                run = Ledger(path).begin(name, fingerprint, grid)
                runs.append((run, (name, fingerprint, str(grid))))
                said, known = run.past, evidence(runs[-1][1], run.size)
            elif operation == "commit" and runs:
                number, log_e, samples, stamp = given
                number %= len(runs)
                run, hypothesis = runs[number]
                said = run.commit(log_e, samples, f"{hypothesis}/{number}/{stamp}" if stamp else "")
                recorded[number] = np.asarray(log_e, float)
                known = evidence(hypothesis, run.size)
            elif operation == "enroll":
                got = Ledger(path).enroll(given[0])
                if any(shares.get(name, share) != share for name, share in got.items()):
                    raise Broken(f"shares moved: {shares}, {got}")
                shares |= got
                said, known = np.zeros(1), np.zeros(1)
                if math.fsum(shares.values()) > 1 + 1e-9 or any(not 0 < share <= 1 for share in got.values()):
                    raise Broken(f"shares are {shares}")
            elif operation == "damage" and path.exists():
                data = path.read_bytes()
                place = given[0] % (len(data) + 1)
                path.write_bytes(data[:place] + given[1] + data[place + len(given[1]) :])
                continue
            else:
                continue
        except InvalidInput as error:
            clear(str(error))
            refused += 1
            continue
        if not np.allclose(said, known, equal_nan=True):
            raise Broken(f"the ledger says {said}, recorded were {known}")
    return not refused


# The command line

JUNK = {
    "verify": ["--claim", "NO-SUCH"], "audit": ["no.module:name"], "search": ["no.module:name"],
    "prove": ["no.module:name"], "scan": ["no_such_package"], "lint": ["no/such/module.py"],
    "attack": ["--data", "no/such/ratings.csv"], "experiment": ["no-such"], "replay": ["no/such.json"],
    "bench": ["no-such"],
}  # fmt: skip
"""What makes each command's input bad whatever else is said."""
VALUES = (
    "", "-1", "0", "1", "1e400", "x", "1:2", "a:b", ":", "1:", "no/such/folder/file.json", ".", "é\n", "\x1b[2J",
    "9" * 400, "NaN", "--", "/dev/null",
)  # fmt: skip


def _command_line() -> Any:
    """The module of the whole command line, which is above this one and is what runs it."""
    return importlib.import_module("dpassay.commands.main")


def _words() -> st.SearchStrategy[list[str]]:
    commands = _command_line().commands
    context = click.Context(commands)
    named: dict[tuple[str, ...], click.Command] = {
        (name,): command for name, command in commands.commands.items() if not isinstance(command, click.Group)
    }
    attacks = commands.commands["attack"]
    assert isinstance(attacks, click.Group)
    for name in attacks.list_commands(context):
        command = attacks.get_command(context, name)
        assert command is not None
        named["attack", name] = command
    return st.one_of([_words_of(names, command) for names, command in named.items()])


def _words_of(names: tuple[str, ...], command: click.Command) -> st.SearchStrategy[list[str]]:
    options = [each for each in command.params if isinstance(each, click.Option)]
    values = st.sampled_from(VALUES) | st.text(max_size=5).filter(lambda text: "\0" not in text)  # no argument has one

    def words(option: click.Option) -> st.SearchStrategy[list[str]]:
        flag = st.just(option.opts[0])
        choices = list(getattr(option.type, "choices", ()))
        chosen = values | st.sampled_from(list(map(str, choices))) if choices else values
        return flag.map(lambda word: [word]) if option.is_flag else st.tuples(flag, chosen).map(list)

    some = st.lists(st.sampled_from(options).flatmap(words), max_size=4)
    stray = st.lists(values, max_size=1)
    return st.tuples(some, stray).map(
        lambda drawn: [*names, *JUNK[names[0]], *(word for each in drawn[0] for word in each), *drawn[1]]
    )


class _Captured(io.StringIO):
    """Standard error of this thread; others, such as the one that tells our own progress, write where they wrote."""

    def __init__(self) -> None:
        super().__init__()
        self._owner, self._others = threading.get_ident(), sys.stderr

    def write(self, text: str) -> int:
        """Keeps the text, or hands it on."""
        return super().write(text) if threading.get_ident() == self._owner else self._others.write(text)


def _called(words: list[str], folder: Path) -> tuple[int, str, list[str]]:
    """Exit code, standard output, and lines of standard error of the command line run in a folder."""
    out, err, path = io.StringIO(), _Captured(), list(sys.path)
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = _command_line().main(words)
    finally:
        sys.path[:] = path
    return code, out.getvalue(), err.getvalue().splitlines()


def _command(case: list[str], folder: Path) -> bool:
    code, out, err = _called(case, folder)
    if code != 2 or not err or (out and case[0] != "replay"):
        raise Broken(f"exit code {code}, printed {out[-200:]!r}, {err[-3:]}")
    if not all(line.startswith("dpassay: ") for line in err) or (len(err) > 1 and case[0] != "replay"):
        raise Broken(f"not one line that begins with our name: {err[-3:]}")
    for line in err:
        clear(line)
    if left := [each.name for each in folder.iterdir()]:
        raise Broken(f"it left {left}")
    return False


# Audits of odd callables

OUTPUTS = (
    "None", "1", "1.5", "True", "float('nan')", "float('inf')", "10**400", "-0.0", "'a'", "'\\ud800'", "b'\\xff'", "()",
    "[]", "(1, (2, 'a'))", "{'a': float('nan')}", "{1: 2, 'b': None}", "{1, 2}", "1j", "object()", "(x for x in ())",
    "lambda: 0", "np.zeros(0)", "np.zeros((2, 3))", "np.array(['a', None], object)", "np.datetime64('NaT')",
    "np.array([1j])", "np.ma.masked", "type", "Exception('a')", "range(3)", "[1, [2, 3]]", "np.float16(1)",
    "np.zeros((), 'V4')", "'" + MARK + "'", "...",
)  # fmt: skip
RAISED = (
    "", "", "", "ValueError('a\\nb')", "KeyError(1)", "SystemExit(0)", "StopIteration()", "MemoryError()",
    "RecursionError()", "GeneratorExit()", "Exception()", "ZeroDivisionError", "InvalidInput('a\\nb')",
)  # fmt: skip
FILES = ("a.json", "a.sarif", "a.xml", "a.html")
_case: dict[str, Any] = {}


def _callables() -> st.SearchStrategy[dict[str, Any]]:
    outputs = st.lists(st.sampled_from(OUTPUTS), min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {
            "outputs": outputs,
            "raises": st.sampled_from(RAISED),
            "from_call": st.integers(0, 40),
            "mutates": st.booleans(),
            "representation": st.sampled_from(["values", "values", "bits"]),
            "samples": st.sampled_from(["200", "200", "200", "16", "0"]),
        }
    )


def odd(rng: np.random.Generator, dataset: Any) -> Any:
    """The mechanism of the case at hand; its law is the same on both datasets."""
    _case["calls"] += 1
    if _case["mutates"]:
        dataset[:] = 0
    if _case["raises"] and _case["calls"] > _case["from_call"]:
        raise eval(_case["raises"])
    return eval(_case["outputs"][rng.integers(len(_case["outputs"]))])


def _callable(case: dict[str, Any], folder: Path) -> bool:
    _case.clear()
    _case.update(case, calls=0)
    for name, content in (("1.json", "[1.0, 2.0]"), ("2.json", "[1.0, 3.0]")):
        (folder / name).write_text(content)
    words = ["audit", f"{__name__}:odd", "--dataset1", "1.json", "--dataset2", "2.json", "--epsilon", "1"]
    words += ["--num-samples", case["samples"], "--representation", case["representation"]]
    words += ["--failure-probability", "1e-9"]
    for name, option in zip(FILES, ("--json", "--sarif", "--junit", "--html"), strict=True):
        words += [option, name]
    code, out, err = _called(words, folder)
    left = sorted(each.name for each in folder.iterdir() if each.name not in ("1.json", "2.json"))
    if code == 2 and not left:
        if len(err) != 1:
            raise Broken(f"not one line: {err[-3:]}")
        clear(err[0])
        return False
    if left != sorted(FILES) or not out.strip():
        raise Broken(f"exit code {code}, files {left}, {err[-3:]}")
    outcome = json.loads((folder / "a.json").read_text())["verdict"]["outcome"]
    if (outcome, code) not in (("not refuted", 0), ("open", 2)):
        raise Broken(f"exit code {code}, verdict {outcome}")
    for name in FILES:
        _whole(name, (folder / name).read_text(encoding="utf-8"))
    return True


# Report writers


def _no_number(text: str) -> float:
    raise Broken(f"{text} is no JSON")


def _whole(name: str, text: str) -> None:
    """Refuses a file that is cut off, is none of its kind, or lets what it quotes run."""
    if name.endswith((".json", ".sarif")):
        json.loads(text, parse_constant=_no_number)
    elif name.endswith(".xml"):
        ET.fromstring(text)
    elif (
        not text.strip()
        or (MARK in (_prose(text) if name.endswith(".md") else text) and not name.endswith(".txt"))
        or (name.endswith(".html") and not text.rstrip().endswith("</html>"))
    ):
        raise Broken(f"{name} is not whole, or what it quotes is run: {text[-100:]!r}")


def _prose(markdown: str) -> str:
    """The text without code, in which nothing runs."""
    return re.sub(r"^(`{3,}).*?^\1$|`[^`\n]*`", "", markdown, flags=re.DOTALL | re.MULTILINE)


def _audit_files(content: Mapping[str, Any]) -> dict[str, str]:
    from dpassay.report import audit_html, audit_text, junit, sarif, schema

    (audit,) = schema.validate_audits(content)
    return {
        "a.txt": audit_text.plain_text(audit), "a.sarif": json.dumps(sarif.to_sarif(audit)),
        "a.xml": junit.to_junit(audit), "a.html": audit_html.render_audits(audit),
    }  # fmt: skip


def _verdict_files(content: Mapping[str, Any]) -> dict[str, str]:
    from dpassay.report import html, markdown, schema

    run = schema.validate_run(content)
    pages = {f"{name}.md": page for name, page in markdown.pages(run).items()}
    return {"a.html": html.render(run), "index.md": markdown.index(run), "map.md": markdown.mapping(run), **pages}


def _attack_files(content: Mapping[str, Any]) -> dict[str, str]:
    from dpassay.report import attack_html, sarif, schema

    attack = schema.validate_attack(content)
    return {"a.html": attack_html.render_attack(attack), "a.sarif": json.dumps(sarif.attack_to_sarif(attack))}


def _proof_files(content: Mapping[str, Any]) -> dict[str, str]:
    from dpassay.report import proof_html, schema

    return {"a.html": proof_html.render_proof(schema.validate_proof(content))}


WRITERS = {"audit": _audit_files, "verdict": _verdict_files, "attack": _attack_files, "proof": _proof_files}


def _report(name: str) -> Target:
    from dpassay.benchmarks import fuzz_certificates

    content = json.loads(json.dumps(getattr(fuzz_certificates, f"{name}_report")()))

    def answer(case: list[Any], folder: Path) -> bool:
        for file, text in WRITERS[name](applied(content, case)).items():
            _whole(file, text)
        return True

    return Target(f"{name} reports", edited(content), answer)
