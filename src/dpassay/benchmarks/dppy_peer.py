"""DPPy's exact samplers, timed in an interpreter that has DPPy: reads a task in JSON, answers in JSON; no dpassay here.

Task: "kernel" (path of a .npy file with L), "size" (of a fixed-size process, or null), "seconds", "seed". Answer:
"samples" per second after a first sample, which does the eigendecomposition, and the "mean_size" of the samples.
"""

import contextlib
import io
import json
import sys
import time

import numpy as np


def main() -> None:
    """One task."""
    from dppy.finite_dpps import FiniteDPP

    task = json.load(sys.stdin)
    generator = np.random.RandomState(task["seed"])  # the only kind that DPPy takes
    with contextlib.redirect_stdout(io.StringIO()):
        process = FiniteDPP("likelihood", L=np.load(task["kernel"]))

        def draw() -> int:
            if task["size"] is None:
                return len(process.sample_exact(random_state=generator))
            return len(process.sample_exact_k_dpp(size=task["size"], random_state=generator))

        draw()
        start, number, total = time.perf_counter(), 0, 0
        while number < 2 or time.perf_counter() - start < task["seconds"]:
            total += draw()
            number += 1
        elapsed = time.perf_counter() - start
    sys.stdout.write(json.dumps({"samples": number / elapsed, "mean_size": total / number}) + "\n")


if __name__ == "__main__":
    main()
