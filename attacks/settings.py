"""What the settings of all attacks share; the command line makes its options from them, so nothing heavy is here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

from dpassay.core.checks import check_choices


def setting(default: Any, explanation: str) -> Any:
    """A field of a settings class; the command line shows the explanation."""
    return field(default=default, metadata={"explanation": explanation})


def registered(method: str) -> tuple[str, str]:
    """Id and variant of a method's mechanism: "jlt_repaired" is the variant "repaired" of "jlt", "jlt" the paper's."""
    id, _, variant = method.rpartition("_")
    return (id, variant) if variant in ("released", "repaired") else (method, "paper")


@dataclass(frozen=True, kw_only=True)
class AttackSettings:
    """Settings of an attack. A subclass adds `method`, whose type lists what can be attacked, and settings of its own.

    Raises InvalidInput for a value out of range.

    Attributes:
        report: the module whose `run` takes these settings by name.
        metrics: what its report measures, whatever the method: of every name the meaning, one sentence.
        seed: of everything random.
    """

    report: ClassVar[str]
    metrics: ClassVar[Mapping[str, str]]

    seed: int = setting(0, "Seed of everything random.")

    def __post_init__(self) -> None:
        check_choices(self)

    @classmethod
    def methods(cls) -> tuple[str, ...]:
        """The recommenders or mechanisms that the attack can be aimed at."""
        return get_args(cls.__dataclass_fields__["method"].type)
