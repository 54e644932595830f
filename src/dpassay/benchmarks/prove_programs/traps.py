# mypy: ignore-errors
"""Programs that look private and are not: proving one of them would be unsound.

Each is written so that a reader who takes Python for something simpler would accept it. The docstring says what happens
and which datasets show it. All break their claim: an audit refutes them too.
"""

import copy
import functools
import itertools
import math

import numpy as np

from dpassay.benchmarks.prove_programs.record import Program


def revisited_entry(rng, queries, epsilon):
    """The index starts again once, so every entry is released twice; [0] and [1], both numbers large: 2 epsilon."""
    answers = []
    i = 0
    again = True
    while i < len(queries):
        answers.append(queries[i] + rng.laplace(0, 1 / epsilon))
        i += 1
        if i == len(queries) and again:
            i = 0
            again = False
    return answers


def revisited_entry_by_step_back(rng, queries, epsilon):
    """A step back rereads entry 0; [0, 0] and [1, 0]: it is in two answers."""
    answers = []
    i = steps = 0
    while i < len(queries) and steps < 4:
        answers.append(queries[i] + rng.laplace(0, 1 / epsilon))
        i = i + 1 if steps != 0 else i
        steps += 1
    return answers


def revisited_entry_by_remainder(rng, queries, epsilon):
    """i % 2 visits entries 0 and 1 again and again."""
    return [queries[i % 2] + rng.laplace(0, 1 / epsilon) for i in range(6)]


def revisited_entry_by_negative_index(rng, queries, epsilon):
    """range(-n, n) reads every entry from the end and from the start."""
    return [queries[i] + rng.laplace(0, 1 / epsilon) for i in range(-len(queries), len(queries))]


def overlapping_slices(rng, queries, epsilon):
    """Entry 1 is in both halves: [0, 0, 0] and [0, 1, 0]."""
    return sum(queries[:2]) + rng.laplace(0, 1 / epsilon), sum(queries[1:]) + rng.laplace(0, 1 / epsilon)


def strided_slice_counts_twice(rng, queries, epsilon):
    """[::2] and [::3] share entry 0."""
    return sum(queries[::2]) + rng.laplace(0, 1 / epsilon), sum(queries[::3]) + rng.laplace(0, 1 / epsilon)


def list_grows_while_iterated(rng, queries, epsilon):
    """The loop goes on over what it appends: entry 0 is released many times."""
    entries = list(queries)
    answers = []
    for query in entries:
        answers.append(query + rng.laplace(0, 1 / epsilon))
        if len(entries) < 8:
            entries.append(query)
    return answers


def aliased_lists(rng, queries, epsilon):
    """`kept` is `answers`: the raw sum that is noted in one is published with the other."""
    answers = []
    kept = answers
    for query in queries:
        answers.append(query + rng.laplace(0, 1 / epsilon))
    kept.append(sum(queries))
    return answers


def chained_assignment(rng, queries, epsilon):
    """One list with two names."""
    noisy = raw = []
    for query in queries:
        noisy.append(query + rng.laplace(0, 1 / epsilon))
    for query in queries:
        raw.append(query)
    return noisy


def augmented_list(rng, queries, epsilon):
    """`+=` on a list changes the list that `answers` names too; `both = both + ...` would not."""
    answers = [sum(queries) + rng.laplace(0, 1 / epsilon)]
    both = answers
    both += [sum(queries)]
    return answers


def repeated_list(rng, values, epsilon):
    """[[0]] * 2 is one list twice: both sums count every value, so one more record is in both."""
    sums = [[0]] * 2
    for value in values:
        sums[0 if value < 0 else 1][0] += 1
    return [cell[0] + rng.laplace(0, 1 / epsilon) for cell in sums]


def repeated_noise(rng, queries, epsilon):
    """[noise] * n is one draw n times: differences of answers are exact."""
    noise = [rng.laplace(0, 1 / epsilon)] * len(queries)
    return [query + each for query, each in zip(queries, noise, strict=True)]


def broadcast_noise(rng, queries, epsilon):
    """size=1 draws one number, which numpy adds to every entry."""
    return np.asarray(queries) + rng.laplace(0, 1 / epsilon, size=1)


def numpy_view(rng, queries, epsilon):
    """A slice of an array is a view, not a copy as of a list: taking the noise off it takes it off the output."""
    noise = rng.laplace(0, 1 / epsilon, size=len(queries))
    noisy = np.asarray(queries, dtype=float) + noise
    exact = noisy[:]
    exact -= noise
    return noisy


def numpy_in_place(rng, queries, epsilon):
    """Both names are one array: the second `+=` takes the noise off again."""
    noisy = np.array(queries, dtype=float)
    other = noisy
    noise = rng.laplace(0, 1 / epsilon, size=len(queries))
    noisy += noise
    other += -noise
    return noisy


def reassigned_parameter(rng, queries, epsilon):
    """The scale is that of 100 epsilon."""
    epsilon = 100 * epsilon
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def reassigned_in_loop(rng, queries, epsilon):
    """The budget doubles with every entry: the later ones have less noise."""
    answers = []
    for query in queries:
        answers.append(query + rng.laplace(0, 1 / epsilon))
        epsilon *= 4
    return answers


def loop_variable_is_the_parameter(rng, queries, epsilon):
    """The loop leaves 50 in `epsilon`."""
    for epsilon in (1, 50):
        noise = rng.laplace(0, 1 / epsilon)
    return sum(queries) + noise


def swapped_parameters(rng, queries, epsilon, c: int):
    """A tuple assignment swaps the budget with c = 40."""
    epsilon, c = c, epsilon
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def for_else(rng, queries, epsilon, threshold):
    """The else of a loop runs when no break did: then the sum is published raw."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    for i, query in enumerate(queries):
        if query + rng.laplace(0, 4 / epsilon) >= limit:
            found = i
            break
    else:
        found = sum(queries)
    return found


def while_else(rng, queries, epsilon):
    """The else of a while loop runs at its normal end."""
    i = total = 0
    while i < len(queries):
        total += queries[i]
        i += 1
    else:
        answer = total
    rng.laplace(0, 1 / epsilon)
    return answer


def break_of_the_inner_loop(rng, queries, epsilon, threshold):
    """break leaves the inner loop only: the technique runs twenty times with the budget of one."""
    answers = []
    for _ in range(20):
        limit = threshold + rng.laplace(0, 2 / epsilon)
        for i, query in enumerate(queries):
            if query + rng.laplace(0, 4 / epsilon) >= limit:
                answers.append(i)
                break
    return answers


def mutable_default(rng, queries, epsilon, noise=[]):
    """The list lives as long as the function: the noise of the first call serves all calls."""
    if not noise:
        noise.append(rng.laplace(0, 1 / epsilon))
    return sum(queries) + noise[0]


def default_drawn_once(rng, queries, epsilon, noise=np.random.default_rng(7).laplace()):
    """Defaults are evaluated once, when the function is defined: the noise is a constant."""
    return sum(queries) + noise / epsilon


def exhausted_generator(rng, queries, epsilon):
    """A generator gives its noise once: the second use finds none, and zip_longest fills in zeros."""
    noise = (rng.laplace(0, 1 / epsilon) for _ in queries)
    largest = max(noise)
    noisy = [query + each for query, each in itertools.zip_longest(queries, noise, fillvalue=0)]
    return noisy if largest < math.inf else None


def shadowed_max(rng, values, epsilon, bound):
    """The local `max` keeps its first argument: nothing is clipped from below; [0] and [-50]."""
    max = lambda first, second: first
    return sum(min(max(value, 0), bound) for value in values) + rng.laplace(0, bound / epsilon)


def shadowed_abs(rng, values, epsilon):
    """The local `abs` is the identity: what is meant to lie in [0, 1] is any number below 1."""
    from operator import pos as abs

    return sum(1 - min(abs(value), 1) for value in values) + rng.laplace(0, 1 / epsilon)


def shadowed_range(rng, queries, epsilon):
    """The local `range` gives 0 again and again."""
    range = lambda n: [0] * n
    return [queries[i] + rng.laplace(0, 1 / epsilon) for i in range(len(queries))]


def shadowed_rng(rng, queries, epsilon):
    """Another generator, with a fixed seed: the noise is a constant."""
    rng = np.random.default_rng(0)
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def shadowed_sum(rng, queries, epsilon):
    """The module's `sum` is not Python's: it counts every entry three times."""
    return _sum(queries) + rng.laplace(0, 1 / epsilon)


def _sum(values):
    return 3 * sum(values)


def copied_rng(rng, queries, epsilon):
    """The copy draws the same noise: the difference of the two answers is exact."""
    twin = copy.deepcopy(rng)
    return queries[0] + rng.laplace(0, 2 / epsilon), 2 * queries[0] + twin.laplace(0, 2 / epsilon)


def rewound_rng(rng, queries, epsilon):
    """The state is set back: the noise comes again."""
    state = rng.bit_generator.state
    first = queries[0] + rng.laplace(0, 2 / epsilon)
    rng.bit_generator.state = state
    return first, 3 * queries[0] + rng.laplace(0, 2 / epsilon)


def seeded_by_data(rng, queries, epsilon):
    """The seed is the data: the noise is a function of it."""
    private = np.random.default_rng(int(abs(sum(queries)) * 1000))
    return sum(queries) + private.laplace(0, 1 / epsilon)


def global_seed(rng, queries, epsilon):
    """numpy's global generator is seeded in every call."""
    np.random.seed(0)
    return sum(queries) + np.random.laplace(0, 1 / epsilon)


def float_equality(rng, queries, epsilon):
    """In floating point 1 + 1e-20 is 1; in real numbers it is not, and the branch would be dead."""
    if 1 + 1e-20 == 1:
        return sum(queries)
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def decimal_fractions(rng, queries, epsilon):
    """0.1 + 0.2 is not 0.3 in floating point; as decimal fractions they are equal."""
    if 0.1 + 0.2 == 0.3:
        return sum(queries) + rng.laplace(0, 1 / epsilon)
    return sum(queries)


def integer_division(rng, queries, epsilon):
    """1 // 2 is 0: no noise."""
    return sum(queries) + rng.laplace(0, 2 * (1 // 2) / epsilon)


def remainder_of_negative(rng, queries, epsilon):
    """-1 % 4 is 3 in Python, not -1: the branch without noise is taken."""
    if -1 % 4 > 0:
        return sum(queries)
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def exclusive_or_for_power(rng, queries, epsilon):
    """2 ^ 2 is 0, not 4."""
    return sum(queries) + rng.laplace(0, (2 ^ 2) / epsilon)


def power_before_minus(rng, queries, epsilon):
    """-2 ** 2 is -4: the larger of it and 0 is 0, so there is no noise."""
    return sum(queries) + rng.laplace(0, max(-(2**2), 0) / epsilon)


def bytes_wrap_around(rng, counts: list[int], epsilon):
    """One byte wraps from 255 to 0: a change by 1 moves it by 255."""
    return np.asarray(counts).astype(np.uint8) + rng.laplace(0, 1 / epsilon, size=len(counts))


def closures_over_the_loop_variable(rng, queries, epsilon):
    """All functions read the last i: the last entry is released n times, the others never."""
    answers = [lambda: queries[i] + rng.laplace(0, 1 / epsilon) for i in range(len(queries))]
    return [answer() for answer in answers]


def first_above(rng, queries, epsilon, threshold):
    """The generator stops at the first raw query above: its place is told."""
    found = next((i for i, query in enumerate(queries) if query > threshold), -1)
    return found, rng.laplace(0, 1 / epsilon)


def filtered_comprehension(rng, queries, epsilon):
    """The condition reads the raw query: the length of the output tells how many pass."""
    return [query + rng.laplace(0, 1 / epsilon) for query in queries if query > 0]


def chained_comparison(rng, values, epsilon, bound):
    """bound < value == True means bound < value and value == True: what is too large is not clipped."""
    total = 0
    for value in values:
        total += 0 if value < 0 else bound if bound < value == True else value
    return total + rng.laplace(0, bound / epsilon)


def identity_for_equality(rng, queries, epsilon, threshold):
    """Two equal floats are two objects: the budget is never seen to be spent, and it never stops."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    spent = epsilon / 2
    answers = []
    for query in queries:
        above = query + rng.laplace(0, 4 / epsilon) >= limit
        answers.append(above)
        if above:
            spent += epsilon / 2
        if spent is epsilon:
            break
    return answers


def walrus(rng, queries, epsilon):
    """The sum is named in passing, and published beside the noisy one."""
    noisy = (total := sum(queries)) + rng.laplace(0, 1 / epsilon)
    return noisy, total


def walrus_in_condition(rng, queries, epsilon):
    """The name means the raw query in the output, since it was bound again in the condition."""
    answers = []
    for query in queries:
        noisy = query + rng.laplace(0, 1 / epsilon)
        if (noisy := query) is not None:
            answers.append(noisy)
    return answers


def finally_returns(rng, queries, epsilon):
    """The return of finally replaces the one before."""
    try:
        return sum(queries) + rng.laplace(0, 1 / epsilon)
    finally:
        return sum(queries)


def exception_tells(rng, queries, epsilon):
    """Whether the raw sum is above 1/2 is told by which way the function ends."""
    try:
        return 1 / (sum(queries) <= 0.5) + rng.laplace(0, 1 / epsilon)
    except ZeroDivisionError:
        return None


def exception_in_helper(rng, queries, epsilon):
    """The helper gives up on large data, and the caller tells."""
    try:
        _checked(queries)
    except ValueError as error:
        return str(error)
    return rng.laplace(0, 1 / epsilon)


def _checked(queries):
    if sum(queries) > 0.5:
        raise ValueError("too large")


_calls = [0]


def global_state(rng, queries, epsilon):
    """Only the first call of the process draws noise."""
    _calls[0] += 1
    noise = rng.laplace(0, 1 / epsilon) if _calls[0] == 1 else 0.0
    return sum(queries) + noise


SCALE = 1.0


def rebound_global(rng, queries, epsilon):
    """SCALE is 1 above and 0 at the end of the module, which is what the call sees."""
    return sum(queries) + rng.laplace(0, SCALE / epsilon)


def _factor():
    return 1.0


def redefined_helper(rng, queries, epsilon):
    """The second `_factor` counts, which is 0."""
    return sum(queries) + rng.laplace(0, _factor() / epsilon)


def _factor():
    return 0.0


def _quiet(function):
    """A decorator that gives the function a generator without noise, and keeps its source as `__wrapped__`."""

    class Silent:
        def laplace(self, loc=0.0, scale=1.0, size=None):
            return loc if size is None else np.full(size, loc)

    @functools.wraps(function)
    def called(rng, *data, **parameters):
        return function(Silent(), *data, **parameters)

    return called


@_quiet
def decorated(rng, queries, epsilon):
    """The decorator takes the noise away; `inspect.getsource` shows this body all the same."""
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def _twice(function):
    @functools.wraps(function)
    def called(rng, *data, **parameters):
        return [function(rng, *data, **parameters) for _ in range(4)]

    return called


@_twice
def decorated_to_run_again(rng, queries, epsilon):
    """The decorator calls it four times: four answers with the budget of one."""
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def own_cells(rng, values: list[int], epsilon):
    """Only values that occur have a cell: which ones, and in which order they came, is told."""
    counts = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return [(value, count + rng.laplace(0, 1 / epsilon)) for value, count in counts.items()]


def equal_keys(rng, queries, epsilon):
    """1, 1.0 and True are one key: the noisy answer is replaced by the raw one."""
    answers = {1: sum(queries) + rng.laplace(0, 1 / epsilon)}
    answers[True] = sum(queries)
    return answers[1]


def order_of_first_seen(rng, values: list[int], epsilon):
    """A dict keeps the order of insertion, and a set its own: the first key is the first record."""
    seen = dict.fromkeys(values)
    return next(iter(seen), None), rng.laplace(0, 1 / epsilon)


def draws_under_private_condition(rng, queries, epsilon):
    """A one gets noise, a zero none."""
    return [query + (rng.laplace(0, 1 / epsilon) if query > 0.5 else 0) for query in queries]


def scale_of_data(rng, queries, epsilon):
    """The spread of the noise tells how large the sum is."""
    total = sum(queries)
    return total + rng.laplace(0, (1 + 9 * abs(total)) / epsilon)


def size_of_data(rng, queries, epsilon):
    """The number of noisy answers is the raw sum."""
    return rng.laplace(0, 1 / epsilon, size=int(abs(sum(queries)))).tolist()


def sorted_by_raw(rng, queries, epsilon):
    """The noisy answers come in the order of the raw ones, with their places."""
    order = sorted(range(len(queries)), key=lambda i: queries[i])
    return [(i, queries[i] + rng.laplace(0, 1 / epsilon)) for i in order]


def sorted_in_place(rng, queries, epsilon):
    """sort() orders the list that is read after it: its first entry is the smallest query, whose place is told."""
    ranked = [(query, i) for i, query in enumerate(queries)]
    ranked.sort()
    return ranked[0][1], ranked[0][0] + rng.laplace(0, 1 / epsilon)


def string_output(rng, queries, epsilon):
    """A text with two numbers, one of them raw."""
    total = sum(queries)
    return f"{total + rng.laplace(0, 1 / epsilon):.0f} +- {abs(total):.0f}"


class _Answer:
    """A sum that draws fresh noise whenever it is read."""

    def __init__(self, rng, total, scale):
        self.rng, self.total, self.scale = rng, total, scale

    @property
    def value(self):
        return self.total + self.rng.laplace(0, self.scale)

    def __add__(self, noise):
        return self.total


def property_draws_again(rng, queries, epsilon):
    """Reading the property three times gives three answers."""
    answer = _Answer(rng, sum(queries), 1 / epsilon)
    return answer.value, answer.value, answer.value


def overloaded_plus(rng, queries, epsilon):
    """This `+` ignores what is added."""
    return _Answer(rng, sum(queries), 1 / epsilon) + rng.laplace(0, 1 / epsilon)


def noise_and_zero(rng, queries, epsilon):
    """`x and 0` is 0 for every x but 0."""
    return sum(queries) + (rng.laplace(0, 1 / epsilon) and 0)


def noise_or_sum(rng, queries, epsilon):
    """`0 or x` is x: the condition is False, which is 0, and the sum takes its place."""
    return (epsilon < 0 and rng.laplace(0, 1 / epsilon)) or sum(queries)


def true_is_one(rng, values, epsilon):
    """True counts as 1, twice as much where both comparisons hold: a record moves the sum by 2."""
    return sum((value > 0) + (value > 1) for value in values) + rng.laplace(0, 1 / epsilon)


def scale_in_the_wrong_place(rng, queries, epsilon):
    """The first argument is where the noise is centered, the second its scale: 0."""
    return sum(queries) + rng.laplace(1 / epsilon, 0)


def start_of_sum(rng, queries, epsilon):
    """The second argument of `sum` is added too: every entry counts twice."""
    return sum(queries, sum(queries)) + rng.laplace(0, 1 / epsilon)


def key_of_max(rng, queries, epsilon):
    """The key compares raw queries, whatever noise was drawn."""
    noisy = [query + rng.laplace(0, 2 / epsilon) for query in queries]
    return max(range(len(noisy)), key=lambda i: queries[i])


def enumerate_from_one(rng, queries, epsilon):
    """The index is one ahead: the noisy query decides, its neighbor is published raw."""
    for i, query in enumerate(queries, 1):
        if query + rng.laplace(0, 1 / epsilon) > 0:
            return queries[i] if i < len(queries) else None
    return None


def match_captures(rng, queries, epsilon, c: int):
    """A bare name in a case is bound, not compared: it always matches."""
    match len(queries):
        case c:
            return sum(queries)
    return sum(queries) + rng.laplace(0, c / epsilon)


def nonlocal_scale(rng, queries, epsilon):
    """The inner function sets the scale to 0."""
    scale = 1 / epsilon

    def total():
        nonlocal scale
        scale = 0
        return sum(queries)

    return total() + rng.laplace(0, scale)


def inner_parameter(rng, queries, epsilon):
    """The inner `epsilon` is another."""

    def noise(epsilon):
        return rng.laplace(0, 1 / epsilon)

    return sum(queries) + noise(60)


def keyword_arguments(rng, queries, epsilon):
    """Keywords in a dict: the later scale replaces the first."""
    options = {"scale": 1 / epsilon, **{"scale": 0}}
    return sum(queries) + rng.laplace(**options)


def evaluated_text(rng, queries, epsilon):
    """What is run is a text."""
    return eval("sum(queries)") + 0 * rng.laplace(0, 1 / epsilon)


def not_a_number(rng, values, epsilon, bound):
    """inf - inf is not a number, and min(value, nan) is the value: nothing is clipped from above."""
    limit = math.inf - math.inf
    return sum(max(min(value, limit), 0) for value in values) + rng.laplace(0, bound / epsilon)


def noise_cancels(rng, queries, epsilon):
    """Added and taken off."""
    noise = rng.laplace(0, 1 / epsilon)
    total = sum(queries) + noise
    total -= noise
    return total


def drawn_until_positive(rng, queries, epsilon):
    """Negative noise is drawn again: what is left is one-sided, and the sum is at most the output."""
    noise = rng.laplace(0, 1 / epsilon)
    while noise < 0:
        noise = rng.laplace(0, 1 / epsilon)
    return sum(queries) + noise


def output_drawn_until_positive(rng, queries, epsilon):
    """A negative output is drawn again: the truncated density is divided by a probability that depends on the data."""
    total = max(sum(queries), 0)
    noisy = total + rng.laplace(0, 1 / epsilon)
    while noisy < 0:
        noisy = total + rng.laplace(0, 1 / epsilon)
    return noisy


def recursion(rng, queries, epsilon, depth: int = 3):
    """Every level of the recursion releases the sum once more."""
    if depth == 0:
        return []
    return [sum(queries) + rng.laplace(0, 1 / epsilon), *recursion(rng, queries, epsilon, depth - 1)]


def no_cutoff_at_zero(rng, queries, epsilon, c: int, threshold):
    """Claimed (1 + 6 c)/4 epsilon holds for c >= 1; for c = 0 the first answer above comes before the check."""
    limit = threshold + rng.laplace(0, 4 / epsilon)
    answers, count = [], 0
    for query in queries:
        if query + rng.laplace(0, 4 / (3 * epsilon)) >= limit:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers


def scale_zero(rng, queries, epsilon, c: int):
    """c = 0 is an integer too: then there is no noise. True only under c >= 1."""
    return [query + rng.laplace(0, c * len(queries) / epsilon) for query in queries]


def empty_budget(rng, queries, epsilon, parts: int):
    """For parts = 1 the last part gets the whole budget a second time."""
    answers = [sum(queries) + rng.laplace(0, parts / epsilon) for _ in range(max(parts - 1, 1))]
    answers.append(sum(queries) + rng.laplace(0, parts / epsilon))
    return answers


def flips_tell_who_was_asked(rng, scores, epsilon):
    """Who said no is told: the best one never does; [0, 0] and [0, -1]."""
    best = max(scores)
    asked = []
    for i in rng.permutation(len(scores)):
        asked.append(int(i))
        if rng.random() < math.exp(epsilon / 2 * (scores[i] - best)):
            break
    return asked


def flips_tell_whether_the_best_won(rng, scores, epsilon):
    """The place is private; that its score is the largest is told as it is: [0, 0] and [0, -1]."""
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(epsilon / 2 * (scores[i] - best)):
            return int(i), scores[i] == best
    return None


def rounded_to_even(rng, values, epsilon):
    """Values in [0, 1] that are rounded up at 1/2: round(0.5) is 0, round(1.5) is 2, so sums move by 2."""
    return sum(round(0.5 + value) for value in values) + rng.laplace(0, 1 / epsilon)


def repeated_by_times(rng, queries, epsilon):
    """A list times 3 is the list three times, not its entries tripled."""
    answers = []
    for query in list(queries) * 3:
        answers.append(query + rng.laplace(0, 1 / epsilon))
    return answers


def repeated_by_plus(rng, queries, epsilon):
    """Lists are joined by +, not added: every entry is released twice."""
    return [query + rng.laplace(0, 1 / epsilon) for query in list(queries) + list(queries)]


def inner_loop_takes_the_index(rng, queries, epsilon):
    """The inner loop has the same i: entries 0 and 1 are read in every round."""
    answers = []
    for i in range(len(queries)):
        for i in range(min(2, len(queries))):
            answers.append(queries[i] + rng.laplace(0, 1 / epsilon))
    return answers


def loop_variable_after_the_loop(rng, queries, epsilon):
    """The loop leaves the last entry in `query`, which is published once more, without noise."""
    answers = []
    for query in queries:
        answers.append(query + rng.laplace(0, 1 / epsilon))
    answers.append(query)
    return answers


def first_noise_for_all(rng, queries, epsilon):
    """n draws, of which only the first is used."""
    noise = rng.laplace(0, 1 / epsilon, size=len(queries))
    return [queries[i] + noise[0] for i in range(len(queries))]


def noise_shared_by_two(rng, queries, epsilon):
    """Entries 2 i and 2 i + 1 have one noise: their difference is exact."""
    noise = rng.laplace(0, 1 / epsilon, size=len(queries))
    return [queries[i] + noise[i // 2] for i in range(len(queries))]


def larger_of_noisy_and_raw(rng, queries, epsilon):
    """Half of the time the raw entry is the larger one."""
    return [max(query, query + rng.laplace(0, 1 / epsilon)) for query in queries]


def geometric_noise_on_reals(rng, queries, epsilon):
    """Integer noise leaves the digits after the point as they are: [0] and [0.5]."""
    p = 1 - math.exp(-epsilon)
    return sum(queries) + rng.geometric(p) - rng.geometric(p)


def one_sided_geometric_noise(rng, counts: list[int], epsilon):
    """The output is above the sum."""
    return sum(counts) + rng.geometric(1 - math.exp(-epsilon))


def exponential_noise_downwards(rng, queries, epsilon):
    """Taken off, one-sided noise tells that the sum is at least the output."""
    return sum(queries) - rng.exponential(1 / epsilon)


def harmonic_scales(rng, queries, epsilon):
    """Entry i has noise of scale (i + 1)/epsilon: enough for one entry, not for all, whose costs add up to log n."""
    return [query + rng.laplace(0, (i + 1) / epsilon) for i, query in enumerate(queries)]


def threshold_kept_after_answers(rng, queries, epsilon, threshold):
    """New noise for the threshold where a query was below, none where it was above."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    answers = []
    for query in queries:
        above = query + rng.laplace(0, 4 / epsilon) >= limit
        answers.append(above)
        if not above:
            limit = threshold + rng.laplace(0, 2 / epsilon)
    return answers


def counts_every_twelfth_answer(rng, queries, epsilon, c: int, threshold):
    """Twelve answers above are counted as one: far more than were paid for."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    answers, count = [], 0
    for query in queries:
        above = query + rng.laplace(0, 4 * c / epsilon) >= limit
        answers.append(above)
        if above:
            count += 1
        if count // 12 >= c:
            break
    return answers


def stops_by_raw_sum(rng, queries, epsilon, limit):
    """How many noisy answers there are tells where the raw running sum passes the limit."""
    answers = []
    total = 0
    i = 0
    while i < len(queries) and total <= limit:
        total += queries[i]
        answers.append(queries[i] + rng.laplace(0, 1 / epsilon))
        i += 1
    return answers


def same_draw_twice(rng, queries, epsilon):
    """One noise is compared and then published: the comparison with 0 tells the sum."""
    noise = rng.laplace(0, 2 / epsilon)
    above = sum(queries) + noise > 0
    return above, noise


def private_entry_as_index(rng, values: list[int], epsilon, k: int):
    """The record says which cell gets the noise."""
    cells = [0] * k
    for value in values:
        cells[value] = 1 + rng.laplace(0, 1 / epsilon)
    return cells


SCALE = 0.0

_ONE = ([0, 0, 0], [1, 0, 0])
_SVT = ([0] * 10 + [1] * 10, [1] * 10 + [0] * 10)


def _trap(function, relation="one_query", pair=_ONE, claim="epsilon", **details):
    """A program that claims too much."""
    parameters = {"epsilon": 1.0, **details.pop("parameters", {})}
    return Program(function, relation, "refuted", "trap", claim, parameters=parameters, pair=pair, **details)


_BOUND = {"parameters": {"bound": 1.0}, "assume": ("bound > 0",)}
_THRESHOLD = {"parameters": {"threshold": 0.0}}
_LOUD = {"parameters": {"epsilon": 4.0, "threshold": 0.0}}
_AT_ZERO = {"parameters": {"c": 0, "threshold": 0.0}, "claim": "(1 + 6 * c) / 4 * epsilon", "unless": "c >= 1"}

TRAPS = (
    _trap(revisited_entry),
    _trap(revisited_entry_by_step_back),
    _trap(revisited_entry_by_remainder),
    _trap(revisited_entry_by_negative_index),
    _trap(overlapping_slices, pair=([0, 0, 0], [0, 1, 0])),
    _trap(strided_slice_counts_twice),
    _trap(list_grows_while_iterated),
    _trap(aliased_lists),
    _trap(chained_assignment),
    _trap(augmented_list),
    _trap(repeated_list, "add_or_remove_one:entry", ([1], [1, 1])),
    _trap(repeated_noise),
    _trap(broadcast_noise),
    _trap(numpy_view),
    _trap(numpy_in_place),
    _trap(reassigned_parameter),
    _trap(reassigned_in_loop, pair=([0, 0, 0], [0, 0, 1])),
    _trap(loop_variable_is_the_parameter),
    _trap(swapped_parameters, parameters={"c": 40}, assume=("c >= 1",)),
    _trap(for_else, "all_queries", ([-9, -9], [-10, -10]), **_THRESHOLD),
    _trap(while_else),
    _trap(break_of_the_inner_loop, "all_queries", ([0], [1]), **_LOUD),
    _trap(mutable_default),
    _trap(default_drawn_once),
    _trap(exhausted_generator),
    _trap(shadowed_max, "replace_one:entry", ([0], [-50]), **_BOUND),
    _trap(shadowed_abs, "replace_one:entry", ([0], [-50])),
    _trap(shadowed_range),
    _trap(shadowed_rng),
    _trap(shadowed_sum),
    _trap(copied_rng),
    _trap(rewound_rng),
    _trap(seeded_by_data),
    _trap(global_seed),
    _trap(float_equality),
    _trap(decimal_fractions),
    _trap(integer_division),
    _trap(remainder_of_negative),
    _trap(exclusive_or_for_power),
    _trap(power_before_minus),
    _trap(bytes_wrap_around, pair=([255], [256])),
    _trap(closures_over_the_loop_variable, pair=([0, 0, 0], [0, 0, 1])),
    _trap(first_above, **_THRESHOLD),
    _trap(filtered_comprehension),
    _trap(chained_comparison, "replace_one:entry", ([0], [50]), **_BOUND),
    _trap(identity_for_equality, "all_queries", _SVT, **_LOUD),
    _trap(walrus),
    _trap(walrus_in_condition),
    _trap(finally_returns),
    _trap(exception_tells),
    _trap(exception_in_helper),
    _trap(global_state),
    _trap(rebound_global),
    _trap(redefined_helper),
    _trap(decorated),
    _trap(decorated_to_run_again),
    _trap(own_cells, "replace_one:entry", ([1, 2], [1, 3])),
    _trap(equal_keys),
    _trap(order_of_first_seen, "replace_one:entry", ([1, 2], [3, 2])),
    _trap(draws_under_private_condition),
    _trap(scale_of_data),
    _trap(size_of_data),
    _trap(sorted_by_raw, pair=([0, 0.5], [1, 0.5])),
    _trap(sorted_in_place, pair=([0, 0.5], [1, 0.5])),
    _trap(string_output),
    _trap(property_draws_again),
    _trap(overloaded_plus),
    _trap(noise_and_zero),
    _trap(noise_or_sum),
    _trap(true_is_one, "replace_one:entry", ([0], [2])),
    _trap(scale_in_the_wrong_place),
    _trap(start_of_sum),
    _trap(key_of_max, "all_queries", ([0, 1], [1, 0])),
    _trap(enumerate_from_one, pair=([9, 0], [9, 1])),
    _trap(match_captures, parameters={"c": 7}, assume=("c >= 1",)),
    _trap(nonlocal_scale),
    _trap(inner_parameter),
    _trap(keyword_arguments),
    _trap(evaluated_text),
    _trap(not_a_number, "replace_one:entry", ([0], [50]), **_BOUND),
    _trap(noise_cancels),
    _trap(drawn_until_positive),
    _trap(output_drawn_until_positive, pair=([0], [1]), parameters={"epsilon": 3.0}),
    _trap(recursion),
    _trap(no_cutoff_at_zero, "all_queries", ([0, 0, 0, 0, 1], [1, 1, 1, 1, 0]), **_AT_ZERO),
    _trap(scale_zero, parameters={"c": 0}, unless="c >= 1"),
    _trap(empty_budget, parameters={"parts": 1}, assume=("parts >= 1",)),
    _trap(repeated_by_times),
    _trap(repeated_by_plus),
    _trap(inner_loop_takes_the_index),
    _trap(loop_variable_after_the_loop, pair=([0, 0], [0, 1])),
    _trap(first_noise_for_all),
    _trap(noise_shared_by_two),
    _trap(larger_of_noisy_and_raw),
    _trap(geometric_noise_on_reals, pair=([0], [0.5])),
    _trap(one_sided_geometric_noise, pair=([0], [1])),
    _trap(exponential_noise_downwards),
    _trap(harmonic_scales, "all_queries", ([0] * 12, [1] * 12)),
    _trap(threshold_kept_after_answers, "all_queries", ([0] * 20, [1] * 20), **_LOUD),
    _trap(
        counts_every_twelfth_answer, "all_queries", _SVT, parameters={**_LOUD["parameters"], "c": 1}, assume=("c >= 1",)
    ),
    _trap(stops_by_raw_sum, pair=([0, 0, 0], [1, 0, 0]), parameters={"limit": 0.5}),
    _trap(same_draw_twice),
    _trap(
        private_entry_as_index,
        "replace_one:entry",
        ([0], [1]),
        bounds=(0, "k - 1"),
        parameters={"k": 2},
        assume=("k >= 1",),
    ),
    _trap(flips_tell_who_was_asked, "all_queries", ([0, 0], [0, -1])),
    _trap(flips_tell_whether_the_best_won, "all_queries", ([0, 0], [0, -1])),
    _trap(rounded_to_even, "replace_one:entry", ([0], [1]), bounds=(0, 1)),
)
"""The stories are the docstrings of the functions. Two of them would hold under c >= 1, which nobody assumed."""
