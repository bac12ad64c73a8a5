"""The house: which modules there are, who imports whom, and what of it is against the design."""

from __future__ import annotations

import ast
from pathlib import Path

# From the top floor down: a room imports rooms below it alone. `trinity_core` is the ground floor.
FLOORS = (
    ("commands",),
    ("runner",),
    ("chapters",),
    ("routers",),
    ("evaluation",),
    ("experiments",),
    ("baselines",),
    ("worlds",),
    ("pools",),
    ("recordings",),
    ("benchmarks",),
    ("questions",),
    ("checkers",),
    ("sandbox",),
    ("results",),
    ("stats",),
    ("published",),
    ("profiles", "console"),
    ("trinity_core",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
CORE_LINES, MODULE_LINES, ALL_LINES, TEST_LINES = 3_300, 350, 23_500, 16_500


def modules(root: Path) -> dict[str, Path]:
    """Dotted name -> file, of the core and the suite."""
    found = {}
    for name, folder in (("trinity_core", root / "trinity_core"), ("suite", root / "notebooks" / "suite")):
        for path in folder.rglob("*.py"):
            parts = [name, *path.relative_to(folder).with_suffix("").parts]
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def arrows(files: dict[str, Path]) -> set[tuple[str, str]]:
    """(importing module, imported module), imports inside functions and under TYPE_CHECKING included."""
    found = set()
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                targets = {t if (t := f"{node.module}.{a.name}") in files else node.module for a in node.names}
            elif isinstance(node, ast.Import):
                targets = {alias.name for alias in node.names}
            else:
                continue
            found |= {(name, target) for target in targets if target in files and target != name}
    return found


def room(module: str) -> str:
    """`suite.worlds.bank` -> `worlds`; anything of the core -> `trinity_core`."""
    first, *rest = module.split(".")
    return rest[0] if first == "suite" and rest else first


def circles(pairs: set[tuple[str, str]]) -> list[str]:
    """Every module that can reach itself, each circle once."""
    below: dict[str, set[str]] = {}
    for source, target in pairs:
        below.setdefault(source, set()).add(target)
    found = set()
    for start in below:
        seen, todo = set(), [start]
        while todo:
            for target in below.get(todo.pop(), set()) - seen:
                seen.add(target)
                todo.append(target)
        if start in seen:
            found.add(start)
    return sorted(found)


def lines(paths) -> int:
    """All lines of some files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def faults(root: Path) -> list[str]:
    """What is against the design, one sentence each."""
    files = modules(root)
    pairs = arrows(files)
    said = []
    for source, target in sorted(pairs):
        upper, lower = room(source), room(target)
        if upper == "trinity_core" and target.startswith("suite"):
            said.append(f"the core imports the suite: {source} -> {target}")
        elif upper != lower and FLOOR.get(upper, -1) >= FLOOR.get(lower, len(FLOORS)):
            said.append(f"an arrow runs upward: {source} -> {target}")
    said += [f"{name} is part of an import circle" for name in circles(pairs)]
    said += [f"{name} stands on no floor" for name in sorted(map(room, files)) if name not in FLOOR and name != "suite"]
    said += [f"{name} has more than {MODULE_LINES} lines" for name in files if lines([files[name]]) > MODULE_LINES]
    core = lines(path for name, path in files.items() if room(name) == "trinity_core")
    whole = lines([*files.values(), *(root / "data" / "make").rglob("*.py")])
    tests = lines((root / "tests").rglob("*.py"))
    for what, count, most in (
        ("the core", core, CORE_LINES),
        ("the whole", whole, ALL_LINES),
        ("tests", tests, TEST_LINES),
    ):
        if count > most:
            said.append(f"{what} has {count} lines, more than {most}")
    return said
