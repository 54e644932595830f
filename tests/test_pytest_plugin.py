"""The pytest plugin, in sessions of its own: what users see, and that the failure probability is split as promised."""

import importlib.metadata
import json
from xml.etree import ElementTree as ET

import pytest

pytest_plugins = ["pytester"]

# Stands in for the auditor where only the plugin is tested: refutes the mechanism called `broken`, and records with
# which arguments it was called.
STAND_IN = """
import json, math, os, sys, types
from dpassay.core.claims import Evidence, Verdict
from dpassay.core.errors import InvalidInput

def run_audit(mechanism, dataset1, dataset2, **options):
    with open(os.environ["CALLS"], "a") as file:
        file.write(json.dumps({key: str(value) for key, value in options.items()}) + "\\n")
    if mechanism.__name__.startswith("ends"):
        mechanism(None, dataset1)
    if mechanism.__name__ == "unusable":
        raise InvalidInput("the mechanism returns nothing; let it return its output") from ZeroDivisionError("its own")
    outcome = {"broken": "refuted", "vague": "open"}.get(mechanism.__name__, "not refuted")
    claim = options["claim"]
    evidence = Evidence("statistics", "counts")
    verdict = Verdict(options["name"], outcome, "counted", (evidence,), epsilon_lower=1.5)
    content = {
        "format": "dpassay-audit", "version": 1, "program": "dpassay 0.1.0", "command": "",
        "mechanism": options["name"], "dataset1": "0", "dataset2": "1", "relation": None, "representation": "values",
        "claim": {"kind": "dp", "text": str(claim), "epsilon": claim.epsilon, "delta": claim.delta}, "mode": "anytime",
        "failure_probability": options["failure_probability"], "parameter_name": "epsilon", "parameter_lower": 1.5,
        "epsilon_lower": 1.5, "verdict": verdict.to_json(),
        "events": [{
            "pair": 0, "direction": "dataset1", "description": "output >= 0.25", "scorer": "output", "epsilon": 1.0,
            "delta": 0.0, "count1": 900, "samples1": 1000, "count2": 20, "samples2": 1000, "weight": 1.0,
            "log_e_value": 12.0, "p_value": None,
        }],
        "samples": {"training": 100, "selection": 0, "test": 1000, "total": 1100}, "looks": 3, "seconds": 0.1,
        "seed": options["seed"], "run": 0, "detectable": {"probability": 0.9, "smallest_epsilon": 1.25,
        "rarest_event": 0.01}, "ledger": None, "sandwich": {"lower": 1.5, "exact": None, "upper": None, "claim": 1.0},
        "warnings": ["it ignores its generator"] if mechanism.__name__ == "vague" else [], "tables": [], "plots": [],
    }
    return types.SimpleNamespace(verdict=verdict, to_json=lambda: content)

from dpassay.auditors import audit
helpers = {"claim_of": audit.claim_of, "mechanism_name": audit.mechanism_name}
sys.modules["dpassay.auditors.audit"] = types.SimpleNamespace(run_audit=run_audit, **helpers)
"""

MECHANISMS = """
from dpassay.pytest_plugin import assert_private

def sound(rng, data): return 0.0
def broken(rng, data): return data
def vague(rng, data): return data
def unusable(rng, data): return None
"""


@pytest.fixture
def session(pytester, monkeypatch):
    """Runs pytest on one test file, in a process of its own if asked; gives the result and the auditor's calls."""
    monkeypatch.setenv("CALLS", str(pytester.path / "calls"))
    monkeypatch.setenv("PY_COLORS", "0")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other projects' plugins take seconds
    pytester.makeconftest(STAND_IN)

    def run(tests, *arguments, own_process=False):
        pytester.makepyfile(test_privacy=MECHANISMS + tests)
        calls = pytester.path / "calls"
        calls.unlink(missing_ok=True)
        plugins = ["-p", "dpassay.pytest_plugin", *(["-p", "xdist"] if own_process else [])]
        start = pytester.runpytest_subprocess if own_process else pytester.runpytest_inprocess
        result = start(*plugins, *arguments)
        lines = calls.read_text().splitlines() if calls.exists() else []
        return result, {call["name"].rpartition("::")[2]: call for call in map(json.loads, lines)}

    return run


def probabilities(calls):
    return {name: float(call["failure_probability"]) for name, call in calls.items()}


BOTH = """
def test_sound(dp_audit):
    assert dp_audit(sound, 0, 1, epsilon=1.0).outcome == "not refuted"

def test_broken():
    assert_private(broken, 0, 1, epsilon=1.0)
"""


def test_a_broken_mechanism_is_red_with_all_that_is_needed_to_see_it_again(session):
    result, _ = session(BOTH, "--dp-seed=7", own_process=True)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       assert_private(broken, 0, 1, epsilon=1.0)",
            "E*PrivacyViolated: broken is not 1-DP: epsilon is at least 1.5.",
            "E*event: output >= 0.25",
            "E*counts: 900 of 1,000 samples of dataset 1 (0.9) and 20 of 1,000 samples of dataset 2 (0.02)",
            "E*refuted with probability at most 0.0025*",
            "E*seed: 7, run 0",
            "E*again: pytest test_privacy.py::test_broken --dp-seed=7",
        ]
    )
    assert "pytest_plugin.py" not in result.stdout.str()


def test_the_summary_has_a_row_for_each_audit_and_the_rate_of_the_session(session):
    tests = BOTH + "\ndef test_vague():\n    assert_private(vague, 0, 1, epsilon=0.5, delta=0.25)\n"
    result, _ = session(tests, "--dp-failure-probability=0.06")
    result.stdout.fnmatch_lines(
        [
            "*= privacy audits =*",
            "test *claim *at least *verdict *would have caught",
            "test_privacy.py::test_broken *1-DP *epsilon 1.5 *refuted *-",
            "test_privacy.py::test_sound *1-DP *epsilon 1.5 *not refuted *epsilon 1.25",
            "test_privacy.py::test_vague *(0.5, 0.25)-DP *open *",
            "3 audits: 1 refuted, 1 not refuted, 1 open (nothing was decided)",
            'P(any false alarm) <= 0.06 for this session; seed 0. "not refuted" does not mean private*',
        ]
    )
    quiet, _ = session(tests, "-q")
    assert "would have caught  " not in quiet.stdout.str()
    assert "last column" not in quiet.stdout.str()
    assert "3 audits: 1 refuted" in quiet.stdout.str()


def test_open_is_red_unless_it_is_allowed_and_warnings_are_told(session):
    tests = """
def test_vague():
    assert_private(vague, 0, 1, epsilon=1.0)

def test_allowed():
    assert assert_private(vague, 0, 1, epsilon=1.0, allow_open=True).outcome == "open"
"""
    result, _ = session(tests)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["E*Undecided: counted", "warning: test_privacy.py::test_vague: it ignores its generator"]
    )


@pytest.mark.parametrize(("power", "red"), [("1.2", True), ("1.25", False), ("2", False)])
def test_an_audit_that_could_not_have_caught_enough_is_red(session, power, red):
    tests = "def test_sound():\n    assert_private(sound, 0, 1, epsilon=1.0)\n"
    result, _ = session(tests, f"--dp-require-power={power}")
    result.assert_outcomes(**{"failed" if red else "passed": 1})
    if red:
        result.stdout.fnmatch_lines(["E*would have caught an epsilon of 1.25 or more*"])


def test_the_mechanisms_own_error_is_at_hand(session):
    result, _ = session("def test_unusable():\n    assert_private(unusable, 0, 1, epsilon=1.0)\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["ZeroDivisionError: its own", "E*InvalidInput: the mechanism returns nothing*"])


def test_a_process_that_ends_turns_its_own_test_red_and_no_other(session):
    tests = """
import ctypes, os, time, pytest

def ends(rng, data): os._exit(0)
def ends_by_a_crash(rng, data): ctypes.string_at(0)
def ends_never(rng, data): time.sleep(600)
def ends_with_an_error(rng, data): raise KeyError("its own")
def ends_with_memory(rng, data): keep = [bytearray(b"1" * (20 << 20)) for _ in range(500)]

@pytest.mark.parametrize("mechanism", [ends, ends_by_a_crash, ends_with_an_error])
def test_red(mechanism):
    assert_private(mechanism, 0, 1, epsilon=1.0)

@pytest.mark.parametrize(("mechanism", "limits"), [(ends_never, "1:4000"), (ends_with_memory, "60:600")])
def test_call(mechanism, limits):
    assert_private(mechanism, 0, 1, epsilon=1.0, isolate=limits)

def test_sound(dp_audit):
    assert dp_audit(sound, 0, 1, epsilon=1.0).outcome == "not refuted"

def test_broken():
    assert_private(broken, 0, 1, epsilon=1.0)
"""
    result, _ = session(tests, "--dp-isolate=60:4000", own_process=True)
    result.assert_outcomes(passed=1, failed=6)
    result.stdout.fnmatch_lines(
        [
            "*Undecided: no verdict: code that the mechanism runs ended its process with exit code 0",
            "*Undecided: no verdict: the mechanism's process was ended by signal 11 *",
            "*in ends_with_an_error",
            "*KeyError: 'its own'",
            "*Undecided: no verdict: *took more than 1 seconds and was ended; allow more with isolate *",
            "*Undecided: no verdict: *took more than 600 megabytes and was ended; allow more with isolate *",
            "*PrivacyViolated: broken is not 1-DP*",
            "2 audits: 1 refuted, 1 not refuted*",
        ]
    )


def test_a_process_that_cannot_be_forked_is_one_line(session, monkeypatch):
    monkeypatch.setattr("dpassay.pytest_plugin.can_fork", lambda: False)
    result, calls = session(BOTH, "--dp-isolate=60:4000")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*InvalidInput: the process of an audit is a fork of this one, in which JAX has computed*"]
    )
    assert not calls


def test_the_failure_probability_is_split_over_tests_and_over_audits_in_a_test(session):
    _, calls = session(
        """
import pytest

def test_plain():
    assert 1

def test_three(dp_audit):
    for _ in range(3):
        dp_audit.assert_private(sound, 0, 1, epsilon=1.0)

@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_each(epsilon):
    def inner():
        assert_private(sound, 0, 1, epsilon=epsilon)
    inner()

@pytest.mark.dp(failure_probability=0.004)
def test_own():
    helper()

def helper():
    assert_private(sound, 0, 1, epsilon=1.0)
"""
    )
    # 0.01 - 0.004 over three tests; the j-th audit of a test has 1/(j(j+1)) of its test's.
    assert probabilities(calls) == pytest.approx(
        {
            "test_three": 0.001,
            "test_three audit 2": 0.002 / 6,
            "test_three audit 3": 0.002 / 12,
            "test_each[1.0]": 0.001,
            "test_each[2.0]": 0.001,
            "test_own": 0.002,
        }
    )
    assert sum(probabilities(calls).values()) <= 0.01


def test_deselected_tests_take_no_share(session):
    _, calls = session(BOTH, "-k", "sound")
    assert probabilities(calls) == {"test_sound": 0.005}


def test_an_audit_that_was_not_counted_is_not_run(session):
    result, calls = session(
        "def helper():\n    assert_private(broken, 0, 1, epsilon=1.0)\n\ndef test_it():\n    helper()\n"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*mark it @pytest.mark.dp"])
    assert not calls


def test_a_refutation_that_its_test_expects_is_no_failure_of_any_report(session, pytester):
    result, _ = session(
        """
import pytest

def test_known(dp_audit):
    assert dp_audit(broken, 0, 1, epsilon=1.0).outcome == "refuted"

def test_raises():
    with pytest.raises(AssertionError, match="not 1-DP"):
        assert_private(broken, 0, 1, epsilon=1.0)

@pytest.mark.xfail(strict=True)
def test_strict():
    assert_private(broken, 0, 1, epsilon=1.0)

@pytest.mark.xfail
def test_sound():
    assert_private(sound, 0, 1, epsilon=1.0)

@pytest.fixture
def verdict(dp_audit):
    return dp_audit(broken, 0, 1, epsilon=1.0)

def test_fails_later(verdict):
    assert verdict.outcome == "not refuted"
""",
        "--dp-report=reports",
    )
    result.assert_outcomes(passed=2, xfailed=1, xpassed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_fails_later *  refuted  *",
            "*test_known *  refuted as expected *",
            "*test_raises *  refuted as expected *",
            "*test_sound *  not refuted  *",
            "*test_strict *  refuted as expected *",
            "5 audits: 4 refuted (3 as expected), 1 not refuted",
        ]
    )
    (finding,) = json.loads((pytester.path / "reports/audits.sarif").read_text())["runs"][0]["results"]
    assert "as its test expects" not in finding["message"]["text"]
    suite = ET.parse(pytester.path / "reports/audits.xml").getroot()
    assert {name: suite.attrib[name] for name in ("tests", "failures", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "skipped": "0",
    }
    (case,) = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert case.attrib["name"].startswith("test_privacy.py::test_fails_later")
    assert sum("as its test expects" in (case.findtext("system-out") or "") for case in suite.iter("testcase")) == 3


def test_unusable_input_is_one_line(session):
    result, _ = session("""
def test_it():
    assert_private(unusable, 0, 1, epsilon=1.0)

def test_no_claim(dp_audit):
    dp_audit(sound, 0, 1)
""")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*InvalidInput: the mechanism returns nothing; let it return its output",
            "E*InvalidInput: state what is claimed: epsilon (and delta), or claim=*",
        ]
    )
    assert "pytest_plugin.py" not in result.stdout.str()


def test_budgets_come_from_the_call_the_marker_the_options_and_the_ini_file(session, pytester):
    pytester.makeini("[pytest]\ndp_time_limit = 2.5\ndp_seed = 3\ndp_failure_probability = 0.04\n")
    tests = """
import pytest

def test_option(dp_audit):
    dp_audit(sound, 0, 1, epsilon=1.0)

@pytest.mark.dp(num_samples=500)
def test_marker(dp_audit):
    dp_audit(sound, 0, 1, epsilon=1.0)

@pytest.mark.dp(num_samples=500)
def test_call(dp_audit):
    dp_audit(sound, 0, 1, epsilon=1.0, time_limit=9)
"""
    _, calls = session(tests)
    budgets = {name: (call.get("num_samples"), call.get("time_limit")) for name, call in calls.items()}
    assert budgets == {"test_option": (None, "2.5"), "test_marker": ("500", None), "test_call": (None, "9")}
    assert {call["seed"] for call in calls.values()} == {"3"}
    assert probabilities(calls)["test_option"] == pytest.approx(0.04 / 3 / 2)
    _, calls = session(tests, "--dp-num-samples=77", "--dp-time-limit=8", "--dp-seed=4")
    assert (calls["test_option"]["num_samples"], calls["test_option"]["time_limit"]) == ("77", "8.0")
    assert calls["test_option"]["seed"] == "4"


def test_a_ledger_fixes_the_shares_for_its_life(session, pytester):
    _, calls = session(BOTH, "--dp-ledger=kept/ledger.db")
    # The first group of tests has half, so that tests added later have a share too.
    assert probabilities(calls) == pytest.approx({"test_sound": 0.01 / 2 / 2 / 2, "test_broken": 0.01 / 2 / 2 / 2})
    assert calls["test_sound"]["ledger"] == str(pytester.path / "kept/ledger.db")
    _, alone = session(BOTH, "--dp-ledger=kept/ledger.db", "-k", "sound")
    assert alone["test_sound"] == calls["test_sound"]
    added = "\ndef test_added():\n    assert_private(sound, 0, 1, epsilon=1.0)\n"
    result, more = session(BOTH + added, "--dp-ledger=kept/ledger.db")
    assert probabilities(more)["test_sound"] == probabilities(calls)["test_sound"]
    assert probabilities(more)["test_added"] == pytest.approx(0.01 / 2 / 3 / 2)
    result.stdout.fnmatch_lines(["P(any false alarm) <= 0.01 for all sessions that share ledger.db*"])


@pytest.mark.parametrize("ledger", [False, True])
def test_workers_split_as_one_process_does_and_the_controller_shows_it(session, ledger):
    tests = BOTH + "".join(
        f"\ndef test_{number}():\n    assert_private(sound, 0, 1, epsilon=1.0)\n" for number in range(4)
    )
    options = ["--dp-ledger=ledger.db"] if ledger else []
    result, calls = session(tests, "-n2", *options, own_process=True)
    result.assert_outcomes(passed=5, failed=1)
    assert [*probabilities(calls).values()] == pytest.approx([0.01 / 6 / 2 / (2 if ledger else 1)] * 6)
    result.stdout.fnmatch_lines(["*privacy audits*", "6 audits: 1 refuted, 5 not refuted"])


def test_reports_are_written_and_agree(session, pytester):
    session(BOTH, "--dp-report=reports")
    folder = pytester.path / "reports"
    audits = json.loads((folder / "audits.json").read_text())["audits"]
    assert [audit["name"] for audit in audits] == ["test_privacy.py::test_broken", "test_privacy.py::test_sound"]
    assert audits[0]["command"] == "pytest test_privacy.py::test_broken --dp-seed=0"
    (result,) = json.loads((folder / "audits.sarif").read_text())["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "test_privacy.py"
    lines = (pytester.path / "test_privacy.py").read_text().splitlines()
    assert lines[location["region"]["startLine"] - 1].startswith("def broken")
    assert result["properties"]["epsilon_lower"] == audits[0]["epsilon_lower"]
    suite = ET.parse(folder / "audits.xml").getroot()
    assert suite.attrib["failures"] == "1"


def test_a_report_that_cannot_be_written_is_not_green_and_costs_no_other(session, pytester):
    tests = "def test_it():\n    import os\n    os.mkdir('reports/audits.json')\n"
    result, _ = session(tests, "--dp-report=reports")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    (line,) = [line for line in result.stdout.lines if line.startswith("dpassay: ")]
    assert "audits.json: it is a folder" in line
    assert (pytester.path / "reports/audits.xml").is_file()


@pytest.mark.parametrize(
    ("arguments", "marker", "message"),
    [
        (["--dp-failure-probability=1.5"], "", "--dp-failure-probability is 1.5; give a probability"),
        ([], "failure_probability=2", "the failure probability of test_privacy.py::test_it is 2; give a probability"),
        ([], "failure_probability=0.02", "ask for more than the session's failure probability"),
        (["--dp-ledger=ledger.db"], "failure_probability=0.02", "ask for more of the failure probability"),
        ([], "samples=3", "write @pytest.mark.dp(failure_probability=..., num_samples=..., time_limit=...)"),
        (["--dp-ledger=test_privacy.py"], "", "is not a ledger, or is damaged"),
        (["--dp-report=test_privacy.py"], "", "cannot make the folder"),
        (["--dp-isolate=5"], "", "--dp-isolate '5': write SECONDS:MEGABYTES, for example 600:8192"),
        (["--dp-report=with"], "", "audits.sarif: it is a folder"),
    ],
)
def test_unusable_options_are_one_line(session, pytester, arguments, marker, message):
    tests = f"\nimport pytest\n\n@pytest.mark.dp({marker})\ndef test_it():\n    pass\n"
    (pytester.path / "with/audits.sarif").mkdir(parents=True)
    result, _ = session(tests, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.stderr.lines if line.startswith("ERROR:")]
    assert message in line
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_test_run_again_in_one_session_gets_no_further_share(session, pytester):
    pytester.makeconftest(
        STAND_IN
        + """
def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol
    runtestprotocol(item, nextitem=nextitem, log=False)
    for report in runtestprotocol(item, nextitem=nextitem):
        pass
    return True
"""
    )
    session("def test_it():\n    assert_private(sound, 0, 1, epsilon=1.0)\n")
    names = [json.loads(line)["name"] for line in (pytester.path / "calls").read_text().splitlines()]
    assert names == ["test_privacy.py::test_it"] * 2


def test_projects_that_do_not_use_it_are_not_disturbed(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        test_plain="import sys\ndef test_plain():\n"
        "    assert 'dpassay.pytest_plugin' in sys.modules\n"
        "    assert not {'jax', 'numpy', 'scipy', 'sklearn', 'sqlite3'} & set(sys.modules)\n"
    )
    result = pytester.runpytest_subprocess("-p", "dpassay.pytest_plugin", "-W", "error", "--strict-markers")
    result.assert_outcomes(passed=1)
    assert "privacy" not in result.stdout.str()


def test_installing_the_package_installs_the_plugin():
    (entry,) = importlib.metadata.entry_points(group="pytest11", name="dpassay")
    assert entry.value == "dpassay.pytest_plugin"


def test_folders_with_their_own_conftest_do_not_disturb_the_plugin(pytester, monkeypatch):
    """Pytest then asks which plugins concern a folder, and keeps plugins in sets."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for folder in ("one", "two"):
        pytester.mkpydir(folder)
        (pytester.path / folder / "conftest.py").write_text("")
        (pytester.path / folder / f"test_{folder}.py").write_text("def test_plain(): pass\n")
    pytester.runpytest_inprocess("-p", "dpassay.pytest_plugin").assert_outcomes(passed=2)
