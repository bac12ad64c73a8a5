"""Programming tasks, difficulties 1 and 2: wordings, a reference solution and plausible wrong ones.

In every text `$f` stands for the function, `$a` and `$b` for its arguments, and any other `$name` for a parameter of
`Task.axes`; a parameter may itself hold `$a` or `$b`. Bodies stand without their `def` line. Difficulty 1 takes one
step, 2 takes two or needs an index, 3 (`code_tasks_hard`) keeps a state, nests or repeats; ten tasks each.
`code_templates` fills them in and draws the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """One template.

    `names` and `args`: function and argument names to choose from, blank-separated; two arguments as `left,right`.
    `takes`: the kind of input (a key of `code_inputs.INPUTS`). `axes`: parameter names -> values; a key with several
    blank-separated names has one tuple of values a choice; the choices of all axes combine freely.
    `wrong` slips are those a programmer makes: each must give a wrong result on some input, for every choice.
    """

    name: str
    difficulty: int
    names: str
    args: str
    takes: str
    axes: dict[str, Any]
    wordings: tuple[str, ...]
    reference: str
    wrong: tuple[str, ...]


_SEPARATORS = [("-", "a hyphen"), ("+", "a plus sign"), ("/", "a slash"), ("_", "an underscore")]
_AGGREGATES = [("sum", "sum", "max"), ("max", "maximum", "min"), ("min", "minimum", "max")]

EASY_AND_MEDIUM = (
    Task(
        "keep_compared", 1, "keep_some select_by_size filter_values", "nums xs values", "ints",
        {"op word near": [(">", "greater than", ">="), ("<", "less than", "<="), (">=", "at least", ">"),
                          ("<=", "at most", "<")], "k": [0, 2, 4, 6, 8]},
        ("Write a function $f($a) that returns the numbers in the list $a that are $word $k, in their original order.",
         "Given a list of integers, $f($a) should keep only those that are $word $k and leave their order alone.",
         "Which numbers of a list are $word $k? Let $f($a) return them as a list, in the order they appear."),
        "return [x for x in $a if x $op $k]",
        ("return [x for x in $a if x $near $k]", "return sorted(x for x in $a if x $op $k)",
         "return [x for x in $a if not x $op $k]"),
    ),
    Task(
        "keep_multiples", 1, "pick_multiples by_divisor sift", "nums items numbers", "ints",
        {"op word other": [("==", "divisible by", "!="), ("!=", "not divisible by", "==")], "k": range(2, 8)},
        ("Implement $f($a), which returns a list of the integers in $a that are $word $k, keeping their order.",
         "From the list $a, $f($a) selects every number that is $word $k. Order and repeats stay as they are.",
         "Define $f($a) so that only those numbers of a list which are $word $k remain."),
        "return [x for x in $a if x % $k $op 0]",
        ("return [x for x in $a if x % $k $other 0]", "return [x for x in $a if x > 0 and x % $k $op 0]",
         "return [x // $k for x in $a if x % $k $op 0]"),
    ),
    Task(
        "scale_shift", 1, "rescale adjust transform_all", "values xs nums", "ints",
        {"m": range(2, 7), "c": range(1, 8)},
        ("Multiply every number in a list by $m and then add $c. Call the function $f($a); it returns a new list.",
         "Write $f($a): the list in which each element of $a has been multiplied by $m and then increased by $c.",
         "$f($a) takes a list of integers and returns another, where each x has become $m times x plus $c."),
        "return [$m * x + $c for x in $a]",
        ("return [$m * (x + $c) for x in $a]", "return [$m * x for x in $a]", "return [x + $m + $c for x in $a]"),
    ),
    Task(
        "clip", 1, "clamp_all limit_values clip_list", "readings xs nums", "ints",
        {"lo": range(-3, 3), "hi": range(5, 10)},
        ("Readings below $lo count as $lo and those above $hi as $hi. Return the corrected list from $f($a).",
         "Write a function $f($a) that clamps each integer in the list $a to the range from $lo to $hi.",
         "Each number in a list has to lie between $lo and $hi: $f($a) replaces any beyond a limit by that limit."),
        "return [min(max(x, $lo), $hi) for x in $a]",
        ("return [min(x, $hi) for x in $a]", "return [x for x in $a if $lo <= x <= $hi]",
         "return [max(min(x, $lo), $hi) for x in $a]"),
    ),
    Task(
        "stride_sum", 1, "spaced_sum stride_total add_spaced", "nums xs row", "ints",
        {"s t u k": [(s, s + k, s + 2 * k, k) for k in (2, 3, 4) for s in (0, 1, 2)]},
        ("Add up the elements of a list at indices $s, $t, $u and so on (the first index is 0). Name it $f($a).",
         "Counting from index 0, $f($a) returns the sum of the numbers in $a at positions $s, $t, $u, and so on.",
         "Return from $f($a) the total of $a[$s], $a[$t], $a[$u], ...; a list that is too short gives 0."),
        "return sum($a[$s::$k])",
        ("return sum($a[$t::$k])", "return sum($a[$s:$k])", "return sum(range($s, len($a), $k))"),
    ),
    Task(
        "count_letter", 1, "letter_count how_often count_char", "text s line", "sentence",
        {"c": "aeionrst"},
        ("How many times does the letter $c occur in a text, as a small or a capital letter? Return it from $f($a).",
         "Write $f($a), counting how often the letter $c appears in the string $a, whether upper or lower case.",
         "The function $f($a) receives a string and returns the number of letters $c in it, ignoring case."),
        "return $a.lower().count(\"$c\")",
        ("return $a.count(\"$c\")", "return sum(\"$c\" in w for w in $a.lower().split())",
         "return len($a) - $a.lower().count(\"$c\")"),
    ),
    Task(
        "join_changed", 1, "join_words glue make_label", "words parts items", "words",
        {"sep called": _SEPARATORS, "expr how": [("w.upper()", "in upper case"), ("w[::-1]", "spelled backwards"),
                                                 ("w[:1]", "cut down to its first letter")]},
        ("Join the strings in a list, each $how, with $called between neighbours. Write it as $f($a).",
         "$f($a) takes a list of words and returns one string: the words, each $how, separated by $called.",
         "Create a function $f($a) which puts $called between the words of $a after writing each word $how."),
        "return \"$sep\".join($expr for w in $a)",
        ("return \"$sep\".join($a)", "return \"\".join($expr + \"$sep\" for w in $a)",
         "return \"$sep\".join($expr for w in $a[::-1])"),
    ),
    Task(
        "ends_reversed", 1, "flip_end reversed_part end_slice", "items xs queue", "ints",
        {"word cut": [("first", ":$k"), ("last", "-$k:")], "k": range(2, 7)},
        ("Return the $word $k elements of a list in reverse order, or all of them reversed if there are fewer: $f($a).",
         "Let $f($a) take the $word $k members of $a (fewer if the list is shorter) and give them back reversed.",
         "We want the $word $k entries of the list $a, backwards; a shorter list is reversed whole. Write $f($a)."),
        "return $a[$cut][::-1]",
        ("return $a[$cut]", "return $a[::-1][$cut]", "return $a[$cut][::-1][1:]"),
    ),
    Task(
        "zip_combine", 1, "combine pairwise merge_lists", "left,right first,second xs,ys", "two_lists",
        {"expr word slip": [("x + y", "sum of the two items", "x * y"), ("x * y", "product of the two items", "x + y"),
                            ("x - y", "item of $a minus the item of $b", "y - x"),
                            ("max(x, y)", "larger of the two items", "min(x, y)"),
                            ("min(x, y)", "smaller of the two items", "max(x, y)")],
         "end order unend": [("", "in order", "[::-1]"), ("[::-1]", "in reverse order", "")]},
        ("Two lists of integers are equally long. For each position take the $word; $f($a, $b) returns these $order.",
         "Write $f($a, $b) for lists of equal length: the $word at every position, listed $order.",
         "Going through $a and $b together, $f($a, $b) collects the $word at each index and returns the list $order."),
        "return [$expr for x, y in zip($a, $b)]$end",
        ("return [$slip for x, y in zip($a, $b)]$end", "return [$expr for x, y in zip($a, $b)]$unend",
         "return [$expr for x, y in zip($a, $b[1:])]$end"),
    ),
    Task(
        "count_digit", 1, "digit_count count_in_number times_written", "n number value", "integer",
        {"d": range(10)},
        ("How often is the digit $d written in an integer? $f($a) returns the count, for negative numbers as well.",
         "Write $f($a) that counts the digits equal to $d in the decimal form of the integer $a, ignoring its sign.",
         "The integer $a may be negative or zero. Return from $f($a) how many of its decimal digits are $d."),
        "return str($a).count(\"$d\")",
        ("count = 0\nwhile $a > 0:\n    count += $a % 10 == $d\n    $a //= 10\nreturn count",
         "return int(\"$d\" in str($a))", "return str($a)[1:].count(\"$d\")"),
    ),
    Task(
        "filter_map_reduce", 2, "total_of special_sum sum_selected", "nums xs values", "ints",
        {"cond which": [("x % 2 == 0", "even"), ("x % 2 == 1", "odd"), ("x > 0", "positive"), ("x < 0", "negative")],
         "expr what": [("x * x", "squares"), ("x * x * x", "cubes"), ("2 * x", "doubles")]},
        ("Find the sum of the $what of the $which numbers in a list of integers. The function is $f($a).",
         "Only the $which numbers in $a matter: $f($a) returns the sum of their $what, or 0 if there are none.",
         "Write $f($a) to keep the $which integers of a list, turn them into their $what and sum these."),
        "return sum($expr for x in $a if $cond)",
        ("return sum($expr for x in $a)", "return sum(x for x in $a if $cond)",
         "return sum($expr for x in $a if not $cond)"),
    ),
    Task(
        "word_counts", 2, "word_counts tally frequency_table", "text line message", "sentence",
        {"op word near": [(">=", "at least", ">"), ("<=", "at most", "<")], "k": range(2, 7)},
        ("Count the words of a text separated by blanks, ignoring case. $f($a) returns a dictionary from each "
         "lower-case word with $word $k letters to its count.",
         "For a string of words, build a dictionary with $f($a): the keys are the words of $word $k letters in lower "
         "case, the values say how often each occurs.",
         "Lower-case the string $a and split it at blanks. Then $f($a) maps every word of $word $k letters to the "
         "number of its occurrences."),
        "words = $a.lower().split()\nreturn {w: words.count(w) for w in words if len(w) $op $k}",
        ("words = $a.lower().split()\nreturn {w: words.count(w) for w in words if len(w) $near $k}",
         "words = $a.split()\nreturn {w: words.count(w) for w in words if len(w) $op $k}",
         "words = $a.lower().split()\nreturn {w: len(w) for w in words if len(w) $op $k}"),
    ),
    Task(
        "group_words", 2, "group_words bucket sort_into_groups", "words names items", "words",
        {"key by": [("w[0]", "first letter"), ("w[-1]", "last letter"), ("str(len(w))", "length (as a string)")],
         "walk order slip": [("$a", "in their original order", "sorted($a)"),
                             ("sorted($a)", "in alphabetical order", "$a"),
                             ("sorted($a, reverse=True)", "in reverse alphabetical order", "sorted($a)")]},
        ("Group the words of a list by their $by. $f($a) returns a dictionary of lists, the words of each $order.",
         "Write $f($a): a dictionary whose keys are each word's $by and whose values list the words, $order.",
         "Words with the same $by belong together. Return them from $f($a) as a dictionary of lists $order."),
        "groups = {}\nfor w in $walk:\n    groups.setdefault($key, []).append(w)\nreturn groups",
        ("groups = {}\nfor w in $slip:\n    groups.setdefault($key, []).append(w)\nreturn groups",
         "groups = {}\nfor w in $walk:\n    groups[$key] = [w]\nreturn groups",
         "groups = {}\nfor w in $walk:\n    groups[$key] = groups.get($key, 0) + 1\nreturn groups"),
    ),
    Task(
        "sort_by_key", 2, "order_by custom_sort arrange", "nums xs numbers", "ints",
        {"key by": [("abs(x)", "absolute value")] + [(f"x % {k}", f"remainder modulo {k} (from 0 to {k - 1})")
                                                     for k in (3, 4, 5, 7)],
         "tie rule slip": [("", "keep their original order", ", x"), (", x", "come smallest first", ", -x"),
                           (", -x", "come largest first", ", x")]},
        ("Sort integers by their $by; those that tie $rule. Return the new list from $f($a).",
         "Arrange the list $a by increasing $by with a function $f($a), where equal ones $rule.",
         "$f($a) returns the integers of $a ordered by $by, smallest first. Numbers that tie $rule."),
        "return sorted($a, key=lambda x: ($key$tie))",
        ("return sorted($a)", "return sorted($a, key=lambda x: ($key$slip))",
         "return sorted($a, key=lambda x: ($key$tie), reverse=True)"),
    ),
    Task(
        "window_aggregate", 2, "sliding moving_values windows", "series xs readings", "ints",
        {"agg word slip": _AGGREGATES, "k": range(2, 6)},
        ("Slide a window of $k neighbours over a list one step at a time and return the $word of each: $f($a).",
         "For every run of $k consecutive numbers in $a, $f($a) reports their $word. Fewer than $k numbers give [].",
         "Write $f($a) that returns the $word of each window of length $k in a list, from left to right."),
        "return [$agg($a[i:i + $k]) for i in range(len($a) - $k + 1)]",
        ("return [$agg($a[i:i + $k]) for i in range(len($a) - $k)]",
         "return [$agg($a[i:i + $k]) for i in range(0, len($a), $k)]",
         "return [$slip($a[i:i + $k]) for i in range(len($a) - $k + 1)]"),
    ),
    Task(
        "chunk_aggregate", 2, "chunks block_values by_blocks", "data xs entries", "ints",
        {"agg word slip": _AGGREGATES, "k": range(2, 6)},
        ("Cut a list into blocks of $k elements (the last may be shorter) and return the $word of each block: $f($a).",
         "The numbers in $a come in batches of $k, the last perhaps smaller. Let $f($a) list the $word of each batch.",
         "Split $a into consecutive pieces of size $k, any rest forming the last; $f($a) gives each piece's $word."),
        "return [$agg($a[i:i + $k]) for i in range(0, len($a), $k)]",
        ("return [$agg($a[i:i + $k]) for i in range(0, len($a) - $k + 1, $k)]",
         "return [$agg($a[i:i + $k]) for i in range(len($a))]",
         "return [$slip($a[i:i + $k]) for i in range(0, len($a), $k)]"),
    ),
    Task(
        "parse_pairs", 2, "parse_settings read_pairs decode", "text line record", "assignments",
        {"sep called": [(";", "semicolons"), (",", "commas"), ("&", "ampersands"), ("|", "vertical bars")],
         "value rule slip": [("int(v)", "the last value counts", "out.get(k, int(v))"),
                             ("out.get(k, int(v))", "the first value counts", "int(v)"),
                             ("out.get(k, 0) + int(v)", "the values are added up", "int(v)"),
                             ("max(out.get(k, int(v)), int(v))", "the largest value counts", "int(v)")]},
        ("A string such as a=1${sep}b=2 holds integers under names. $f($a) returns them as a dictionary; if a name "
         "repeats, $rule. An empty string gives {}.",
         "Parse name=integer items separated by $called into a dictionary with $f($a). Where a name comes more than "
         "once, $rule; empty text gives {}.",
         "Write $f($a), turning text like x=5${sep}y=-2 into a dictionary of integers. For a repeated name $rule; the "
         "empty string means no items."),
        "out = {}\nfor part in filter(None, $a.split(\"$sep\")):\n    k, v = part.split(\"=\")\n    out[k] = $value\n"
        "return out",
        ("out = {}\nfor part in filter(None, $a.split(\"$sep\")):\n    k, v = part.split(\"=\")\n    out[k] = $slip\n"
         "return out",
         "return dict(part.split(\"=\") for part in $a.split(\"$sep\") if part)",
         "out = {}\nfor part in $a.split(\"$sep\")[:-1]:\n    k, v = part.split(\"=\")\n    out[k] = $value\n"
         "return out"),
    ),
    Task(
        "most_frequent", 2, "most_common top_words favourites", "words votes names", "words",
        {"tie rule slip": [("w", "in alphabetical order", "$a.index(w)"),
                           ("$a.index(w)", "in order of first appearance", "w")], "k": range(2, 6)},
        ("Return the $k most frequent strings of a list, most frequent first and ties $rule, from $f($a).",
         "Rank the different words in $a by how often they occur, ties $rule; $f($a) returns up to $k from the top.",
         "Which strings occur most? $f($a) lists at most $k of them by falling count, equal counts $rule."),
        "return sorted(set($a), key=lambda w: (-$a.count(w), $tie))[:$k]",
        ("return sorted(set($a), key=lambda w: ($a.count(w), $tie))[:$k]",
         "return sorted(set($a), key=lambda w: (-$a.count(w), $slip))[:$k]",
         "return sorted(set($a), key=lambda w: $tie)[:$k]"),
    ),
    Task(
        "shift_letters", 2, "shift_text encode rotate_letters", "text message s", "lower_text",
        {"k": range(2, 13), "op way back": [("+", "forward", "-"), ("-", "back", "+")]},
        ("Move each lower-case letter of a string $k places $way in the alphabet, wrapping around. Other characters "
         "stay. Name it $f($a).",
         "Encode the string $a with $f($a): shift letters a to z by $k $way, cyclically, and leave blanks alone.",
         "$f($a) returns the text $a with every letter replaced by the one $k steps $way in the circular alphabet; "
         "other characters do not change."),
        "return \"\".join(chr((ord(c) - 97 $op $k) % 26 + 97) if c.isalpha() else c for c in $a)",
        ("return \"\".join(chr(ord(c) $op $k) if c.isalpha() else c for c in $a)",
         "return \"\".join(chr((ord(c) - 97 $op $k) % 26 + 97) for c in $a)",
         "return \"\".join(chr((ord(c) - 97 $back $k) % 26 + 97) if c.isalpha() else c for c in $a)"),
    ),
    Task(
        "matrix_lines", 2, "line_values table_summary matrix_stats", "grid table cells", "matrix",
        {"lines line slip": [("$a", "row", "zip(*$a)"), ("zip(*$a)", "column", "$a")],
         "agg word": [("sum(r)", "sum"), ("max(r)", "largest number"), ("min(r)", "smallest number"),
                      ("max(r) - min(r)", "difference between the largest and the smallest number")]},
        ("A matrix is given as a list of rows. $f($a) returns a list with the $word of each $line.",
         "Compute, for every $line of the matrix $a (a list of equally long lists), the $word; $f($a) returns them.",
         "For a table of integers stored row by row, write $f($a) to list every ${line}'s $word."),
        "return [$agg for r in $lines]",
        ("return [$agg for r in $slip]", "return [$agg for r in list($lines)[1:]]",
         "return [r[0] for r in $lines]"),
    ),
)
