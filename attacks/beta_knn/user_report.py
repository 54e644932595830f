"""The report of `dpassay attack beta-knn` on user-based recommenders; the attack itself is in `users`."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel, described
from dpassay.attacks.beta_knn.neighbor_accuracy import held_out
from dpassay.attacks.beta_knn.recommender import NAMES, Recommender, with_beta
from dpassay.attacks.beta_knn.settings import Attack, UserMethod, UserSettings
from dpassay.attacks.beta_knn.users import TINY, Scene, UserOutcome, simulate
from dpassay.attacks.metrics import Metric, by_name, mean_metric
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings

REPAIR_TARGETS = 40
REPAIRS: tuple[UserMethod, ...] = ("npns_repaired", "ppns_repaired")
RANDOM = "neighbors at random"
BLIND = 1e-9  # an epsilon at which the exponential weights of all candidates are equal


def run(ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any) -> AttackReport:
    """Simulates the beta-kNN attack on one recommender; the settings are those of `UserSettings`.

    Raises:
        InvalidInput: a setting out of range, no user with more than m ratings, or more fakes than fit into memory.
    """
    start = time.perf_counter()
    attack = UserSettings(**settings)
    recommender = _recommender(ratings, attack)
    scene = Scene(ratings, recommender, attack, attack.targets, True)
    outcome = scene.outcome(progress)
    metrics = outcome.metrics()
    found = by_name(metrics)
    built = recommender.mechanism()
    sizes = {name: getattr(recommender, name) for name in ("num_neighbors", "num_nearest")}
    about = {"mechanism": attack.method, "parameters": sizes} if built is None else described(built, "target")
    return AttackReport(
        attack="beta-knn",
        title=f"{outcome.num_fakes} fake accounts against a recommender with {NAMES[attack.method]}",
        **about,
        threat_model=_threat_model(outcome, attack),
        summary=_summary(outcome, attack, found),
        settings={
            **{each.name: getattr(attack, each.name) for each in fields(Attack) if each.name != "seed"},
            **{name: getattr(recommender, name) for name in ("similarity", "ties", "min_overlap", "significance")},
            "noise": recommender.noise if attack.method == "pncf" else "none",
            "num_neighbors": recommender.num_neighbors,
            "targets": len(outcome.targets),
        },
        metrics=metrics,
        dataset=ratings,
        tables=(_paired_table(outcome), *_size_tables(outcome)),
        plots=(_distribution(outcome),),
        victim=_victim(scene, outcome),
        privacy=_privacy(recommender, attack, outcome, found["advantage"]),
        repair=_repair(ratings, recommender, attack, outcome, progress),
        limits=_limits(recommender, attack),
        seed=attack.seed,
        seconds=time.perf_counter() - start,
    )


def _recommender(ratings: Ratings, settings: UserSettings) -> Recommender:
    """The recommender that is attacked."""
    own = {each.name for each in fields(Recommender)} & vars(settings).keys()
    k = max(2, min(50, ratings.num_users // 10)) if settings.num_neighbors is None else settings.num_neighbors
    given = {name: getattr(settings, name) for name in own} | {"num_neighbors": k, "num_nearest": k}
    return with_beta(Recommender(**given, max_rating=max(ratings.scale[1], TINY)), settings.beta)


def _threat_model(outcome: UserOutcome, attack: Attack) -> ThreatModel:
    sees = {
        "ratings": "the predicted rating of every item that the recommender has one for",
        "top_n": f"a list of {attack.list_length} recommended items",
        "both": f"a list of {attack.list_length} recommended items with their predicted ratings",
    }[attack.channel]
    which = {"random": "", "popular": " of popular items", "rare": " of rare items"}[attack.choice]
    errors = f", {attack.wrong:.0%} of them wrong by one star" if attack.wrong else ""
    again = f" {attack.restarts} times over, each with other known ratings," if attack.restarts > 1 else ""
    return ThreatModel(
        knows=f"{attack.num_known} ratings{which} of one customer{errors}, the recommender, and how popular each item "
        "is.",
        does=f"Creates{again} {outcome.num_fakes} fake accounts with exactly these ratings.",
        sees=f"What each fake is shown, {'once' if attack.rounds == 1 else f'{attack.rounds} times'}: {sees}.",
    )


def _summary(outcome: UserOutcome, attack: Attack, found: Mapping[str, Metric]) -> list[str]:
    known = attack.num_known * attack.restarts
    lines = [
        f"With {outcome.num_fakes * attack.restarts} fake accounts and {known} known ratings, "
        f"{_percent(found['yield'])} of a customer's other ratings were found out on average over "
        f"{len(outcome.targets)} customers; as many of the most popular items, named without any fake account, find "
        f"{found['guess-yield'].value:.0%}."
    ]
    advantage = found["advantage"]
    if math.isnan(found["precision"].value):
        lines.append("The attacker could not name a single item.")
    else:
        lines.append(
            f"Of the items that the attacker named, {_percent(found['precision'])} had been rated by the customer, of "
            f"the popular ones {found['guess-precision'].value:.0%}. {outcome.beside_guess(advantage)}"
        )
    if not math.isnan(found["exact-value"].value):
        lines.append(
            f"The rating itself was right in {_percent(found['exact-value'])} of these cases; the item's average "
            f"rating would be right in {found['guess-exact-value'].value:.0%}."
        )
    if advantage.low is not None and advantage.high is not None:
        value, low, high = (100 * number for number in (advantage.value, advantage.low, advantage.high))
        lines.append(
            "A single rating that the customer had given was named more often than in the same world without it, by "
            f"{value:.0f} percentage points (95% interval {low:.0f} to {high:.0f})."
        )
    return lines


def _percent(metric: Metric) -> str:
    return f"{metric.value:.0%} (95% interval {metric.low:.0%} to {metric.high:.0%})"


def _paired_table(outcome: UserOutcome) -> Table:
    rows = []
    for text, values in (("present", outcome.found_present), ("removed", outcome.found_absent)):
        metric = mean_metric("share", values)
        rows.append([text, metric.trials, metric.cell()])
    return Table(
        "One hidden rating per target, the same world with and without it",
        ["the rating is", "targets", "it is named (95% interval)"],
        rows,
    )


def _distribution(outcome: UserOutcome) -> Plot:
    """How many targets lost how much, beside what naming as many popular items finds out."""
    edges = np.linspace(0, 1, 11)
    hidden = np.maximum(outcome.hidden, 1)
    series = []
    for label, hits in (("attack", outcome.hits), ("as many popular items, without it", outcome.guess_hits)):
        counts, _ = np.histogram(hits / hidden, edges)
        series.append(Series(label, edges.tolist(), [*counts.tolist(), 0], shape="steps"))
    title = "How much of each target's other ratings was found out"
    return Plot(title, "share of the target's other ratings", "targets", series)


def _size_tables(outcome: UserOutcome) -> tuple[Table, ...]:
    """Who is at risk: the targets in four groups by their number of hidden ratings."""
    if len(outcome.targets) < 8:
        return ()
    rows = []
    for part in np.array_split(np.argsort(outcome.hidden, kind="stable"), 4):
        found = by_name(outcome.part(part).metrics())
        hidden = outcome.hidden[part]
        names = ("yield", "precision", "guess-precision", "exact-value")
        rows.append([f"{hidden.min():.0f} to {hidden.max():.0f}", len(part), *(found[name].cell() for name in names)])
    columns = ["unknown ratings of the target", "targets", "found out", "right when named", "best guess", "value right"]
    return (Table("Who is at risk", columns, rows),)


def _victim(scene: Scene, outcome: UserOutcome) -> dict[str, Any]:
    """The target whose share of recovered ratings is the median, with the ten items that most lists showed."""
    share = outcome.hits / np.maximum(outcome.hidden, 1)
    number = int(np.argsort(share, kind="stable")[len(share) // 2])
    target, known = outcome.targets[number], scene.known[:, number]
    evidence = scene.observe(number, False)
    inferred = np.flatnonzero(scene.infer(evidence, known, scene.catalogue.popularity))
    shown = inferred[np.argsort(-evidence.votes[inferred], kind="stable")][:10]
    truth = dict(zip(*(each.tolist() for each in scene.ratings_of(target)), strict=True))
    rows = []
    for place, item in enumerate(shown.tolist(), 1):
        told = "-" if evidence.levels is None else f"{scene.catalogue.levels[evidence.levels[item].argmax()]:g}"
        true = f"{truth[item]:g}" if item in truth else "not rated"
        rows.append([f"item {place}", f"{evidence.votes[item]} of {evidence.trials[item]}", told, true])
    story = [
        f"User A rated {len(truth)} items; the attacker knew {len(np.unique(known))} of them.",
        f"User A was behind {evidence.with_target} of the {evidence.lists} answers that the fakes got.",
        f"The attacker named {len(inferred)} further items; {outcome.hits[number]:.0f} of them are among the "
        f"{outcome.hidden[number]:.0f} others that user A had rated.",
    ]
    if not math.isnan(outcome.exact[number]) and outcome.hits[number]:
        story.append(f"The rating itself was right for {outcome.exact[number]:.0f} of these.")
    columns = ["item", "answers that showed it", "rating inferred", "true rating"]
    title = "Items that most answers showed, user A being the median target"
    return {"story": story, "tables": [Table(title, columns, rows)] if rows else []}


def _privacy(recommender: Recommender, attack: Attack, outcome: UserOutcome, advantage: Metric) -> tuple[Privacy, ...]:
    what = "the neighbors of one user, when another user's rating is added or removed"
    built, method = recommender.mechanism(), recommender.method
    claimed = math.inf if built is None else float(built.claim.epsilon)
    if method == "pncf":  # its authors claim epsilon for the selection and the noisy prediction together
        claimed = recommender.epsilon
    unbounded = method in ("knn", "top_beta_k", "pncf", "ppns") or (
        not recommender.repaired and recommender.weight == "similarity"
    )
    observed = "not measured" if math.isnan(advantage.value) else f"{advantage.value:.3f}"
    permitted = permitted_advantage(claimed)
    answers = round(outcome.num_queries) if attack.fresh else outcome.num_fakes * attack.restarts
    if math.isinf(claimed):
        says = f"Nothing is claimed, and nothing limits the attacker: the observed advantage is {observed}."
    elif advantage.surely_above(permitted):
        says = (
            f"The observed advantage, {observed}, is above the {permitted:.3f} that the claim permits for one list; "
            f"the attacker reads {answers}, and the ratings in them, which the claim does not cover."
        )
    else:
        says = (
            f"The observed advantage, {observed}, does not exceed the {permitted:.3f} that the claim permits for one "
            f"list, although the attacker reads {answers}; another attacker may reach more."
        )
    if unbounded and not math.isinf(claimed):
        says += " The claim is false: an exact analysis shows outputs that one rating makes possible or impossible."
    entries = [Privacy(what, claimed, math.inf if unbounded else None, advantage, says)]
    if recommender.repaired:
        total = answers * claimed
        says = (
            f"Guarantees add up: {answers} lists of epsilon {claimed:g} each are only guaranteed epsilon {total:g}, "
            f"which permits an advantage of {permitted_advantage(total):.3f}. No epsilon covers the neighbors' ratings "
            "that a prediction is made of."
        )
        what = f"the neighbors of all fakes together, {answers} lists"
        entries.append(Privacy(what, total, None, advantage, says))
    return tuple(entries)


def _repair(
    ratings: Ratings, recommender: Recommender, attack: Attack, outcome: UserOutcome, progress: Callable[[str], None]
) -> dict[str, Any]:
    """The repaired selections under the same attack, on some of the same targets, and what they cost in accuracy."""
    chosen = np.random.default_rng([attack.seed, 4]).permutation(outcome.targets)[:REPAIR_TARGETS]
    compared: dict[str, Recommender] = {}
    rows: list[list[Any]] = []
    found: dict[str, Mapping[str, Metric]] = {}
    unusable = ""
    for method in dict.fromkeys((recommender.method, *REPAIRS)):
        progress(f"beside it: {NAMES[method]}")
        other = replace(recommender, method=method)
        try:
            each = simulate(ratings, other, attack, np.sort(chosen), paired=True)
        except InvalidInput as refusal:
            unusable += f" {NAMES[method]} cannot be used on these data: {refusal}."
            continue
        compared[method], found[method] = other, by_name(each.metrics())
        names = ("yield", "precision", "guess-precision", "advantage", "target-seen")
        rows.append([NAMES[method], _guarantee(method, recommender), *(found[method][name].cell() for name in names)])
    found_columns = ["found out", "right when named", "best guess", "advantage", "target seen"]
    columns = ["method", "epsilon of one list", *found_columns]
    table = Table("The same attack on the repaired selections", columns, rows)
    usable = [method for method in REPAIRS if method in found]
    if not usable:
        return {"text": f"No repaired selection fits these data; use fewer neighbors.{unusable}", "tables": [table]}
    best = min(usable, key=lambda method: found[method]["yield"].value)
    progress("accuracy on held-out ratings")
    blind = replace(recommender, method="npns", weight="exponential", epsilon=BLIND)
    cost, accuracy = _accuracy(ratings, {**compared, RANDOM: blind}, best, attack.seed)
    shares = [f"{found[method]['yield'].value:.1%} with {NAMES[method]}" for method in {best: 0, recommender.method: 0}]
    how = (
        "This selection is repaired already" if recommender.repaired else "Choose neighbors by our repaired selections"
    )
    return {
        "text": f"{how}: over {len(chosen)} of the targets the same attack finds out {', '.join(shares)}. With "
        f"{NAMES[best]}, what it names is right in {found[best]['precision'].value:.1%}, as many popular items in "
        f"{found[best]['guess-precision'].value:.1%}. The guarantee covers one list: limit how often an account is "
        f"answered anew, and how many accounts hold the same ratings.{unusable}\n{cost}",
        "tables": [table] if accuracy is None else [table, accuracy],
    }


def _guarantee(method: str, recommender: Recommender) -> str:
    return f"{recommender.epsilon:g}" if method in REPAIRS else "0" if method == RANDOM else "none proved"


def _accuracy(
    ratings: Ratings, recommenders: Mapping[str, Recommender], best: UserMethod, seed: int
) -> tuple[str, Table | None]:
    """What the first of the recommenders, the repaired ones and random neighbors get wrong, in words and as a table."""
    try:
        measured = held_out(ratings, recommenders, seed)
    except InvalidInput as refusal:
        return f"What it costs in accuracy was not measured: {refusal}.", None
    if np.ptp(ratings.values) == 0:
        return (
            "What it costs in accuracy cannot be seen here: all ratings are equal, and nobody can predict one wrong.",
            None,
        )
    attacked, *_ = recommenders
    names = {**NAMES, RANDOM: RANDOM}
    width = ratings.scale[1] - ratings.scale[0]

    def mean(values: np.ndarray) -> Metric:
        return mean_metric("error", values, weights=measured.counts, bounds=(-width, width))

    def difference(first: str, second: str) -> Metric:
        return mean(measured.errors[first] - measured.errors[second])

    error = {name: mean(values) for name, values in measured.errors.items()}
    own = mean(measured.own_mean)
    rows: list[list[Any]] = []
    for name, cell in error.items():
        extra = None if name == attacked or attacked not in error else difference(name, attacked).cell()
        covered = f"{np.average(measured.covered[name], weights=measured.counts):.0%}"
        rows.append([names[name], _guarantee(name, recommenders[attacked]), cell.cell(), extra, covered])
    rows.append(["no neighbors: the user's own mean", None, own.cell(), None, None])
    table = Table(
        f"Mean absolute error on {measured.counts.sum():,} held-out ratings of {len(measured.counts)} users "
        f"(scale {ratings.scale[0]:g} to {ratings.scale[1]:g}, 95% intervals)",
        ["method", "epsilon of one list", "error", f"more than {names[attacked]}", "ratings that a neighbor has"],
        rows,
    )
    parts = [
        f"{error[name].value:.3f} with {names[name]}" for name in {attacked: 0, best: 0, RANDOM: 0} if name in error
    ]
    text = (
        f"What it costs in accuracy: on {measured.counts.sum():,} held-out ratings the mean absolute error is "
        f"{', '.join([*parts, f'{own.value:.3f} with the own mean rating of each user'])}."
    )
    if best in error and RANDOM in error:
        gain, chosen = difference(best, RANDOM), recommenders[best]
        if gain.high is not None and gain.high >= 0:
            text += (
                f" So {chosen.num_neighbors} neighbors at epsilon {chosen.epsilon:g} are not measurably better than "
                "random ones."
            )
    for name, reason in measured.refused.items():
        text += f" It could not be measured with {names[name]}: {reason}."
    return text, table


def _limits(recommender: Recommender, attack: Attack) -> tuple[str, ...]:
    limits = [
        "The attacker follows one rule of inference; a cleverer one can find out more, so that a low number is no "
        "guarantee.",
        "The recommender is the one of the paper: no profile is too small for it, no account is too similar to another,"
        " and its answers are shown unrounded.",
    ]
    if attack.rule == "votes" and not recommender.repaired:
        limits.append("Popularity is modeled as if users rated items independently of their taste.")
    if attack.other_attackers == 0:
        limits.append("Every target is attacked alone; other fakes in the system would be in the attacker's way.")
    if recommender.method == "pncf" and recommender.noise != "none":
        limits.append("PNCF's noise is drawn once per neighbor and list, for all items of the list.")
    limits.append("Accounts cost nothing here; what an attacker pays for them is not modeled.")
    return tuple(limits)
