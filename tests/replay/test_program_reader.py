"""What the reader refuses: with its place, and before anybody believes it means something else."""

import pytest

from dpassay.replay.program_core import Refused
from dpassay.replay.program_interpreter import Undefined, interpret
from dpassay.replay.program_reader import read

REFUSED = {
    "else after a loop": "for x in data:\n    pass\nelse:\n    return 1",
    "two names of a list that grows": "a = []\nb = a\na.append(1)\nreturn b",
    "a chained assignment of lists": "a = b = []\na.append(1)\nreturn b",
    "a list that grows while a loop runs over it": "a = [1]\nfor x in a:\n    a.append(x)\nreturn a",
    "another list under the loop's name": "a = [1]\nfor x in a:\n    a = [2]\nreturn a",
    "a negative index": "return data[-2]",
    "an array changed in place": "a = np.zeros(2)\na += 1\nreturn a",
    "a list of lists": "a = [[1]] * 2\nreturn a",
    "the data assigned": "data = [1]\nreturn data",
    "the generator assigned": "rng = 1\nreturn rng",
    "another name of the generator": "r = rng\nreturn r.laplace()",
    "two loops in a comprehension": "return [x for x in data for y in data]",
    "a generator kept": "g = (x for x in data)\nreturn sum(g)",
    "lambda": "return (lambda: 1)()",
    "a walrus": "return (x := 1)",
    "try": "try:\n    return 1\nfinally:\n    pass",
    "a name that hides a builtin": "sum = 3\nreturn sum(data)",
    "a parameter of another kind": "c = [1]\nreturn c",
    "is": "return c is 1",
    "a keyword of sum": "return sum(data, start=3)",
    "a keyword of max": "return max(data, key=abs)",
    "an exponent that is no small literal": "return c**c",
    "a uniform draw that is kept": "u = rng.random()\nreturn u",
    "another draw": "return rng.poisson(1)",
    "one geometric draw": "return rng.geometric(1 / 2)",
    "scales of an array": "return rng.laplace(0, np.asarray(data))",
    "a shape": "return rng.laplace(size=(2, 2))",
    "a recursion": "return f(rng, data, c)",
    "numpy's own generator": "return np.random.default_rng().laplace()",
    "a dictionary": "return {1: 2}",
    "a formatted text": 'return f"{c}"',
    "an attribute": "return data.real",
    "an import inside": "import math\nreturn 1",
    "a dtype that cuts": "return np.asarray(data, dtype=int)",
    "a filtered list, whose length is private": "return [x for x in data if x > 0]",
    "a filtered list in a tuple": "return 1, [x for x in data if x > 0]",
    "the largest of a filtered list": "return max([x for x in data if x > 0])",
    "the mean of a filtered list": "return np.mean([x for x in data if x > 0])",
    "an element of a filtered list": "a = [x for x in data if x > 0]\nreturn a[0]",
    "a filtered list as a test": "a = [x for x in data if x > 0]\nif a:\n    return 1\nreturn 0",
    "a loop over a filtered list": "a = 0\nfor x in [x for x in data if x > 0]:\n    a += 1\nreturn a",
    "a filtered list that grows": "a = [x for x in data if x > 0]\na.append(1)\nreturn len(a)",
    "a list that is filtered later": "a = []\na = [x for x in data if x > 0]\nreturn len(a)",
    "a filter that draws": "return sum(x for x in data if rng.laplace() > 0)",
    "a filtered list that draws": "return sum(x + rng.laplace() for x in data if x > 0)",
    "a filtered list beside another": "return sum(x * y for x, y in zip([x for x in data if x > 0], data))",
    "a filter with a loop": "return sum(x for x in data if x > sum(data))",
    "the data changed": "data[0] = 1\nreturn 1",
    "the data without an entry": "data.pop()\nreturn 1",
    "a changed list with two names": "a = [1]\nb = a\na[0] = 2\nreturn b",
    "an element in a list with two names": "a = [1]\nb = a\nb[0] += 2\nreturn a",
    "a list that changes while a loop runs over it": "a = [1, 2]\nfor x in a:\n    a[1] = x + 1\nreturn a",
    "a popped list with two names": "a = [1]\nb = a\na.pop()\nreturn b",
    "a list with two names popped and appended": "a = [1]\nb = a\nc = []\nc.append(a.pop())\nreturn b",
    "the data's entry appended": "a = []\na.append(data.pop())\nreturn 1",
    "pop in a tuple that is appended": "a = [1, 2]\nb = []\nb.append((a[0], a.pop(0)))\nreturn b",
    "pop amid an expression that is appended": "a = [1, 2]\nb = []\nb.append(a[-1] + a.pop())\nreturn b",
    "pop of a list that a loop runs over": "a = [1, 2]\nb = []\nfor x in a:\n    b.append(a.pop())\nreturn b",
    "pop in a comprehension": "a = [1, 2]\nreturn [a.pop() for i in range(2)]",
    "pop amid an expression": "a = [1, 2]\nb = a[-1] + a.pop()\nreturn b",
    "an array of unknown dtype changed": "a = np.asarray(data)\na[0] = 1 / 2\nreturn a",
    "an array with two names changed": "a = np.zeros(2)\nb = a\na[0] = 1\nreturn b",
    "an array changed that a slice shares": "a = np.zeros(2)\nb = a[1:]\na[1] = 1\nreturn b",
    "an array changed that asarray shares": "a = np.zeros(2)\nb = np.asarray(a)\na[1] = 1\nreturn b",
    "a tuple in an array": "a = np.zeros(2)\na[0] = (1, 2)\nreturn a",
    "a slice with a step": "return data[::2]",
    "a step of 0": "for i in range(0, 9, 0):\n    pass\nreturn 1",
    "a key of sorted": "return sorted(data, key=abs)",
    "a tuple that is kept": "a = tuple(data)\nreturn a",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_understood_is_refused(what):
    body = REFUSED[what].replace("\n", "\n    ")
    with pytest.raises(Refused) as refused:
        pytest.fail(str(read(f"import math\nimport numpy as np\ndef f(rng, data, c):\n    {body}\n", "f")))
    assert refused.value.line >= 3
    assert refused.value.reason


@pytest.mark.parametrize(
    "text",
    [
        "import os\ndef f(rng, data):\n    return 1",
        "from math import exp\ndef f(rng, data):\n    return exp(1)",
        "def f(rng, data):\n    return 1\ndef f(rng, data):\n    return 2",
        "x = [1]\ndef f(rng, data):\n    return x",
        "def f(rng, data, x=[]):\n    return x",
        "def f(rng, *data):\n    return 1",
        "@staticmethod\ndef f(rng, data):\n    return 1",
        "def f(rng):\n    return 1",
        "def g(a):\n    return a\ndef f(rng, data):\n    a = []\n    b = g(a)\n    a.append(1)\n    return b",
        "def g(a):\n    a.append(1)\ndef f(rng, data):\n    a = []\n    g(a)\n    return a",
        "def f(rng, data:\n",
        "def f(rng, data, c: list[int]):\n    c.append(1)\n    return c",
        "def f(rng, data, c: list[int]):\n    c[0] = 1\n    return c",
        "def g(a):\n    a[0] = 1\ndef f(rng, data, c: list[int]):\n    g(c)\n    return c",
        "def g(a):\n    a[0] = 1\ndef f(rng, data):\n    g(data)\n    return 1",
        "def g(a):\n    a[0] = 1\ndef f(rng, data):\n    a = [0]\n    g(a)\n    return a",
        "import numpy as np\ndef g(a):\n    a[0] = 1\ndef f(rng, data):\n    a = np.zeros(1)\n    g(a)\n    return a",
        "def f(rng, data: int):\n    return sum(data)",
        "f = 3",
    ],
)
def test_texts_that_are_refused(text):
    with pytest.raises(Refused):
        read(text, "f")


def _run(body, data=(), **parameters):
    names = "".join(f", {name}" for name in parameters)
    text = f"def f(rng, data{names}):\n    " + body.replace("\n", "\n    ") + "\n"
    return interpret(read(text, "f"), data, parameters, None, steps=10_000)  # type: ignore[arg-type]


def test_programs_run_as_in_python():
    assert (
        _run("x = 3\nwhile True:\n    x -= 1\n    if x == 1:\n        continue\n    if x < 0:\n        break\nreturn x")
        == -1
    )
    assert _run("a = 0\nfor i in range(9, 1, -3):\n    a = 10 * a + i\nreturn a, i") == (963, 3)
    assert _run("out = []\nfor i, (x) in enumerate(data, start=2):\n    out.append(i * x)\nreturn out", (5, 7)) == [
        10,
        21,
    ]
    assert _run("a, b = 1, 2\na, b = b, a\nreturn [a, b][-1], a % 2, -7 // 2, max(a, 3, b)") == (1, 0, -4, 3)
    assert _run("xs = [3, 9, 9]\nreturn xs.index(max(xs)), min(data), sum(data)", (4, 2)) == (1, 2, 6)
    assert _run("return 0 if c and not 1 < c < 3 else None", c=2) is None
    assert _run("a = [1, 2, 3]\nx = a.pop(0)\na[-1] += x\na.pop(0)\nreturn a, data[-9:1] + data[1:9], x", (5, 6)) == (
        [4],
        [5, 6],
        1,
    )
    assert _run(
        "a, c = [1, 2, 3], []\nc.append(a.pop(-1))\nc.append(a.pop(0))\na.append(7)\na.append(a.pop(0))\nreturn a, c"
    ) == ([7, 2], [3, 1])
    assert _run("a = [1, 2, 3, 4]\nb = 0\na.append(a.pop(a[b]))\na.append(a.pop(a[b]))\nreturn a, b") == (
        [1, 4, 2, 3],
        0,
    )
    assert _run("return [i for i in range(1, 9, c)], sorted(data), data[c:1]", (3, 2), c=3) == ([1, 4, 7], [2, 3], [])
    assert _run("for i in range(0, 9, c):\n    return i\nreturn 10", (), c=20) == 0
    assert _run(
        "low = [2 * x for x in data if x < 3]\nreturn sum(low), len(low), sum(x for x in low if x)", (1, 5, 0)
    ) == (2, 2, 2)
    for body in (
        "a = [1]\na[1] = 2\nreturn a",
        "a = [1]\na.append(a.pop(1))\nreturn a",
        "a = []\na.append(a.pop())\nreturn a",
        "a = [1]\na.append(a.pop(-1 * 1))\nreturn a",
        "a = [1]\na[-1 * 1] = 2\nreturn a",
        "return [i for i in range(0, 9, 0 * 1)]",
    ):
        with pytest.raises(Undefined):
            _run(body)
    for body in ("return data[1]", "return 1 / 0", "return max(data)", "for x in data:\n    y = x\nreturn y"):
        with pytest.raises(Undefined):
            _run(body)
    with pytest.raises(TimeoutError):
        _run("while True:\n    pass\nreturn 1")
