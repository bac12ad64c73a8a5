"""Programming tasks of difficulty 3: they keep a state, nest, repeat or recurse. Written as `code_tasks` says."""

from __future__ import annotations

from code_tasks import Task

_STARTS = [(0, 1), (1, 2), (2, 1), (1, 3)]
_FACTORS = [(2, 3), (3, 2), (1, 2), (2, 1), (3, 1), (1, 3)]
_DIGIT_STEPS = [
    ("sum(int(d) for d in str($a))", "sum of its digits"),
    ("$a // 10 + $a % 10", "sum of its last digit and the number without that digit"),
    ("$a // 10 * ($a % 10)", "product of its last digit and the number without that digit"),
]
_TURNS = [
    ("zip(*$a[::-1])", "turned a quarter clockwise", "list(zip(*$a))[::-1]"),
    ("list(zip(*$a))[::-1]", "turned a quarter anticlockwise", "zip(*$a[::-1])"),
    ("[r[::-1] for r in $a[::-1]]", "turned by half a turn", "$a[::-1]"),
    ("[r[::-1] for r in $a]", "mirrored left to right", "$a[::-1]"),
    ("zip(*$a)", "transposed", "[r[::-1] for r in $a]"),
]
_RUNS = "out = []\nfor c in $a:\n    if out and out[-1][0] == c:\n        out[-1][1] += 1\n    else:\n"
_RUNS += "        out.append([c, 1])\n"
_DEPTH = "depth = top = 0\nfor c in $a:\n    depth += (c == \"$o\") - (c == \"$c\")\n    top = max(top, depth)\n"
_NESTED = "total, stack = 0, [(x, 1) for x in $a]\nwhile stack:\n    x, depth = stack.pop()\n"
_NESTED += "    if isinstance(x, list):\n        stack += [(y, depth + 1) for y in x]\n    "
_WALK = "x, y, dx, dy = 0, 0, $dx, $dy\nfor c in $a:\n"
_STEP = "    if c == \"F\":\n        x, y = x + $k * dx, y + $k * dy\n    else:\n"
_PAIRS = "for i, x in enumerate($a):\n    for j in range(i + 1, len($a)):\n        if $test == $k:\n            return "

HARD = (
    Task(
        "runs", 3, "find_runs compress blocks_of", "text s signal", "letter_runs",
        {"k": range(2, 5), "expr form": [("[c, n]", "a list [character, length]"),
                                         ("c + str(n)", "the character followed by the length, as in b7"),
                                         ("n", "just its length")]},
        ("A run is a longest stretch of one repeated character. $f($a) lists the runs of $k or more characters in a "
         "string, each as $form.",
         "Go through the string $a and find each maximal run of at least $k equal characters. For every such run "
         "$f($a) gives $form.",
         "Run-length encode a string, leaving out runs shorter than $k: $f($a) returns a list with, for each, $form."),
        _RUNS + "return [$expr for c, n in out if n >= $k]",
        (_RUNS + "return [$expr for c, n in out if n > $k]", _RUNS + "return [$expr for c, n in out[:-1] if n >= $k]",
         "out = [(c, $a.count(c)) for c in sorted(set($a))]\nreturn [$expr for c, n in out if n >= $k]"),
    ),
    Task(
        "brackets", 3, "check_brackets match_up nesting", "text s expression", "brackets",
        {"o c": ["()", "[]", "<>"],
         "bad good asked": [("False", "True", "True if the brackets $o and $c match up properly, else False"),
                            ("-1", "top", "how deep the brackets $o $c are nested, or -1 if they do not match up"),
                            ("0", "$a.count(\"$o\")", "the number of pairs $o $c, or 0 if they do not match up")]},
        ("Read a string from left to right and return $asked. Write it as $f($a).",
         "$f($a) looks only at the characters $o and $c of a text and returns $asked.",
         "For a string $a with brackets $o and $c among other characters, $f($a) should return $asked."),
        _DEPTH + "    if depth < 0:\n        return $bad\nreturn $good if depth == 0 else $bad",
        (_DEPTH + "return $good if depth == 0 else $bad",
         _DEPTH + "    if depth < 0:\n        return $bad\nreturn $good"),
    ),
    Task(
        "nested_depth", 3, "deep_total explore_nested dig", "items tree xs", "nested",
        {"op word": [("==", "exactly"), (">=", "at least"), ("<=", "at most")], "k": [2, 3],
         "value what": [("x", "sum"), ("1", "number")]},
        ("A list holds integers and lists, which may hold further lists. Integers directly in it have depth 1. $f($a) "
         "returns the $what of the integers at depth $word $k.",
         "In the nested list $a, depth counts how many lists enclose an integer. Write $f($a) for the $what of those "
         "whose depth is $word $k.",
         "Walk through arbitrarily nested lists with $f($a): what is the $what of the integers enclosed by $word $k "
         "lists, the outermost included?"),
        _NESTED + "elif depth $op $k:\n        total += $value\nreturn total",
        (_NESTED.replace("(x, 1)", "(x, 0)") + "elif depth $op $k:\n        total += $value\nreturn total",
         _NESTED + "else:\n        total += $value\nreturn total",
         "return sum($value for x in $a if not isinstance(x, list))"),
    ),
    Task(
        "recurrence", 3, "nth_term sequence_value term", "n index k", "index",
        {"s t p q": [(s, t, p, q) for s, t in _STARTS for p, q in _FACTORS]},
        ("A sequence starts with $s, $t, and each later term is $p times the term before plus $q times the one before "
         "that. $f($a) returns term number $a, counted from 0.",
         "Let a(0) = $s, a(1) = $t and a(i) = $p * a(i-1) + $q * a(i-2). Compute a($a) in the function $f($a).",
         "Term 0 is $s and term 1 is $t. From there on, multiply the last term by $p and the one before by $q and add. "
         "Find term $a with $f($a)."),
        "x, y = $s, $t\nfor _ in range($a):\n    x, y = y, $p * y + $q * x\nreturn x",
        ("x, y = $s, $t\nfor _ in range($a):\n    x, y = y, $q * y + $p * x\nreturn x",
         "x, y = $s, $t\nfor _ in range($a - 1):\n    x, y = y, $p * y + $q * x\nreturn x",
         "x, y = $s, $t\nfor _ in range($a):\n    x = y\n    y = $p * y + $q * x\nreturn x"),
    ),
    Task(
        "longest_run", 3, "longest_stretch best_run streak", "nums xs prices", "close_ints",
        {"op how near": [("<", "strictly increasing", "<="), ("<=", "never decreasing", "<"),
                         (">", "strictly decreasing", ">="), (">=", "never increasing", ">"),
                         ("==", "constant", "<=")],
         "out asked": [("best", "as a list"), ("len(best)", "by its length"), ("sum(best)", "by its sum")]},
        ("Find the longest stretch of neighbouring elements that is $how, the first one if several are equally long. "
         "$f($a) reports it $asked.",
         "Among all contiguous parts of the list $a that are $how, take the longest (the earliest on a tie). Give it "
         "back $asked from $f($a).",
         "Which contiguous piece of a list is $how and as long as possible? With ties the first wins. $f($a) returns "
         "it $asked."),
        "best = run = []\nfor x in $a:\n    run = run + [x] if run and run[-1] $op x else [x]\n"
        "    best = max(best, run, key=len)\nreturn $out",
        ("best = run = []\nfor x in $a:\n    run = run + [x] if run and run[-1] $near x else [x]\n"
         "    best = max(best, run, key=len)\nreturn $out",
         "best = []\nfor x in $a:\n    best = best + [x] if best and best[-1] $op x else [x]\nreturn $out",
         "best = []\nfor x in $a:\n    if not best or best[-1] $op x:\n        best = best + [x]\nreturn $out"),
    ),
    Task(
        "pair_indices", 3, "find_pair matching_pair first_pair", "nums xs weights", "close_ints",
        {"test which": [("x + $a[j]", "add up to"), ("abs(x - $a[j])", "differ by")], "k": range(1, 8)},
        ("Two elements of a list $which $k: return their indices [i, j] with i < j, the smallest i first and then the "
         "smallest j, or [] if there are none. Name: $f($a).",
         "Search the list $a for two entries that $which $k. $f($a) returns the index pair [i, j], i < j, that comes "
         "first in lexicographic order, or an empty list.",
         "Find the first i, and for it the first j > i, such that items i and j of $a $which $k. $f($a) gives [i, j], "
         "or [] without such a pair."),
        _PAIRS + "[i, j]\nreturn []",
        (_PAIRS + "[x, $a[j]]\nreturn []", _PAIRS + "[i + 1, j + 1]\nreturn []",
         "for j, x in enumerate($a[1:]):\n    if $test == $k:\n        return [j, j + 1]\nreturn []"),
    ),
    Task(
        "robot", 3, "final_position drive run_robot", "commands moves path", "moves",
        {"dx dy facing": [(0, 1, "north (y grows)"), (1, 0, "east (x grows)"), (0, -1, "south (y falls)"),
                          (-1, 0, "west (x falls)")], "k": [2, 3, 4, 5]},
        ("A robot at [0, 0] faces $facing. F moves it $k steps ahead, L and R turn it left and right on the spot. "
         "$f($a) returns its final [x, y].",
         "Follow a string of commands from the origin, first heading $facing: F is a move of $k units, L and R are "
         "quarter turns. Where does it end? $f($a) returns [x, y].",
         "Starting at x = y = 0 and looking $facing, obey each letter of $a: F goes forward by $k, L turns left, R "
         "turns right. Return the end point [x, y] from $f($a)."),
        _WALK + _STEP + "        dx, dy = (-dy, dx) if c == \"L\" else (dy, -dx)\nreturn [x, y]",
        (_WALK + _STEP + "        dx, dy = (-dy, dx) if c == \"R\" else (dy, -dx)\nreturn [x, y]",
         _WALK + _STEP.replace("$k * ", "") + "        dx, dy = (-dy, dx) if c == \"L\" else (dy, -dx)\nreturn [x, y]",
         "return [$k * $dx * $a.count(\"F\"), $k * $dy * $a.count(\"F\")]"),
    ),
    Task(
        "digit_steps", 3, "reduce_number shrink digit_process", "n number start", "natural",
        {"expr step": _DIGIT_STEPS, "limit": [10, 15, 20, 25],
         "base pre ask obase opre": [("$a", "", "the number left", "0", "1 + "),
                                     ("0", "1 + ", "how many replacements it took", "$a", "")]},
        ("As long as a non-negative integer is $limit or more, replace it by the $step. $f($a) returns $ask.",
         "Repeat until the number is below $limit: it becomes the $step. From $a on, return $ask; call it $f($a).",
         "Write a recursive $f($a): a number of at least $limit gives way to the $step, again and again. The result is "
         "$ask."),
        "if $a < $limit:\n    return $base\nreturn $pre$f($expr)",
        ("if $a <= $limit:\n    return $base\nreturn $pre$f($expr)",
         "if $a < $limit:\n    return $obase\nreturn $opre$f($expr)",
         "if $a < $limit:\n    return $base\n$a = $expr\nreturn $pre$base"),
    ),
    Task(
        "turn_matrix", 3, "turn_grid transform_matrix rearrange", "grid board picture", "matrix",
        {"op how slip": _TURNS,
         "out then": [("[list(r) for r in rows]", "as a list of rows"),
                      ("[x for r in rows for x in r]", "read row by row into one list"),
                      ("[r[0] for r in rows]", "cut down to the list of its first column")]},
        ("A grid is a list of equally long rows. Return it $how, $then: write $f($a).",
         "$f($a) takes a rectangular matrix and returns the matrix $how, $then.",
         "The matrix $a (a list of rows) is to be $how. Return the result, $then, from $f($a)."),
        "rows = $op\nreturn $out",
        ("rows = $slip\nreturn $out", "rows = $a\nreturn $out"),
    ),
    Task(
        "account", 3, "process_account settle run_ledger", "changes amounts orders", "ints",
        {"start": [0, 5, 10, 20], "floor": [0, -5, -10],
         "out asked": [("balance", "the final balance"), ("refused", "how many changes were refused")]},
        ("An account starts at $start. Apply the changes in a list in turn, refusing any that would bring it below "
         "$floor. $f($a) returns $asked.",
         "Deposits are positive, withdrawals negative, and the balance, at first $start, must never fall under $floor: "
         "a change that would do so is skipped. Return $asked from $f($a).",
         "With an opening balance of $start, go through $a and add each amount unless the balance would then be less "
         "than $floor. The function $f($a) gives $asked."),
        "balance, refused = $start, 0\nfor x in $a:\n    if balance + x < $floor:\n        refused += 1\n    else:\n"
        "        balance += x\nreturn $out",
        ("balance, refused = $start, 0\nfor x in $a:\n    if balance + x <= $floor:\n        refused += 1\n    else:\n"
         "        balance += x\nreturn $out",
         "balance, refused = $start, 0\nfor x in $a:\n    refused += x < $floor\n    balance += x\nreturn $out",
         "balance, refused = $start, 0\nfor x in $a:\n    if balance + x < $floor:\n        refused += 1\n"
         "        break\n    balance += x\nreturn $out"),
    ),
)
