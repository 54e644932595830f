"""dp-accounting: what each of its accountants says of a few events, under each relation that it takes.

An event's noise multiplier is the standard deviation over the bound of one record (the documentation of
`GaussianDpEvent`), of which a replacement moves a sum by two.
"""

from collections.abc import Iterator

from dpassay.accounting.accountants import answers
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library
from dpassay.scanning.candidates import DECLARED, Accounted, Candidate, NotJudged

_DELTA = 1e-5
_ACCOUNTANTS = ("PLDAccountant", "RdpAccountant")
_MODULES = {"PLDAccountant": "pld", "RdpAccountant": "rdp"}
_GAUSSIAN = "dp_accounting.GaussianDpEvent(1.0)"
_STEP = "dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))"
_EVENTS = {
    _GAUSSIAN: ("add_or_remove_one", "replace_one"),
    f"dp_accounting.SelfComposedDpEvent({_GAUSSIAN}, 10)": ("add_or_remove_one", "replace_one"),
    f"dp_accounting.SelfComposedDpEvent({_STEP}, 1000)": ("add_or_remove_one",),
    "dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(2.0), 10)": ("add_or_remove_one",),
}
"""Event -> the relations under which its documentation says how much one record moves."""


def candidates() -> Iterator[Candidate | NotJudged]:
    """An accountant for each event and relation."""
    for event, relations in _EVENTS.items():
        for relation in relations:
            for accountant in _ACCOUNTANTS:
                yield _candidate(accountant, event, relation)


def _candidate(accountant: str, event: str, relation: str) -> Candidate:
    accounting = library("dp_accounting")
    made = eval(event, {"dp_accounting": accounting})

    def asked() -> Accounted:
        told = next((each for each in answers(made, relation, _DELTA, 0.0, 0.0) if each.accountant == accountant), None)
        if told is None or told.epsilon is None:
            raise InvalidInput(told.judgement if told else "this version has no such accountant")
        return Accounted(made, told.epsilon, _DELTA, relation)

    shown = f"dp_accounting.{_MODULES[accountant]}.{accountant}"
    neighbors = f"dp_accounting.NeighboringRelation.{relation.upper()}"
    code = f"import dp_accounting\nimport dp_accounting.{_MODULES[accountant]}\nimport dpassay as dp\nevent = {event}\n"
    code += f"epsilon = {shown}(neighboring_relation={neighbors}).compose(event).get_epsilon({_DELTA})\n"
    code += f"print(dp.check_accounting(event, claim=dp.PrivacyClaim(epsilon, {_DELTA}), relation={relation!r}))"
    name = f"{shown}, {relation}: {event.replace('dp_accounting.', '')}"
    note = "the noise multiplier is the standard deviation over the bound of one record"
    return Candidate("accountant", name, "", asked, relation=relation, source=DECLARED, code=code, notes=(note,))
