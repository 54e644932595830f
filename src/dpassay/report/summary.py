"""What a run comes to, in a few numbers and sentences: shared by the HTML report and the terminal."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from dpassay.core.claims import LEVELS, OUTCOMES, SOURCES
from dpassay.core.text import finding, several


def counts(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The number of verdicts of each outcome, zeros included, in the order of `OUTCOMES`."""
    found = Counter(verdict["outcome"] for verdict in verdicts)
    return {outcome: found[outcome] for outcome in OUTCOMES}


def by_source(claims: Mapping[str, Any], verdicts: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The verdicts on the papers' own claims ("paper"), and those on ours ("ours"); a group without any is left out."""
    groups = {name: [v for v in verdicts if claims[v["id"]]["source"] == name] for name in SOURCES}
    return {name: group for name, group in groups.items() if group}


def by_finding(verdicts: Sequence[Mapping[str, Any]], order: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
    """The verdicts by outcome in this order, each followed by what a misprint makes so; no empty groups."""
    names = [name for outcome in order for name in (outcome, finding(outcome, "a misprint"))]
    groups = {name: [v for v in verdicts if finding(v["outcome"], v["misprint"]) == name] for name in names}
    return {name: group for name, group in groups.items() if group}


def tally(claims: Mapping[str, Any], verdicts: Sequence[Mapping[str, Any]]) -> str:
    """The papers' own claims by outcome, then ours; a misprint is counted apart from what is refuted.

    As in "40 claims of the papers: 20 holds, 18 refuted, 2 refuted (a misprint); 5 of ours: 5 holds".
    """
    parts = []
    for source, group in by_source(claims, verdicts).items():
        numbers = ", ".join(f"{len(found)} {name}" for name, found in by_finding(group, OUTCOMES).items())
        whose = f"{several(len(group), 'claim')} of the papers" if source == "paper" else f"{len(group)} of ours"
        parts.append(f"{whose}: {numbers}")
    return "; ".join(parts)


def levels(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """How many verdicts rest on proofs of each level, as in "kernel 40, whole 90, steps 60 (20 cite a theorem)"."""
    found = Counter(verdict["level"] for verdict in verdicts)
    cite = sum(bool(verdict["rests_on"]) for verdict in verdicts)
    return ", ".join(f"{level} {found[level]}" for level in LEVELS) + (f" ({cite} cite a theorem)" if cite else "")


def papers(run: Mapping[str, Any]) -> dict[str, str]:
    """The papers that the run's claims are from, in the claims' order, with their titles (or ids)."""
    titles = run.get("papers", {})
    return {claim["paper"]: titles.get(claim["paper"], claim["paper"]) for claim in run["claims"].values()}


def differing(run: Mapping[str, Any]) -> list[str]:
    """The claims whose verdict differs from the reviewed expected one."""
    return [v["id"] for v in run["verdicts"] if v["expected"] is not None and v["expected"] != v["outcome"]]


def agreement(run: Mapping[str, Any]) -> str:
    """How many verdicts differ from the reviewed expected ones, and which."""
    verdicts, names = run["verdicts"], differing(run)
    expected = sum(verdict["expected"] is not None for verdict in verdicts)
    if not expected:
        return "No verdict of this run has a reviewed expectation to compare with."
    named = f": {', '.join(names)}." if names else "."
    verb = "differs" if len(names) == 1 else "differ"
    compared = f"{len(names)} of {expected} verdicts {verb} from the reviewed expected ones{named}"
    rest = len(verdicts) - expected
    if not rest:
        return compared
    return f"{compared} {rest} more {'has' if rest == 1 else 'have'} no reviewed expectation."


def datasets(run: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(what verdicts rest on, how many do): a dataset, none, or one that was not given."""
    kinds = Counter(judged_on(run["claims"][verdict["id"]], verdict) for verdict in run["verdicts"])
    return sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))


def judged_on(claim: Mapping[str, Any], verdict: Mapping[str, Any]) -> str:
    """The dataset in words."""
    if verdict["dataset"]:
        return str(verdict["dataset"])
    return f"not judged: needs {claim['data']}" if claim["data"] else "no ratings needed"


def unjudged(run: Mapping[str, Any]) -> list[str]:
    """The claims of the run that have no verdict (an interrupted run)."""
    judged = {verdict["id"] for verdict in run["verdicts"]}
    return [name for name in run["claims"] if name not in judged]


def replay_command(run: Mapping[str, Any], files: Sequence[str] | None = None) -> str:
    """The command that re-checks these certificate files, or all of the run; "" when none was written.

    Files named without a folder lie in the one that the run's command gave to `--certificates`, without it nowhere.
    """
    names = [name for verdict in run["verdicts"] for name in verdict["certificates"]] if files is None else list(files)
    if not names:
        return ""
    paths = [PurePosixPath(name) for name in names]
    folder = _certificates_folder(run["command"])
    if folder is None and any(len(path.parts) == 1 for path in paths):
        return ""
    paths = [path if len(path.parts) > 1 else PurePosixPath(str(folder)) / path for path in paths]
    if files is not None:
        return " ".join(["dpassay replay", *(shlex.quote(str(path)) for path in paths)])
    folders = dict.fromkeys(str(path.parent) for path in paths)
    return " ".join(["dpassay replay", *("*.json" if f == "." else f"{shlex.quote(f)}/*.json" for f in folders)])


def _certificates_folder(command: str) -> str | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word == "--certificates":
            return following
        if word.startswith("--certificates="):
            return word.partition("=")[2]
    return None
