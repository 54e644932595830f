"""DP-Sniper, timed in an interpreter that has it: reads a task in JSON, answers in JSON; no dpassay here.

Task: "mechanism" (a class of dpsniper.mechanisms), "parameters", "dimensions" of its input, "componentwise" (whether
all entries of the input may differ, or one), "flags" (special outputs that get columns of their own, or null),
"num_outputs" (columns of the features), "train" and "final" (samples of its two kinds of phases), "seed". The
classifier is logistic regression with the settings of its evaluation (dpsniper/experiments/exp_default.py). Answer:
"seconds" of search and final bound together, the "bound" at confidence 0.9, and "seconds_on_pair": the same again on
the pair that was found, in the order it was found in.
"""

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any


@dataclass
class Found:
    """Its interface of a generator of pairs; it is sent to other processes, so it stands here."""

    pairs: list[Any]

    def get_input_pairs(self) -> list[Any]:
        """The pairs."""
        return self.pairs


def main() -> None:
    """One task."""
    import dpsniper.mechanisms.laplace as laplace
    import dpsniper.mechanisms.sparse_vector_technique as sparse_vector
    import numpy as np
    import torch
    from dpsniper.attack.dpsniper import DPSniper
    from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory
    from dpsniper.classifiers.feature_transformer import FlagsFeatureTransformer
    from dpsniper.classifiers.torch_optimizer_factory import SGDOptimizerFactory
    from dpsniper.input.input_domain import InputBaseType, InputDomain
    from dpsniper.input.pattern_generator import PatternGenerator
    from dpsniper.search.ddconfig import DDConfig
    from dpsniper.search.ddsearch import DDSearch
    from dpsniper.utils.initialization import initialize_dpsniper

    task = json.load(sys.stdin)
    np.random.seed(task["seed"])  # noqa: NPY002  (the only generator that it takes)
    torch.manual_seed(task["seed"])
    module = laplace if hasattr(laplace, task["mechanism"]) else sparse_vector
    mechanism = getattr(module, task["mechanism"])(**task["parameters"])
    domain = InputDomain(task["dimensions"], InputBaseType.FLOAT, [-10, 10])
    factory = LogisticRegressionFactory(
        feature_transform=FlagsFeatureTransformer(task["flags"]) if task["flags"] else None,
        in_dimensions=task["num_outputs"],
        optimizer_factory=SGDOptimizerFactory(learning_rate=0.3, momentum=0.3, step_size=500),
        regularization_weight=0.001,
        epochs=10,
    )
    train, final = task["train"], task["final"]
    config = DDConfig(n_train=train, n=train, n_check=train, n_final=final)
    seconds: list[tuple[float, float]] = []
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder, initialize_dpsniper(config, out_dir=folder):
        for pairs in (PatternGenerator(domain, task["componentwise"]), Found(found)):
            start = time.perf_counter()
            witness = DDSearch(mechanism, DPSniper(mechanism, factory, config), pairs, config).run()
            witness.compute_eps_high_precision(mechanism, config)
            seconds.append((time.perf_counter() - start, float(witness.lower_bound)))
            found.append((witness.a1, witness.a2))
    (full, bound), (on_pair, _) = seconds
    sys.stdout.write(json.dumps({"seconds": full, "bound": bound, "seconds_on_pair": on_pair}) + "\n")


if __name__ == "__main__":
    main()
