"""Small maps and mechanisms of our own that break their claims as released libraries did, each with its mended twin.

`broken.maps`, `broken.mechanisms` and the modules of the same names in `mended` are what `dpassay scan` is pointed at:
functions with annotated parameters that declare their claims (`declared`); those of `formulas` and `undeclared` declare
nothing, and what they promise is read from names and parameters. `SPECIMENS` says of each what is wrong and which of
our engines is to find it.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Engine = Literal["stability", "pairs", "formula", "accounting"]


@dataclass(frozen=True)
class Specimen:
    """A broken function and its mended twin, by one name in two modules.

    Attributes:
        name: of both functions.
        module: "maps", "mechanisms", "formulas" or "undeclared".
        kind: of the bug.
        engine: which finds it by default: `dpassay.check_stability`, the search for pairs (`dpassay.search` with a
            strategy of datasets, or an audit), a noise formula, or certified accounting.
        pair: for a mechanism, two neighboring datasets on which it shows.
    """

    name: str
    module: Literal["maps", "mechanisms", "formulas", "undeclared"]
    kind: str
    engine: Engine
    pair: tuple[Any, Any] | None = None

    def function(self, side: Literal["broken", "mended"]) -> Any:
        """The function or class of either side."""
        return getattr(import_module(f"{__name__}.{side}.{self.module}"), self.name)


def _map(name: str, kind: str) -> Specimen:
    return Specimen(name, "maps", kind, "stability")


def _mechanism(name: str, kind: str, dataset1: Any, dataset2: Any, engine: Engine = "pairs") -> Specimen:
    return Specimen(name, "mechanisms", kind, engine, (dataset1, dataset2))


def _formula(name: str, kind: str, engine: Engine = "formula") -> Specimen:
    return Specimen(name, "formulas", kind, engine)


def _undeclared(name: str, kind: str, engine: Engine = "pairs") -> Specimen:
    return Specimen(name, "undeclared", kind, engine)


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
    _formula("gaussian_sigma", "wrong noise formula"),
    _formula("log10_gaussian_scale", "wrong logarithm"),
    _formula("gaussian_std", "variance for standard deviation"),
    _formula("classical_gaussian_sigma", "formula beyond its range"),
    _formula("laplace_scale", "wrong scale"),
    _formula("laplace_noise_std", "off by a factor of 2"),
    _formula("geometric_noise_scale", "wrong scale"),
    _formula("advanced_composition", "missing term of composition", "accounting"),
    _formula("basic_composition", "wrong composition", "accounting"),
    _formula("compute_epsilon", "steps not counted", "accounting"),
    _formula("privacy_spent", "wrong conversion", "accounting"),
    _undeclared("noisy_sum", "scale not used", "formula"),
    _undeclared("noisy_mean", "sensitivity divided twice"),
    _undeclared("laplace_mechanism", "wrong scale", "formula"),
    _undeclared("gaussian_mechanism", "formula beyond its range", "formula"),
    _undeclared("randomized_response", "wrong probabilities"),
    _undeclared("exponential_mechanism", "off by a factor of 4"),
    _undeclared("report_noisy_max", "no noise"),
    _undeclared("HistogramRelease", "domain read from data"),
    _undeclared("TruncatedCount", "noise of one sign"),
)
