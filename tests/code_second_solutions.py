"""A second solution of every code template, for test_code_questions.

Each is named after its template and takes the words of the task, from which it reads the parameters, and the arguments.
It works another way than the reference wherever there is one, so words, reference and expected values check each other.
"""

from __future__ import annotations

import collections
import json
import re
from itertools import combinations, groupby

COMPARE = {
    "greater than": lambda x, k: x - k > 0,
    "less than": lambda x, k: k - x > 0,
    "at least": lambda x, k: not x < k,
    "at most": lambda x, k: not x > k,
    "exactly": lambda x, k: x == k,
}
AGGREGATE = {"sum": sum, "maximum": lambda v: sorted(v)[-1], "minimum": lambda v: sorted(v)[0]}


def numbers(bare):
    return [int(n) for n in re.findall(r"-?\d+", bare)]


def one_of(bare, words):
    """The one of `words` that the task names; the longest, where one holds another."""
    found = [word for word in words if word in bare]
    return max(found, key=len)


def compared(bare):
    word, k = re.search(r"(greater than|less than|at least|at most|exactly) (\d+)", bare).groups()
    return lambda x: COMPARE[word](x, int(k))


def keep_compared(bare, xs):
    return list(filter(compared(bare), xs))


def keep_multiples(bare, xs):
    k = numbers(bare)[0]
    return [x for x in xs if (x in range(-20 * k, 20 * k, k)) != ("not divisible" in bare)]


def scale_shift(bare, xs):
    times, plus = numbers(bare)
    return [sum([x] * times) + plus for x in xs]


def clip(bare, xs):
    low, high = min(numbers(bare)), max(numbers(bare))
    return [sorted([low, x, high])[1] for x in xs]


def stride_sum(bare, xs):
    first, second, third = map(int, re.search(r"(\d+)\]?, (?:\w+\[)?(\d+)\]?, (?:\w+\[)?(\d+)", bare).groups())
    assert third - second == second - first
    total, i = 0, first
    while i < len(xs):
        total, i = total + xs[i], i + second - first
    return total


def count_letter(bare, text):
    letter = re.search(r"letters? ([a-z])\b", bare)[1]
    return len([c for c in text if c in (letter, letter.upper())])


def join_changed(bare, words):
    marks = {"hyphen": "-", "plus sign": "+", "slash": "/", "underscore": "_"}
    mark, text = marks[one_of(bare, marks)], ""
    for number, word in enumerate(words):
        text += mark if number else ""
        if "upper case" in bare:
            text += word.upper()
        else:
            text += "".join(reversed(word)) if "backwards" in bare else word[0]
    return text


def ends_reversed(bare, xs):
    side, k = re.search(r"(first|last) (\d+)", bare).groups()
    flipped = list(reversed(xs))
    return flipped[: int(k)] if side == "last" else flipped[max(0, len(xs) - int(k)) :]


def zip_combine(bare, left, right):
    out = []
    for i in range(len(left)):
        pair = [left[i], right[i]]
        if "minus" in bare:
            out.append(pair[0] - pair[1])
        elif "product" in bare:
            out.append(pair[0] * pair[1])
        else:
            out.append(sum(pair) if "sum" in bare else sorted(pair)["larger" in bare])
    return list(reversed(out)) if "reverse" in bare else out


def count_digit(bare, n):
    count, n = 0, abs(n)
    while True:
        n, digit = divmod(n, 10)
        count += digit == numbers(bare)[0]
        if n == 0:
            return count


def filter_map_reduce(bare, xs):
    keep = {
        "even": lambda x: not x & 1,
        "odd": lambda x: x & 1,
        "positive": lambda x: x > 0,
        "negative": lambda x: x < 0,
    }
    change = {"squares": lambda x: x**2, "cubes": lambda x: x**3, "doubles": lambda x: x + x}
    return sum(map(change[one_of(bare, change)], filter(keep[one_of(bare, keep)], xs)))


def word_counts(bare, text):
    words = [word.casefold() for word in text.split(" ") if word]
    return dict(collections.Counter(word for word in words if compared(bare)(len(word))))


def group_words(bare, words):
    def key(word):
        return str(len(word)) if "length" in bare else word[0 if "first" in bare else -1]

    groups = {key(word): [other for other in words if key(other) == key(word)] for word in words}
    if "alphabetical" in bare:
        groups = {name: sorted(group) for name, group in groups.items()}
    return {name: group[::-1] if "reverse" in bare else group for name, group in groups.items()}


def sort_by_key(bare, xs):
    modulus = numbers(bare)[0] if "modulo" in bare else None
    tie = {"keep their original order": 0, "come smallest first": 1, "come largest first": -1}
    sign = tie[one_of(bare, tie)]
    xs = sorted(xs, reverse=sign < 0) if sign else list(xs)
    # A stable insertion by the key alone, after the ties were put in order.
    out = []
    for x in xs:
        rank = abs(x) if modulus is None else x - modulus * (x // modulus)
        place = len([1 for other, _ in out if other <= rank])
        out.insert(place, (rank, x))
    return [x for _, x in out]


def window_aggregate(bare, xs):
    k, window, out = numbers(bare)[0], collections.deque(), []
    for x in xs:
        window.append(x)
        if len(window) > k:
            window.popleft()
        if len(window) == k:
            out.append(AGGREGATE[one_of(bare, AGGREGATE)](window))
    return out


def chunk_aggregate(bare, xs):
    xs, out = list(xs), []
    while xs:
        out.append(AGGREGATE[one_of(bare, AGGREGATE)](xs[: numbers(bare)[0]]))
        xs = xs[numbers(bare)[0] :]
    return out


def parse_pairs(bare, text):
    names = {"semicolon": ";", "comma": ",", "ampersand": "&", "vertical": "|"}
    named = [mark for name, mark in names.items() if name in bare.split("into")[0]]
    mark = named[0] if named else re.search(r"[a-z]=-?\d(\W)[a-z]=", bare)[1]
    values = collections.defaultdict(list)
    for name, value in re.findall(r"(\w+)=(-?\d+)", text.replace(mark, "\n")):
        values[name].append(int(value))
    rules = {"last value": lambda v: v[-1], "first value": lambda v: v[0], "added up": sum, "largest value": max}
    return {name: rules[one_of(bare, rules)](found) for name, found in values.items()}


def most_frequent(bare, words):
    order = sorted(set(words)) if "alphabetical" in bare else list(dict.fromkeys(words))
    return [word for n in range(len(words), 0, -1) for word in order if words.count(word) == n][: numbers(bare)[0]]


def shift_letters(bare, text):
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    k = numbers(bare)[0] * (-1 if " back" in bare else 1)
    return text.translate(str.maketrans(alphabet, alphabet[k:] + alphabet[:k]))


def matrix_lines(bare, grid):
    lines = grid if " row's" in bare or "each row" in bare or "every row" in bare else []
    lines = lines or [[row[j] for row in grid] for j in range(len(grid[0]))]
    ordered = [sorted(line) for line in lines]
    if "difference" in bare:
        return [line[-1] - line[0] for line in ordered]
    return [sum(line) if "sum" in bare else line[-1 if "largest" in bare else 0] for line in ordered]


def runs(bare, text):
    found = [(c, len(list(group))) for c, group in groupby(text)]
    found = [(c, n) for c, n in found if n >= min(n for n in numbers(bare) if n < 7)]
    if "[character, length]" in bare:
        return [[c, n] for c, n in found]
    return [f"{c}{n}" if "followed by" in bare else n for c, n in found]


def brackets(bare, text):
    opening, closing = re.search(r"([(\[<]) (?:and )?([)\]>])", bare).groups()
    left, rounds = re.sub(f"[^{re.escape(opening + closing)}]", "", text), 0
    while opening + closing in left:
        left, rounds = left.replace(opening + closing, ""), rounds + 1
    if "True" in bare:
        return left == ""
    if "how deep" in bare:
        return -1 if left else rounds
    return 0 if left else text.count(closing)


def nested_depth(bare, tree):
    found, depth = [], 0
    for piece in re.findall(r"[\[\]]|-?\d+", json.dumps(tree)):
        if piece in "[]":
            depth += 1 if piece == "[" else -1
        else:
            found += [int(piece)] if compared(bare)(depth) else []
    return sum(found) if "the sum of" in bare else len(found)


def recurrence(bare, n):
    if "Let a(0)" in bare:
        _, first, _, second, p, _, q, _ = map(abs, numbers(bare))
    elif "sequence" in bare:
        first, second, p, q, _ = numbers(bare)
    else:
        _, first, _, second, p, q = numbers(bare)
    return (first, second)[n] if n < 2 else p * recurrence(bare, n - 1) + q * recurrence(bare, n - 2)


def longest_run(bare, xs):
    fits = {
        "strictly increasing": lambda part: part == sorted(set(part)),
        "never decreasing": lambda part: part == sorted(part),
        "strictly decreasing": lambda part: part[::-1] == sorted(set(part)),
        "never increasing": lambda part: part[::-1] == sorted(part),
        "constant": lambda part: len(set(part)) == 1,
    }
    fit = fits[one_of(bare, fits)]
    parts = [xs[i:j] for i, j in combinations(range(len(xs) + 1), 2) if fit(xs[i:j])]
    best = next((part for n in range(len(xs), 0, -1) for part in parts if len(part) == n), [])
    return best if "as a list" in bare else len(best) if "by its length" in bare else sum(best)


def pair_indices(bare, xs):
    k = int(re.search(r"(?:add up to|differ by) (\d+)", bare)[1])
    hits = [[i, j] for j in range(len(xs)) for i in range(j)
            if (xs[i] + xs[j] == k if "add up" in bare else xs[j] in (xs[i] + k, xs[i] - k))]
    return min(hits, default=[])


def robot(bare, commands):
    place, heading = 0, {"north": 1j, "east": 1, "south": -1j, "west": -1}[re.search("north|east|south|west", bare)[0]]
    step = max(numbers(bare))  # the only other numbers are the origin's
    for c in commands:
        place += step * heading if c == "F" else 0
        heading *= {"L": 1j, "R": -1j, "F": 1}[c]
    return [int(place.real), int(place.imag)]


def digit_steps(bare, n):
    steps, limit = 0, numbers(bare)[0]
    while n >= limit:
        digits = str(n)
        if "sum of its digits" in bare:
            n = sum(map(int, digits))
        else:
            rest, last = int(digits[:-1]), int(digits[-1])
            n = rest * last if "product" in bare else rest + last
        steps += 1
    return steps if "how many" in bare else n


def turn_matrix(bare, grid):
    cells = {(i, j): x for i, row in enumerate(grid) for j, x in enumerate(row)}
    high, wide = len(grid) - 1, len(grid[0]) - 1
    moves = {
        "quarter clockwise": lambda i, j: (j, high - i),
        "quarter anticlockwise": lambda i, j: (wide - j, i),
        "half a turn": lambda i, j: (high - i, wide - j),
        "mirrored": lambda i, j: (i, wide - j),
        "transposed": lambda i, j: (j, i),
    }
    turned = {moves[one_of(bare, moves)](*place): x for place, x in cells.items()}
    flat = [turned[place] for place in sorted(turned)]
    if "into one list" in bare:
        return flat
    width = 1 + max(j for _, j in turned)
    return flat[::width] if "first column" in bare else [flat[i : i + width] for i in range(0, len(flat), width)]


def account(bare, changes):
    low = int(re.search(r"(?:below|under|less than) (-?\d+)", bare)[1])
    taken = [int(re.search(r"(?:starts at|at first|opening balance of) (\d+)", bare)[1])]
    refused = 0
    for change in changes:
        if sum(taken) + change >= low:
            taken.append(change)
        else:
            refused += 1
    return refused if "how many" in bare else sum(taken)
