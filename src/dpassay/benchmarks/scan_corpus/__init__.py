"""Small maps and mechanisms of our own that break their claims as released libraries did, each with its mended twin.

`broken.maps`, `broken.mechanisms` and the modules of the same names in `mended` are what `dpassay scan` is pointed at:
functions with annotated parameters that declare their claims (`declared`). `SPECIMENS` says of each what is wrong and
which of our engines is to find it.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Engine = Literal["stability", "pairs", "formula"]


@dataclass(frozen=True)
class Specimen:
    """A broken function and its mended twin, by one name in two modules.

    Attributes:
        name: of both functions.
        module: "maps" or "mechanisms".
        kind: of the bug.
        engine: which finds it by default: `dpassay.check_stability`, the search for pairs (`dpassay.search` with a
            strategy of datasets), or a noise formula.
        pair: for a mechanism, two neighboring datasets on which it shows.
    """

    name: str
    module: Literal["maps", "mechanisms"]
    kind: str
    engine: Engine
    pair: tuple[Any, Any] | None = None

    def function(self, side: Literal["broken", "mended"]) -> Any:
        """The function of either side, with its claim as an attribute (`declared`)."""
        return getattr(import_module(f"{__name__}.{side}.{self.module}"), self.name)


def _map(name: str, kind: str) -> Specimen:
    return Specimen(name, "maps", kind, "stability")


def _mechanism(name: str, kind: str, dataset1: Any, dataset2: Any, engine: Engine = "pairs") -> Specimen:
    return Specimen(name, "mechanisms", kind, engine, (dataset1, dataset2))


SPECIMENS: tuple[Specimen, ...] = (
    _map("clipped_sum", "wrong sensitivity"),
    _map("total", "integer overflow"),
    _map("tree_counts", "integer overflow"),
    _map("balance", "rounding beyond the declared bound"),
    _map("unit_sum", "NaN not clamped"),
    _map("mean_sign", "empty data"),
    _map("scaled_sum", "bounds read from data"),
    _map("last_votes", "duplicates"),
    _map("first_ten", "records pushed out"),
    _map("histogram", "off by a factor of 2"),
    _map("net_votes", "wrong relation"),
    _map("seen_counts", "domain read from data"),
    _map("rises", "order"),
    _map("longest_text", "one huge record"),
    _map("rounded_share", "smallest data"),
    _mechanism("scale_without_sensitivity", "scale not used", [], [5]),
    _mechanism("scale_upside_down", "wrong scale", [], [0]),
    _mechanism("seed_fixed", "seed fixed", [], [0]),
    _mechanism("noise_reused", "noise reused", [], [0]),
    _mechanism("domain_from_data", "domain read from data", [], [0]),
    _mechanism("budget_not_split", "budget not split", [], [0]),
    _mechanism("bounds_from_data", "bounds read from data", [], [5]),
    _mechanism("threshold_without_noise", "no noise", [1, 1], [1, 1, 1]),
    _mechanism("no_half_in_exponent", "off by a factor of 2", [], [0]),
    _mechanism("response_of_two_for_ten", "wrong probabilities", 0, 1),
    _mechanism("gaussian_without_two", "wrong noise formula", [], [0], "formula"),
    _mechanism("size_released", "number of records released", [], [0]),
    _mechanism("half_of_replacing", "wrong relation", [-3], [3]),
    _mechanism("noise_on_some", "empty data", [], [0]),
)
