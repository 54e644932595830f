"""Pytest plugin: audits as tests, with one false-alarm rate for the whole session.

Three lines make a test:

    from dpassay.pytest_plugin import assert_private

    def test_release_is_private():
        assert_private(release, dataset, neighbor, epsilon=1.0)

The session's failure probability (--dp-failure-probability, 0.01 by default) is split over the collected tests that use
audits; in one test the j-th audit has the share 1/(j(j+1)). By the union bound a session over sound mechanisms shows
any red with at most that probability, however many tests it has and whichever processes run them. With a ledger
(--dp-ledger) the shares are fixed for the ledger's life (`Ledger.enroll`) and evidence adds up: the bound holds for all
sessions together, and what was refuted stays red until its code changes.

This module is imported in every pytest session where dpassay is installed: it must stay cheap, and silent unless used.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import pytest

from dpassay.core.errors import InvalidInput
from dpassay.core.files import check_writable, write_file
from dpassay.core.text import rounded_up, several
from dpassay.runs.compiled import kept_programs
from dpassay.runs.own_process import Limits, NoResult, can_fork, in_own_process

if TYPE_CHECKING:
    from dpassay.core.claims import Verdict
    from dpassay.core.privacy import PrivacyClaim

__all__ = ["PrivacyViolated", "Undecided", "assert_private", "assert_proved"]

FAILURE_PROBABILITY = 0.01  # of a whole session
OPTIONS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "failure-probability": (float, f"of any false alarm in the whole session (default {FAILURE_PROBABILITY})"),
    "ledger": (Path, "SQLite file in which the evidence of sessions adds up; keep it between runs"),
    "num-samples": (int, "samples per dataset and audit, instead of a time limit"),
    "time-limit": (float, "seconds per audit (default 10; 20 where pairs are searched for)"),
    "seed": (int, "of everything random in audits (default 0)"),
    "require-power": (float, "turn audits red that would not have caught this epsilon (nats) with probability 0.9"),
    "isolate": (str, "SECONDS:MEGABYTES: audit in processes of their own, which are ended when they take more"),
    "report": (Path, "folder for audits.json, audits.sarif and audits.xml (JUnit)"),
}
MARKER = (
    "dp(failure_probability=None, num_samples=None, time_limit=None): a privacy test, with a share of the session's "
    "failure probability of its own, or another budget than the options'"
)


class PrivacyViolated(AssertionError):
    """A privacy claim was refuted. The message says by what evidence, and how to see it again."""


class Undecided(AssertionError):
    """Nothing was decided, or too little would have been caught. The message says why, and what to do."""


@dataclass(frozen=True)
class Settings:
    """The options of one session, from the command line or else the ini file."""

    failure_probability: float = FAILURE_PROBABILITY
    ledger: Path | None = None
    num_samples: int | None = None
    time_limit: float | None = None
    seed: int = 0
    require_power: float | None = None
    isolate: Limits | None = None
    report: Path | None = None


@dataclass(eq=False)  # pytest keeps plugins in sets
class Session:
    """What the plugin knows of one session; in xdist each worker and the controller have their own."""

    settings: Settings
    shares: dict[str, float] = field(default_factory=dict)  # of the failure probability, by test
    audits: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)  # test and JSON, by the audit's name
    failed: set[str] = field(default_factory=set)  # tests
    programs: ExitStack = field(default_factory=ExitStack)  # the context in which what JAX compiles is kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects audits from reports: this process's, or those of xdist's workers."""
        for audit in json.loads(getattr(report, "dpassay", "[]")):
            self.audits[audit["name"]] = report.nodeid, audit
        if report.failed:
            self.failed.add(report.nodeid)

    def sorted(self) -> list[dict[str, Any]]:
        """The audits by name: the order in which workers end is not the same twice.

        A refutation is expected when its test did not fail: it is marked xfail, or looks at the verdict and passes.
        """
        return [
            {**audit, "expected": audit["verdict"]["outcome"] == "refuted" and test not in self.failed}
            for test, audit in (self.audits[name] for name in sorted(self.audits))
        ]


@dataclass(eq=False)
class Running:
    """The test that is running: what its audits may spend, and what they found."""

    item: pytest.Item
    session: Session
    audits: list[dict[str, Any]] = field(default_factory=list)
    begun: int = 0


REPORTS = ("audits.json", "audits.sarif", "audits.xml")
SESSION = pytest.StashKey[Session]()
TEST = pytest.StashKey[Running]()
_running: list[Running] = []  # a stack: a session inside a test has tests of its own


def assert_private(
    mechanism: Any,
    dataset1: Any = None,
    dataset2: Any = None,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    claim: "PrivacyClaim | None" = None,
    datasets: Any = None,
    relation: Any = None,
    representation: Any = "values",
    more_pairs: Sequence[tuple[Any, Any]] = (),
    num_samples: int | None = None,
    time_limit: float | None = None,
    allow_open: bool = False,
    isolate: str | None = None,
) -> "Verdict":
    """Fails the test when samples refute the privacy claim; returns the verdict otherwise, which is never "private".

    It fails as well when nothing was decided, and with --dp-require-power when too little would have been caught.

    Inside pytest the failure probability, the seed and the ledger are the session's; elsewhere a call alone has the
    failure probability 0.01.

    Args:
        mechanism: a function `fn(rng, dataset)`, or an object with `sample(key, dataset)`.
        dataset1: handed to the mechanism as it is.
        dataset2: its neighbor.
        epsilon: the claim, nats; or give `claim`. With neither, the claim that the mechanism states itself (`claim`).
        delta: the claim, a probability.
        claim: another kind of claim, for example `dp.PrivacyClaim.gaussian(mu=1.0)`.
        datasets: a Hypothesis strategy that draws datasets, instead of two of them: neighbors are searched for.
        relation: which of these are neighbors, for example "add_or_remove_one:record".
        representation: "values", or "bits" to attack the outputs' floating-point form as well.
        more_pairs: further pairs of neighboring datasets on which the claim must hold.
        num_samples: per dataset; goes before the marker and the options.
        time_limit: seconds; goes before the marker and the options.
        allow_open: let the test pass where nothing was decided.
        isolate: "SECONDS:MEGABYTES": audit in a process of its own, which is ended when it takes more; goes before
            the option.

    Raises:
        PrivacyViolated: the claim was refuted (an AssertionError).
        Undecided: nothing was decided, less would have been caught than --dp-require-power asks for, or the process of
            its own ended without a verdict (likewise).
        InvalidInput: unusable input, in one line that says how to mend it.
    """
    __tracebackhide__ = True
    verdict, content = _audit(
        mechanism,
        dataset1,
        dataset2,
        epsilon=epsilon,
        delta=delta,
        claim=claim,
        representation=representation,
        more_pairs=more_pairs,
        num_samples=num_samples,
        time_limit=time_limit,
        isolate=isolate,
        **({} if datasets is None and relation is None else {"datasets": datasets, "relation": relation}),
    )
    if verdict.outcome == "refuted":
        raise PrivacyViolated(_message(content))
    if verdict.outcome == "open" and not allow_open:
        raise Undecided(f"{verdict.explanation}\nallow_open=True lets the test pass all the same")
    _require_power(content)
    return verdict


def assert_proved(
    function: Callable[..., Any],
    *,
    relation: str | None = None,
    epsilon: float | str | None = None,
    claim: "PrivacyClaim | None" = None,
    assume: Sequence[str] = (),
    bounds: tuple[Any, Any] | None = None,
    radius: float | str | None = None,
    records: int | str | None = None,
    time_limit: float = 60,
) -> "Verdict":
    """Fails the test unless the claim is proved for every input from the function's source; see `dp.prove`.

    A proof spends none of the session's failure probability. The arguments are those of `dp.prove`.

    Raises:
        PrivacyViolated: a counterexample was found (an AssertionError).
        Undecided: neither a proof nor a counterexample was found (likewise).
        InvalidInput: unusable input, in one line that says how to mend it.
    """
    __tracebackhide__ = True
    from dpassay.prover.proving import run_proof

    found = run_proof(
        function,
        relation=relation,
        epsilon=epsilon,
        claim=claim,
        assume=assume,
        bounds=bounds,
        radius=radius,
        records=records,
        time_limit=time_limit,
    )
    if found.verdict.outcome == "refuted":
        raise PrivacyViolated(str(found))
    if found.verdict.outcome != "holds":
        raise Undecided(str(found))
    return found.verdict


class Auditor:
    """What the fixture `dp_audit` gives: call it like `dp.audit` for a verdict to look at; it fails nothing by itself.

    The failure probability, the seed, the ledger and the budget are the session's.
    """

    assert_private = staticmethod(assert_private)

    def __call__(self, mechanism: Any, dataset1: Any = None, dataset2: Any = None, **options: Any) -> "Verdict":
        """The verdict on one claim; the arguments are those of `assert_private`."""
        __tracebackhide__ = True
        return _audit(mechanism, dataset1, dataset2, **options)[0]


@pytest.fixture
def dp_audit() -> Auditor:
    """Audits a mechanism under the session's failure probability: `dp_audit(mechanism, one, two, epsilon=1.0)`."""
    return Auditor()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --dp-* and the ini options of the same names."""
    group = parser.getgroup("dpassay", "audits of differential privacy (dpassay)")
    for name, (kind, text) in OPTIONS.items():
        group.addoption(f"--dp-{name}", type=kind, default=None, help=text, metavar=name.rpartition("-")[2].upper())
        parser.addini(f"dp_{name.replace('-', '_')}", f"default of --dp-{name}: {text}", default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker and reads the options."""
    config.addinivalue_line("markers", MARKER)
    state = config.stash[SESSION] = Session(_settings(config))
    config.pluginmanager.register(state, "dpassay-session")
    folder = state.settings.report
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in REPORTS:
                check_writable(folder / name)
        except OSError as error:
            raise pytest.UsageError(f"cannot make the folder {folder} for reports: {error.strerror}") from None
        except InvalidInput as error:
            raise pytest.UsageError(str(error)) from None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Splits the failure probability over the tests that use audits; every xdist worker collects the same ones."""
    state = session.config.stash[SESSION]
    wanted = {item.nodeid: _asked(item, state.settings) for item in session.items if _uses_audits(item)}
    if not wanted or session.config.option.collectonly:
        return
    try:
        if state.settings.ledger is not None:
            from dpassay.auditors.ledger import Ledger

            state.shares = Ledger(state.settings.ledger).enroll(wanted)
        else:
            state.shares = _split(wanted)
    except InvalidInput as error:
        raise pytest.UsageError(str(error)) from None
    state.programs.enter_context(kept_programs())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Lets `assert_private` know in which test it is called."""
    item.stash[TEST] = Running(item, item.config.stash[SESSION])
    _running.append(item.stash[TEST])
    try:
        return (yield)
    finally:
        _running.pop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts the audits of the phase that ended into its report, which xdist carries from the worker."""
    report = yield
    # Pytest keeps and xdist carries attributes that it does not know.
    test = item.stash.get(TEST, None)
    if test is not None and test.audits:
        vars(report)["dpassay"] = json.dumps(test.audits)
        test.audits = []
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """A test that is run again in one session repeats its audits; it does not get further shares."""
    test = item.stash.get(TEST, None)
    if test is not None:
        test.begun = 0
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """A row for each audit, and the session's false-alarm rate."""
    state = config.stash[SESSION]
    if not state.audits:
        return
    terminalreporter.section("privacy audits")
    for line in _summary(state.sorted(), state.settings, brief=config.get_verbosity() < 0):
        terminalreporter.write_line(line)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the reports, on the controller when there are workers; without one of them no session is green."""
    state = session.config.stash[SESSION]
    state.programs.close()
    folder = state.settings.report
    if folder is None or hasattr(session.config, "workerinput"):
        return
    from dpassay.report.junit import to_junit
    from dpassay.report.sarif import to_sarif

    content = {"format": "dpassay-audits", "version": 1, "audits": state.sorted()}
    texts = (
        json.dumps(content, indent=1) + "\n",
        json.dumps(to_sarif(content), indent=1) + "\n",
        to_junit(content),
    )
    for name, text in zip(REPORTS, texts, strict=True):
        try:
            write_file(folder / name, text)
        except InvalidInput as error:
            session.config.get_terminal_writer().line(f"\ndpassay: {error}", red=True)
            session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR


def _settings(config: pytest.Config) -> Settings:
    values: dict[str, Any] = {}
    for name, (kind, _) in OPTIONS.items():
        key = name.replace("-", "_")
        value, base = config.getoption(f"dp_{key}"), config.invocation_params.dir
        if value is None:
            text, base = config.getini(f"dp_{key}"), config.rootpath
            if not text:
                continue
            try:
                value = kind(text)
            except ValueError:
                raise pytest.UsageError(f"ini option dp_{key} is {text!r}; give a number") from None
        values[key] = base / value if kind is Path else value
    if "isolate" in values:
        try:
            values["isolate"] = Limits.parse(values["isolate"], "--dp-isolate")
        except InvalidInput as error:
            raise pytest.UsageError(str(error)) from None
    settings = Settings(**values)
    _check_probability("--dp-failure-probability", settings.failure_probability)
    return settings


def _check_probability(what: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise pytest.UsageError(f"{what} is {value!r}; give a probability above 0 and below 1")


def _uses_audits(item: pytest.Item) -> bool:
    """Whether a test takes the fixture, has the marker, or calls `assert_private`."""
    if "dp_audit" in getattr(item, "fixturenames", ()) or item.get_closest_marker("dp") is not None:
        return True
    function: Any = getattr(item, "obj", None)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return code is not None and _mentions(code, assert_private.__name__)


def _mentions(code: CodeType, name: str) -> bool:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return name in (*code.co_names, *code.co_freevars) or any(_mentions(constant, name) for constant in inner)


def _asked(item: pytest.Item, settings: Settings) -> float | None:
    """The share of the session's failure probability that a test's marker asks for."""
    asked = _marked(item).get("failure_probability")
    if asked is None:
        return None
    _check_probability(f"the failure probability of {item.nodeid}", asked)
    return asked / settings.failure_probability


def _marked(item: pytest.Item) -> Mapping[str, Any]:
    marker = item.get_closest_marker("dp")
    if marker is None:
        return {}
    unknown = set(marker.kwargs) - {"failure_probability", "num_samples", "time_limit"}
    if marker.args or unknown:
        raise pytest.UsageError(
            f"{item.nodeid}: write @pytest.mark.dp(failure_probability=..., num_samples=..., time_limit=...)"
        )
    return marker.kwargs


def _split(wanted: Mapping[str, float | None]) -> dict[str, float]:
    """What tests ask for, and equal parts of the rest for the others; together at most one."""
    equal = sum(share is None for share in wanted.values())
    rest = 1.0 - math.fsum(share for share in wanted.values() if share is not None)
    if rest < -1e-12 or (equal and rest <= 0):
        raise InvalidInput(
            "the tests' markers ask for more than the session's failure probability; "
            "raise --dp-failure-probability or ask for less"
        )
    return {name: rest / equal if share is None else share for name, share in wanted.items()}


def _audit(
    mechanism: Any,
    dataset1: Any,
    dataset2: Any,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    claim: "PrivacyClaim | None" = None,
    num_samples: int | None = None,
    time_limit: float | None = None,
    isolate: str | None = None,
    **options: Any,
) -> tuple["Verdict", dict[str, Any]]:
    """Runs one audit under what the running test may spend; returns its verdict and the record as JSON."""
    __tracebackhide__ = True
    from dpassay.auditors.audit import claim_of, mechanism_name, run_audit
    from dpassay.report.audit_text import definition

    test = _running[-1] if _running else None
    called = mechanism_name(mechanism)
    settings, share, name, command = Settings(), 1.0, called, ""
    budgets: list[Mapping[str, Any]] = [{"num_samples": num_samples, "time_limit": time_limit}]
    if test is not None:
        settings, nodeid = test.session.settings, test.item.nodeid
        test.begun += 1
        share = _share(test) / (test.begun * (test.begun + 1))
        name = nodeid if test.begun == 1 else f"{nodeid} audit {test.begun}"
        command = _command(nodeid, settings)
        budgets.append(_marked(test.item))
    budgets.append(dataclasses.asdict(settings))
    stated = claim_of(mechanism, epsilon, delta, claim)
    limits = settings.isolate if isolate is None else Limits.parse(isolate, "isolate")
    run: Callable[..., Any] = run_audit
    where = (dataset1, dataset2)
    if "datasets" in options:
        from dpassay.auditors.strategy_search import audit_strategy

        if dataset1 is not None or dataset2 is not None:
            raise InvalidInput("give two datasets, or a strategy that draws them, not both")
        run, where = audit_strategy, (options.pop("datasets"), options.pop("relation", None))

    def audited() -> tuple["Verdict", dict[str, Any]]:
        audit = run(
            mechanism,
            *where,
            claim=stated,
            failure_probability=settings.failure_probability * share,
            seed=settings.seed,
            ledger=settings.ledger,
            name=name,
            **_budget(budgets),
            **options,
        )
        return audit.verdict, audit.to_json()

    try:
        verdict, content = audited() if limits is None else _isolated(audited, limits)
    except InvalidInput as error:
        shown = InvalidInput(str(error))  # the mechanism's own error; the frames between help nobody
        shown.__notes__ = getattr(error, "__notes__", [])
        raise shown from error.__cause__
    content |= {"name": name, "mechanism": called, "command": command, "location": definition(mechanism)}
    if test is not None:
        test.audits.append(content)
    return verdict, content


def _isolated(work: Callable[[], Any], limits: Limits) -> Any:
    """What `work` returns, done in a process of its own."""
    __tracebackhide__ = True
    if not can_fork():
        raise InvalidInput(
            "the process of an audit is a fork of this one, in which JAX has computed, in a test or at the import of "
            "a test file (or the system cannot fork); hand NumPy arrays over and let the mechanism make those of JAX, "
            "run such tests in a session of their own, or leave isolation out"
        )
    import dpassay.auditors.findings  # noqa: F401, here once rather than in every process

    try:
        return in_own_process(work, limits)
    except NoResult as end:
        raise Undecided(f"no verdict: {end}") from None


def _require_power(content: Mapping[str, Any]) -> None:
    """Raises `Undecided` when the audit of the running test would not have caught what the session asks for."""
    __tracebackhide__ = True
    wanted = _running[-1].session.settings.require_power if _running else None
    smallest = content["detectable"]["smallest_epsilon"]
    if wanted is None or (smallest is not None and smallest <= wanted):
        return
    seen = "nothing" if smallest is None else f"an epsilon of {rounded_up(smallest):g} or more"
    raise Undecided(
        f"--dp-require-power={wanted:g}: this audit would have caught {seen} with probability 0.9; "
        "give it more samples or time"
    )


def _share(test: Running) -> float:
    share = test.session.shares.get(test.item.nodeid)
    if share is None:
        pytest.fail(
            "this test was not known to use audits when the failure probability was split: mark it @pytest.mark.dp",
            pytrace=False,
        )
    return share


def _budget(levels: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Samples and time from the first level that says either: the call, the marker, the options."""
    for level in levels:
        found = {key: level[key] for key in ("num_samples", "time_limit") if level.get(key) is not None}
        if found:
            return found
    return {}  # the auditor's default


def _command(nodeid: str, settings: Settings) -> str:
    quoted = f'"{nodeid}"' if any(character in nodeid for character in " []|&;<>()$`\\'*?!") else nodeid
    ledger = "" if settings.ledger is None else f" --dp-ledger={settings.ledger}"
    return f"pytest {quoted} --dp-seed={settings.seed}{ledger}"


def _message(content: Mapping[str, Any]) -> str:
    """Why a test failed: the bound, the event, its counts, how surely, and how to see it again."""
    from dpassay.report import audit_text

    lines = [audit_text.headline(content)]
    lines += [f"{label}: {event}\ncounts: {counts}" for label, event, counts in audit_text.seen(content)]
    lines.append(audit_text.guarantee(content))
    ledger = content["ledger"]
    if ledger is not None:
        lines.append(
            f"ledger: {several(ledger['runs'], 'run')} together: {ledger['log_e_value']:.1f} nats of evidence, "
            f"{ledger['log_threshold']:.1f} refute; it stays refuted until the code, the data or the claim change"
        )
    lines.append(f"seed: {content['seed']}, run {content['run']}")
    if content["command"]:
        lines.append(f"again: {content['command']}")
    if "code" in content:
        lines += ["", "the pair, to paste into a test:", "", content["code"], ""]
    return "\n".join(lines)


def _summary(audits: Sequence[Mapping[str, Any]], settings: Settings, *, brief: bool) -> list[str]:
    from dpassay.report.audit_text import number

    rows = [("test", "claim", "at least", "verdict", "would have caught")]
    for audit in audits:
        outcome = audit["verdict"]["outcome"] + (" as expected" if audit["expected"] else "")
        smallest = audit["detectable"]["smallest_epsilon"]
        seen = "nothing" if smallest is None else f"epsilon {rounded_up(smallest):g}"
        seen = "-" if audit["verdict"]["outcome"] == "refuted" else seen
        lower = audit["parameter_lower"]
        bound = "-" if lower is None else f"{audit['parameter_name']} {number(lower)}"
        rows.append((audit["name"], audit["claim"]["text"], bound, outcome, seen))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        []
        if brief
        else ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    )
    lines += [f"warning: {audit['name']}: {text}" for audit in audits for text in audit["warnings"]]
    refuted = sum(audit["verdict"]["outcome"] == "refuted" for audit in audits)
    undecided = sum(audit["verdict"]["outcome"] == "open" for audit in audits)
    expected = sum(audit["expected"] for audit in audits)
    known = f" ({expected} as expected)" if expected else ""
    counts = (
        f"{several(len(audits), 'audit')}: {refuted} refuted{known}, {len(audits) - refuted - undecided} not refuted"
    )
    lines.append(counts + (f", {undecided} open (nothing was decided)" if undecided else ""))
    whole = "this session" if settings.ledger is None else f"all sessions that share {settings.ledger.name}"
    lines.append(
        f"P(any false alarm) <= {settings.failure_probability:g} for {whole}; seed {settings.seed}. "
        '"not refuted" does not mean private'
        + ("." if brief else "; the last column would have been caught with probability 0.9.")
    )
    return lines
