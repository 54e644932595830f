"""scikit-learn's random projections, timed in an interpreter that has it: reads a task in JSON, answers in JSON.

Task: "ratings" (path of a compressed matrix, users x items), "method" ("gaussian" or "sparse"), "rows", "seed",
"turns". Answer: "seconds", the median of fit and transform together after a first run, and "version". No dpassay here.
"""

import json
import statistics
import sys
import time


def main() -> None:
    """One task."""
    import scipy.sparse
    import sklearn
    from sklearn import random_projection

    task = json.load(sys.stdin)
    matrix = scipy.sparse.load_npz(task["ratings"])
    name = {"gaussian": "GaussianRandomProjection", "sparse": "SparseRandomProjection"}[task["method"]]
    times = []
    for turn in range(task["turns"] + 1):
        start = time.perf_counter()
        projection = getattr(random_projection, name)(n_components=task["rows"], random_state=task["seed"] + turn)
        projection.fit_transform(matrix)
        times.append(time.perf_counter() - start)
    sys.stdout.write(json.dumps({"seconds": statistics.median(times[1:]), "version": sklearn.__version__}) + "\n")


if __name__ == "__main__":
    main()
