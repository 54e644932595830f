"""`dpassay search`: neighboring datasets that break a claim."""

from pathlib import Path
from typing import Any

import click

from dpassay.commands.output import Outputs, as_json, interruptible, path_type, what_is_kept
from dpassay.commands.scheduling import executor_for, scheduler_option
from dpassay.commands.supervised import isolate_option, limit
from dpassay.commands.target import Target, target_options
from dpassay.core.errors import InvalidInput


@click.command()
@target_options
@click.option(
    "--relation",
    required=True,
    metavar="KIND:UNIT",
    help="For example add_or_remove_one:rating; for vectors of numbers vector:one or vector:all.",
)
@click.option("--epsilon", required=True, type=float, help="The claim, nats.")
@click.option("--delta", default=0.0, show_default=True, help="The claim, a probability.")
@click.option("--black-box", is_flag=True, help="Search on samples although the law is known.")
@click.option(
    "--failure-probability", default=0.05, show_default=True, help="Of a witness that keeps the claim (on samples)."
)
@click.option(
    "--start", type=path_type(), help="Ratings to start from: delimited text, .json or .npy. Default: random ones."
)
@click.option("--users", default=4, show_default=True, help="Users of the random ratings.")
@click.option("--items", default=3, show_default=True, help="Items of the random ratings; the length of vectors.")
@click.option("--time-limit", default=60.0, show_default=True, help="Seconds.")
@isolate_option
@click.option("--seed", default=0, show_default=True, help="Seed of the search.")
@scheduler_option
@click.option(
    "--resume", type=path_type(), metavar="FILE", help="Keep the steps in this file, and go on from them when killed."
)
@click.option("--json", "json_path", type=path_type(), help="Write the witness as JSON.")
def search(
    target: Target,
    relation: str,
    epsilon: float,
    delta: float,
    black_box: bool,
    failure_probability: float,
    start: Path | None,
    users: int,
    items: int,
    time_limit: float,
    isolate: str | None,
    seed: int,
    scheduler: str | None,
    resume: Path | None,
    json_path: Path | None,
) -> int:
    """Search for neighboring datasets that break a mechanism's claim, and shrink what is found.

    The mechanism is MODULE:NAME of your own, or the ID of a registered one such as ppns. With finitely many outputs
    and an exact law (`log_prob` and `outputs`) the search is exact; any other that can be sampled is searched as a
    black box. Exits with 1 when a witness was found.
    """
    from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
    from dpassay.core.protocol import FiniteMechanism

    limit(isolate)
    vectors, claim = relation.startswith("vector:"), PrivacyClaim(epsilon, delta)
    if not vectors:
        NeighboringRelation.parse(relation)
    if not time_limit > 0:
        raise InvalidInput(f"time limit is {time_limit:g}; give a number of seconds above 0")
    outputs = Outputs(json_path, resume)
    mechanism = target.mechanism()
    sampled = black_box or vectors or not isinstance(mechanism, FiniteMechanism)
    shared: dict[str, Any] = {
        "start": None if start is None else _dataset(start, sampled),
        "num_users": users,
        "num_items": items,
        "time_limit": time_limit,
        "seed": seed,
        "resume": resume,
    }
    from dpassay.report.progress import Progress

    with (
        interruptible(what_is_kept(resume)),
        executor_for(scheduler) as executor,
        Progress(target.target, time_limit) as status,
    ):
        shared["executor"] = executor
        if sampled:
            from dpassay.auditors.neighbor_search import search_black_box

            shared |= {"failure_probability": failure_probability, "progress": status.note}
            found = search_black_box(mechanism, relation, claim=claim, **shared)
        else:
            from dpassay.auditors.search import search as search_exactly

            found = search_exactly(mechanism, relation, epsilon=epsilon, delta=delta, **shared)
    if found is None:
        click.echo(
            f"no witness against {claim} ({relation}) found within {time_limit:g} s; "
            "this does not show the mechanism private"
        )
        return 0
    with outputs.attempt():
        click.echo(str(found))
    outputs.write(json_path, "witness", lambda: as_json(found.to_json()))
    return outputs.exit_code(violated=True)


def _dataset(path: Path, any_kind: bool) -> Any:
    """Numbers of any shape, or a matrix of ratings."""
    from dpassay.auditors.search import start_numbers
    from dpassay.data.dataset_files import load_dataset
    from dpassay.data.rating_files import load_ratings

    if not any_kind:
        return load_ratings(path).dense()
    dataset = load_dataset(path)
    if hasattr(dataset, "columns"):
        raise InvalidInput(f"{path.name} is a table; a search starts from ratings or numbers")
    return start_numbers(dataset)
