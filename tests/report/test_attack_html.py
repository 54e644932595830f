"""An attack's report and its schema: complete, self-contained, well formed, and no kinder than the numbers."""

import copy
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel
from dpassay.attacks.metrics import Metric, mean_metric
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import synthetic
from dpassay.report import attack_text
from dpassay.report.attack_html import render_attack
from dpassay.report.schema import schema, validate_attack
from dpassay.report.terminal import print_attack

HOSTILE = "</style></script><script>alert(1)</script><img src=x onerror=alert(1)> & {{ 7*7 }} 数 \u202egnp.exe \x00"


def report(**changes: Any) -> AttackReport:
    """Invented numbers with every shape that a report can have."""
    shares = np.clip(np.random.default_rng(1).normal(0.76, 0.2, 200), 0, 1)
    advantage = Metric("advantage", 0.83, "How much better than guessing.", 0.79, 0.87, 400)
    accounts = [1, 5, 10, 20, 40]
    settings: dict[str, Any] = {"method": "knn", "num_fakes": 40, "num_known": 8, "ties": "random", "sizes": [1, 2]}
    content: dict[str, Any] = {
        "attack": "beta-knn",
        "title": "Fake accounts against a k nearest neighbor recommender",
        "mechanism": "ppns/paper",
        "parameters": {"num_neighbors": 40, "epsilon": 1.0, "probability": 0.5, "similarity": "cosine"},
        "threat_model": ThreatModel(
            "8 ratings of the target, and that the recommender uses 40 neighbors.",
            "Creates 40 accounts that hold exactly these ratings, and asks for predictions.",
            "The predictions for its own accounts, nothing else.",
        ),
        "summary": [
            "With 40 fake accounts and 8 known ratings, 73% of a user's other ratings were recovered exactly.",
            "Guessing each item's mean recovers 38% without any attack.",
            "The repaired mechanism brings the attacker down to 39%.",
        ],
        "settings": settings,
        "metrics": [
            mean_metric("recovered", shares, "Share of a target's hidden ratings that the attacker named exactly."),
            mean_metric("recovered-without", shares / 2, "The same by the best guess without the attack."),
            Metric("rmse", 0.412, "Root mean squared error of the recovered ratings, stars.", 0.371, 0.453, 200),
            Metric("ratings-exposed", 12345.0, "Hidden ratings named exactly, over all targets.", trials=200),
            Metric("unique", math.nan, "Targets told apart by their own taste; nobody had one."),
        ],
        "dataset": synthetic(),
        "tables": [
            {
                "title": "Recovered share by number of fake accounts",
                "columns": ["fakes", "recovered", "95% interval", "who"],
                "rows": [[n, 0.73 * n / 40, f"{0.7 * n / 40:.3f} to {0.76 * n / 40:.3f}", None] for n in accounts],
            }
        ],
        "plots": [
            {
                "title": "Recovered share against the number of fake accounts",
                "x_label": "fake accounts",
                "y_label": "share recovered",
                "series": [
                    {
                        "label": "8 ratings known",
                        "x": accounts,
                        "y": [0.2, 0.4, 0.55, 0.66, 0.73],
                        "low": [0.17, 0.36, 0.51, 0.62, 0.7],
                        "high": [0.23, 0.44, 0.59, 0.7, 0.76],
                    },
                    {"label": "item mean, no attack", "x": accounts, "y": [0.38] * 5},
                ],
            }
        ],
        "victim": {
            "story": [
                "User A rated 54 items. The attacker knows 8 of these ratings from a public review page.",
                "All 40 fake accounts get user A as a neighbor.",
                "Item 1 is predicted as 5 stars for every fake account: user A gave it 5.",
            ],
            "tables": [
                {
                    "title": "What the attacker says about user A",
                    "columns": ["item", "named", "true"],
                    "rows": [["item 1", 5, 5], ["item 2", 1, 1], ["item 3", 4, 3]],
                }
            ],
        },
        "privacy": [
            Privacy(
                "One rating of one user, added or removed (PPNS, Theorem 2)",
                1.0,
                math.inf,
                advantage,
                "The claim permits an advantage of 0.46; 0.83 was reached, so the claim is false.",
            ),
            Privacy("The repaired variant", 1.0, None, None, "Nothing was measured on it here.", delta=1e-5),
        ],
        "repair": {
            "text": "Selecting neighbors with the exponential mechanism on bounded similarities stops the attack.",
            "tables": [
                {
                    "title": "What it costs",
                    "columns": ["mechanism", "recovered", "mean absolute error, stars"],
                    "rows": [["ppns/paper", 0.73, 0.71], ["ppns/repaired", 0.39, 0.75]],
                }
            ],
        },
        "limits": [
            "Only the recommender's own accounts were watched; a second channel would add to what is seen.",
            "Synthetic ratings may be easier or harder to attack than real ones.",
        ],
        "seed": 7,
        "seconds": 12.5,
    }
    return AttackReport(**{**content, **changes})


COMMAND = "dpassay attack beta-knn --method knn --num-fakes 40 --fail-above recovered=0.5 --html attack.html"
LIMITS = {"recovered": 0.5, "rmse": 0.5, "unique": 0.1}


def document(checked: dict[str, float] | None = None, /, **changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(report(**changes).to_json(COMMAND, checked or {})))
    return content


@pytest.fixture(scope="module")
def text() -> str:
    return render_attack(document(LIMITS))


def words(source: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", source[source.index("<body") :]).split())


def test_the_schema_accepts_what_a_report_writes_and_returns_it() -> None:
    Draft202012Validator.check_schema(schema("attack"))
    for content in (document(), document(LIMITS), document(dataset=None, victim=None, repair=None, privacy=())):
        assert validate_attack(content) == content
    assert validate_attack(report().to_json())["victim"]["story"]


MUTATIONS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "other version": (lambda a: a.update(schema_version=2), "schema_version: 1 was expected"),
    "no threat model": (lambda a: a.pop("threat_model"), "'threat_model' is a required property"),
    "half a threat model": (lambda a: a["threat_model"].pop("sees"), "threat_model: 'sees' is a required"),
    "unknown field": (lambda a: a.update(private=True), "'private' was unexpected"),
    "unknown attack": (lambda a: a.update(attack="magic"), "attack: 'magic' is not one of"),
    "no summary": (lambda a: a.update(summary=[]), "summary"),
    "no metrics": (lambda a: a.update(metrics=[]), "metrics"),
    "a name that no option can have": (lambda a: a["metrics"][0].update(name="Re covered"), "metrics/0/name"),
    "a name twice": (lambda a: a["metrics"][1].update(name="rmse"), "two metrics have the same name"),
    "half an interval": (lambda a: a["metrics"][0].update(low=None), "metric 'recovered' has the interval None to"),
    "an interval upside down": (lambda a: a["metrics"][0].update(low=0.9, high=0.1), "interval 0.9 to 0.1"),
    "a negative loss": (lambda a: a["privacy"][0].update(epsilon_claimed=-1), "privacy/0/epsilon_claimed"),
    "an impossible advantage": (lambda a: a["privacy"][0].update(permitted_claimed=2), "permitted_claimed"),
    "a short hash": (lambda a: a["dataset"].update(sha256="00"), "dataset/sha256"),
    "a short row": (lambda a: a["tables"][0]["rows"][0].pop(), "rows longer or shorter"),
    "a short row of the victim": (lambda a: a["victim"]["tables"][0]["rows"][0].pop(), "rows longer or shorter"),
    "unequal series": (lambda a: a["plots"][0]["series"][0]["y"].pop(), "unequal lengths"),
    "a check of nothing": (lambda a: a["checks"][0].update(metric="absent"), "check of 'absent'"),
    "a check with another number": (lambda a: a["checks"][0].update(value=0.1), "check of 'recovered'"),
    "an exceeded limit called kept": (lambda a: a["checks"][0].update(exceeded=False), "check of 'recovered'"),
    "a kept limit called exceeded": (lambda a: a["checks"][1].update(exceeded=True), "check of 'rmse'"),
    "an unmeasured limit called kept": (lambda a: a["checks"][2].update(exceeded=False), "check of 'unique'"),
    "a bare infinity": (lambda a: a["metrics"][0].update(value=math.inf), "write infinities as strings"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_damaged_document_is_refused_in_one_line(name: str) -> None:
    content = document(LIMITS)
    damage, message = MUTATIONS[name]
    damage(content)
    with pytest.raises(InvalidInput) as caught:
        validate_attack(content)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_is_loaded_from_outside_and_no_script_runs(parse: Callable[[str], Any], text: str) -> None:
    page = parse(text)
    (policy,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert not [tag for tag, _ in page.elements if tag in ("script", "link", "img", "iframe", "object", "base", "form")]
    targets = [a[name] for _, a in page.elements for name in ("href", "src") if name in a]
    assert targets
    assert all(target.startswith("#") for target in targets)
    assert "url(http" not in text
    assert "@import" not in text


def test_ids_are_unique_and_every_reference_leads_somewhere(parse: Callable[[str], Any], text: str) -> None:
    elements = parse(text).elements
    ids = [a["id"] for _, a in elements if "id" in a]
    assert len(set(ids)) == len(ids)
    named = {name for _, a in elements for name in a.get("aria-labelledby", "").split()}
    assert named | {a["href"][1:] for _, a in elements if "href" in a} <= set(ids)


def test_everything_a_review_asks_for_is_on_the_page_in_the_digits_of_the_json(text: str) -> None:
    said, content = words(text), document(LIMITS)
    for sentence in (*content["summary"], *content["threat_model"].values(), *content["limits"]):
        assert sentence.replace("'", "&#39;") in said
    for metric in content["metrics"]:
        assert metric["name"] in said
        assert attack_text.quantity(metric["value"]) in said
        assert attack_text.interval(metric) in said
        assert metric["meaning"].replace("'", "&#39;") in said
    assert "User A rated 54 items" in said
    assert "Selecting neighbors with the exponential mechanism" in said
    assert COMMAND in said
    assert content["dataset"]["sha256"] in said
    assert "Seed 7" in said
    assert "num_fakes = 40" in said
    assert "claimed 1 at most 0.462" in said
    assert "shown by this project infinite at most 1" in said
    assert "0.830 (95% interval 0.790 to 0.870, 400 trials)" in said
    assert "Seen is more than the claim permits." in said
    assert "drawn by a program: these numbers are about no real people" in said


def test_the_limits_are_told_at_the_top(text: str) -> None:
    top = words(text[: text.index("Who attacks")])
    assert "above the limit The attack succeeds too well: 1 of 3 limits is exceeded." in top
    assert "kept rmse is 0.412 (95% interval 0.371 to 0.453, 200 trials), not above the limit 0.500." in top
    assert "not measured unique could not be measured" in top
    kept = render_attack(document({"rmse": 0.5}))
    assert '<div class="finding holds">' in kept
    assert "This does not show the mechanism private." in kept
    assert '<div class="finding open">' in render_attack(document())
    unmeasured = render_attack(document({"rmse": 0.5, "unique": 0.5}))
    assert '<div class="finding refuted">' in unmeasured
    assert "Not passed: 1 of 2 limits could not be compared." in unmeasured


def test_an_interval_around_the_limit_is_pointed_out() -> None:
    content = document({"rmse": 0.4})
    assert "more trials may decide otherwise" in attack_text.check_sentence(content, content["checks"][0])
    content = document({"rmse": 0.3})
    assert "otherwise" not in attack_text.check_sentence(content, content["checks"][0])


@pytest.mark.parametrize(
    ("value", "low", "claimed", "said"),
    [
        (0.83, 0.79, 1.0, "more than the claim permits"),
        (0.83, None, 1.0, "more than the claim permits"),
        (0.5, 0.4, 1.0, "above what the claim permits, but by no more than chance explains"),
        (0.4, 0.3, 1.0, "within what the claim permits, which does not show it true"),
        (0.83, 0.79, math.inf, "not limited by any claim"),
        (math.nan, None, 1.0, "not measured"),
    ],
)
def test_the_advantage_is_compared_with_the_claim(
    parse: Callable[[str], Any], value: float, low: float | None, claimed: float, said: str
) -> None:
    seen = Metric("advantage", value, "Better than guessing.", low, None if low is None else 0.9, 10)
    (entry,) = document(privacy=[Privacy("One rating", claimed, None, seen, "So it is.")])["privacy"]
    assert attack_text.judgment(entry) == said
    page = render_attack(document(privacy=[Privacy("One rating", claimed, None, seen, "So it is.")]))
    parse(page)
    assert f"Seen is {said}." in page
    assert ("claimed nothing at most 1" in words(page)) == math.isinf(claimed)
    red = '<rect x="150" y="35"' in page and 'fill="var(--refuted)"/>' in page
    assert red == (said == "more than the claim permits")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *[(0.7312, "0.731"), (0, "0"), (1.0, "1"), (12345.0, "12,345"), (1234.56, "1,234.6"), (0.00012, "0.00012")],
        *[("inf", "infinite"), ("nan", "not measured"), (None, "\N{EN DASH}"), (12.345, "12.35"), (-0.25, "-0.250")],
    ],
)
def test_numbers_are_written_for_people(value: Any, said: str) -> None:
    assert attack_text.quantity(value) == said


def test_the_verdicts_on_the_mechanism_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    content = document()
    assert {(each["id"], each["outcome"]) for each in content["verdicts"]} >= {("PP-DP", "refuted")}
    page = words(render_attack(content))
    for each in content["verdicts"]:
        assert f"{each['id']} {each['outcome']}" in page
    print_attack(content)
    assert "PP-DP refuted" in capsys.readouterr().out
    assert "Claims about" not in render_attack(document(mechanism="mine"))
    (decided,) = document(mechanism="knn/paper")["verdicts"]
    assert (decided["id"], decided["dataset"]) == ("PP-ATK", "movielens-100k")


def test_a_line_of_the_repair_is_a_paragraph() -> None:
    content = document(repair={"text": "Change the selection.\nIt costs 0.07 stars.", "tables": []})
    assert "<p>Change the selection.</p><p>It costs 0.07 stars.</p>" in render_attack(content)


def test_real_data_are_named_and_not_called_synthetic() -> None:
    content = document()
    content["dataset"]["name"] = "movielens-100k"
    assert "drawn by a program" not in render_attack(content)
    assert "movielens-100k: 120 users, 80 items" in words(render_attack(content))


def test_hostile_text_stays_text(parse: Callable[[str], Any], capsys: pytest.CaptureFixture[str]) -> None:
    content = document(LIMITS, mechanism="<script>", title=HOSTILE, summary=[HOSTILE], limits=[HOSTILE])
    content["command"] = content["dataset"]["name"] = content["threat_model"]["knows"] = HOSTILE
    content["metrics"][0]["meaning"] = content["tables"][0]["title"] = content["tables"][0]["rows"][0][3] = HOSTILE
    content["plots"][0]["title"] = content["privacy"][0]["what"] = content["privacy"][0]["says"] = HOSTILE
    content["settings"] = {HOSTILE: HOSTILE}
    content["victim"]["story"] = [HOSTILE]
    content["repair"]["text"] = HOSTILE
    page = render_attack(content)
    parse(page)
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "{{ 7*7 }}" in page
    assert "&lt;script&gt;" in page
    content["metrics"][0]["meaning"] = "[bold]not markup[/bold]"
    print_attack(content)
    assert "[bold]not markup[/bold]" in capsys.readouterr().out


def test_the_terminal_has_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    content = document(LIMITS)
    print_attack(content)
    said = " ".join(capsys.readouterr().out.split())
    for metric in content["metrics"]:
        assert f"{metric['name']} {attack_text.quantity(metric['value'])}" in said
        assert attack_text.interval(metric) in said
    assert "attacker knows 8 ratings of the target" in said
    assert "claimed epsilon 1 permits an advantage of 0.462; the loss found is infinite and permits 1" in said
    assert "seen: 0.830 (95% interval 0.790 to 0.870, 400 trials), more than the claim permits" in said
    assert "claimed epsilon 1, delta 1e-05 permits an advantage of 0.462; the advantage was not measured" in said
    assert "EXCEEDED recovered is 0." in said
    assert "Synthetic ratings (120 users" in said


def test_equal_attacks_give_equal_bytes_in_another_process(text: str) -> None:
    program = (
        "import json, sys; from dpassay.report.attack_html import render_attack; "
        "sys.stdout.buffer.write(render_attack(json.load(sys.stdin)).encode())"
    )
    source = json.dumps(document(LIMITS)).encode()
    run = subprocess.run([sys.executable, "-c", program], input=source, check=True, capture_output=True)
    assert run.stdout.decode() == text
    other = copy.deepcopy(document(LIMITS))
    other["metrics"][2]["value"] = 0.4
    other["checks"][1]["value"] = 0.4
    assert render_attack(other) != text
