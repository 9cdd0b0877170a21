"""The layers of the package and the rooms of its parts: imports go down the lists, without cycles; JAX behind its door.

The rules read source text, so each is also tried on a planted offence: a rule that never objects would be worthless.
"""

import ast
import functools
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "funcgrad"
LAYERS = [
    {"_public", "_types"},
    {"errors"},
    {"tree"},
    {"_core"},
    {"_engines"},
    {"_ops"},
    {"numpy", "scipy", "random"},
    {"_transforms"},
    {"_report"},
    {"autograd"},
    {"nn", "sparse"},
    {"optim"},
    {"interop", "io", "sharding", "testing"},
    {"extend", "torch", "jax"},
    {""},  # funcgrad/__init__.py
]
RANKS = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
# Within a part: its rooms, lowest first. FILES are what lies beside them in the part's own folder, FRONT is its
# ``__init__.py``, and a file that is named has a place of its own.
FILES = "files"
FRONT = "front"
ROOMS = {
    "_core": [{FILES}, {"graph"}, {"trace"}, {FRONT}],
    "_engines": [{FILES}, {"source", "xla"}, {FRONT}],
    "_ops": [
        {"layout"},
        {"elementwise"},
        {"contract", "index", "fft", "random"},
        {"reduce"},
        {"linalg", "program"},
        {"rolling"},
        {FRONT},
    ],
    "numpy": [
        {"_base"},
        *({"_layout"}, {"_math", "_reduce", "_contract"}, {"_choose", "linalg", "fft"}, {"_array", "polynomial"}),
        *({FRONT}, {"extend"}),
    ],
    "_transforms": [{"base"}, {FILES}, {"derivative"}, {"compiled", "control", "custom"}, {FRONT}],
    "scipy": [
        {"special", "linalg", "sparse"},
        {FILES},
        {"fft", "stats", "integrate", "interpolate", "optimize", "signal", "spatial"},
        {FRONT},
    ],
    "_report": [{FILES, "python"}, {FRONT}],
    "tree": [{FILES}, {FRONT}, {"extend"}],
    "random": [{FILES}, {FRONT}, {"extend"}],
    "autograd": [{"_torch"}, {"_tape"}, {"_memory"}, {"_methods"}, {FILES}, {FRONT}, {"extend"}],
    "nn": [{"_functions"}, {"functional"}, {FILES}, {"utils"}, {"_modules"}, {FRONT}, {"extend"}],
    "torch": [{FILES}, {"_kernels", "amp", "autograd", "serialization"}, {"utils", "distributions"}, {FRONT}],
    "interop": [{FILES}, {"autograd"}, {FRONT}],
    "jax": [{FILES}, {"numpy"}, {"lax"}, {"image", "nn", "scipy"}, {FRONT}],
    "optim": [
        *({"_rules"}, {"_run", "_state"}, {FILES}, {"_torch"}, {"_lr_scheduler"}, {"lr_scheduler", "swa_utils"}),
        *({FRONT}, {"extend"}),
    ],
}
ROOM_RANKS = {part: {room: rank for rank, rooms in enumerate(order) for room in rooms} for part, order in ROOMS.items()}
XLA_ENGINE = f"{PACKAGE}._engines.xla"
# The files that may import inside functions: the loader of modules that are imported when they are first used.
LOADERS = {f"{PACKAGE}._core.lazy"}
MAX_LINES = 500

Sources = dict[str, str]  # module name -> text


# Every rule reads the whole package, which is read and parsed once.
parsed = functools.cache(ast.parse)


@functools.cache
def package_sources() -> Sources:
    """Every module of the package, by its dotted name."""
    return {_module_name(path): path.read_text() for path in sorted((ROOT / PACKAGE).rglob("*.py"))}


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda


class Import(NamedTuple):
    """An import: of a module, or of a name in it; its line, and whether it stands in a function or is for types."""

    module: str
    name: str | None
    line: int
    in_function: bool
    for_types: bool


@functools.cache
def imports_of(text: str) -> list[Import]:
    """The imports of a module, in one walk over its tree."""
    found: list[Import] = []
    todo: list[tuple[ast.AST, bool, bool]] = [(parsed(text), False, False)]
    while todo:
        node, inside, typing = todo.pop()
        if isinstance(node, ast.Import):
            found += [Import(alias.name, None, node.lineno, inside, typing) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write imports in full"
            found += [Import(node.module or "", alias.name, node.lineno, inside, typing) for alias in node.names]
        inside = inside or isinstance(node, _FUNCTIONS)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            todo += [(child, inside, True) for child in node.body]
            todo += [(child, inside, typing) for child in node.orelse]
        else:
            todo += [(child, inside, typing) for child in ast.iter_child_nodes(node)]
    return found


def edges(sources: Sources, *, for_types: bool) -> dict[str, set[str]]:
    """Which module imports which within the package, with or without the imports that only type checkers see."""
    graph: dict[str, set[str]] = {}
    for module, text in sources.items():
        targets = graph.setdefault(module, set())
        for source, name, _, _, is_type in imports_of(text):
            if is_type and not for_types:
                continue
            target = f"{source}.{name}" if f"{source}.{name}" in sources else source
            if target.split(".")[0] == PACKAGE and target != module:
                targets.add(target)
    return graph


def layer(module: str) -> int:
    """The rank of a module's layer, 0 the lowest."""
    part = part_of(module)
    assert part in RANKS, f"{module} has no place in the list of layers"
    return RANKS[part]


def upward_imports(sources: Sources) -> list[str]:
    return [
        f"{module} imports {target}"
        for module, targets in edges(sources, for_types=True).items()
        for target in sorted(targets)
        if layer(target) > layer(module)
    ]


def part_of(module: str) -> str:
    """The first folder or file below the package: ``numpy`` of ``funcgrad.numpy._base.axes``."""
    return module.partition(".")[2].partition(".")[0]


def room(module: str, sources: Sources) -> str:
    """The folder in its part that a module lies in: ``_base`` of ``funcgrad.numpy._base.axes``."""
    parts = module.split(".")[2:]
    if not parts:
        return FRONT
    if parts[0] in ROOM_RANKS[part_of(module)]:
        return parts[0]
    has_modules = any(other.startswith(f"{PACKAGE}.{part_of(module)}.{parts[0]}.") for other in sources)
    assert not has_modules, f"{module} is in a room that has no place in the list of rooms"
    return FILES


def imports_up_the_rooms(sources: Sources) -> list[str]:
    """Imports from one room of a part into another that does not come before it."""
    offences = []
    for module, targets in edges(sources, for_types=True).items():
        order = ROOM_RANKS.get(part_of(module))
        for target in sorted(targets):
            if order is None or part_of(target) != part_of(module):
                continue
            here, there = room(module, sources), room(target, sources)
            if here != there and order[there] >= order[here]:
                offences.append(f"{module} imports {target}")
    return offences


def rooms_without_order(sources: Sources) -> list[str]:
    """Parts with folders in them that no list of rooms puts in an order."""
    deep = {part_of(module) for module in sources if module.count(".") > 2}
    return sorted(deep - ROOMS.keys())


def cycle(sources: Sources) -> list[str]:
    """The first cycle; two neighbours may name each other's types, as long as only one imports the other to run."""
    try:
        TopologicalSorter(edges(sources, for_types=False)).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def imports_inside_functions(sources: Sources) -> list[str]:
    statements = (
        f"{module}:{found.line}" for module, text in sources.items() for found in imports_of(text) if found.in_function
    )
    return [*statements, *(f"{module}:{line}" for module, text in sources.items() for line in calls_that_import(text))]


_IMPORTERS = {"__import__", "import_module"}


@functools.cache
def calls_that_import(text: str) -> list[int]:
    """The lines in functions that call a function that imports."""
    if not any(name in text for name in _IMPORTERS):
        return []
    functions = (
        x for x in ast.walk(parsed(text)) if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    )
    calls = (x for function in functions for x in ast.walk(function) if isinstance(x, ast.Call))
    return [x.lineno for x in calls if getattr(x.func, "id", getattr(x.func, "attr", None)) in _IMPORTERS]


def jax_imports(sources: Sources) -> list[str]:
    return [
        module
        for module, text in sources.items()
        for name, *_ in imports_of(text)
        if name.split(".")[0] in {"jax", "jaxlib"}
    ]


def star_imports(sources: Sources) -> list[str]:
    return [module for module, text in sources.items() if any(found.name == "*" for found in imports_of(text))]


def test_imports_go_down_the_list() -> None:
    assert upward_imports(package_sources()) == []


def test_imports_go_up_no_room() -> None:
    assert imports_up_the_rooms(package_sources()) == []


def test_each_part_with_rooms_has_an_order() -> None:
    assert rooms_without_order(package_sources()) == []


def test_no_cycle_between_modules() -> None:
    assert cycle(package_sources()) == []


def test_no_import_inside_a_function_but_in_the_loaders() -> None:
    assert [place for place in imports_inside_functions(package_sources()) if not _is_loader(place)] == []


def _is_loader(place: str) -> bool:
    return place.rpartition(":")[0] in LOADERS


def test_each_loader_imports_inside_a_function_once() -> None:
    assert sum(_is_loader(place) for place in imports_inside_functions(package_sources())) <= len(LOADERS)


def test_only_the_xla_engine_imports_jax() -> None:
    assert [name for name in jax_imports(package_sources()) if not name.startswith(f"{XLA_ENGINE}.")] == []


def test_no_star_import() -> None:
    assert star_imports(package_sources()) == []


def test_no_file_of_the_package_over_the_limit() -> None:
    sizes = {module: len(text.splitlines()) for module, text in package_sources().items()}
    assert {module: size for module, size in sizes.items() if size > MAX_LINES} == {}


OFFENCES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "upward": (upward_imports, {"funcgrad._core.aval": "from funcgrad.optim import sgd", "funcgrad.optim.sgd": ""}),
    "upward to the root": (upward_imports, {"funcgrad.tree": "from funcgrad import grad", "funcgrad": ""}),
    "upward for types only": (
        upward_imports,
        {"funcgrad.errors": "if TYPE_CHECKING:\n    import funcgrad.tree", "funcgrad.tree": ""},
    ),
    "into a later room": (
        imports_up_the_rooms,
        {"funcgrad._ops.layout.shape": "from funcgrad._ops.linalg import solve", "funcgrad._ops.linalg.solve": ""},
    ),
    "into the room beside it": (
        imports_up_the_rooms,
        {"funcgrad.numpy._math.a": "from funcgrad.numpy._reduce.b import c", "funcgrad.numpy._reduce.b": ""},
    ),
    "into a later room for types only": (
        imports_up_the_rooms,
        {
            "funcgrad._core.bind": "if TYPE_CHECKING:\n    from funcgrad._core.trace import tape",
            "funcgrad._core.trace.tape": "",
        },
    ),
    "from a room to the front": (
        imports_up_the_rooms,
        {"funcgrad.optim._rules.sgd": "from funcgrad.optim import SGD", "funcgrad.optim": ""},
    ),
    "rooms without order": (rooms_without_order, {"funcgrad.io._layers.linear": ""}),
    "cycle": (
        cycle,
        {"funcgrad._core.a": "from funcgrad._core import b", "funcgrad._core.b": "import funcgrad._core.a"},
    ),
    "cycle through the package": (
        cycle,
        {"funcgrad.nn": "from funcgrad.nn.loss import mse", "funcgrad.nn.loss": "from funcgrad.nn import linear"},
    ),
    "inside a function": (imports_inside_functions, {"funcgrad.nn": "def f():\n    import math"}),
    "inside a method": (imports_inside_functions, {"funcgrad.nn": "class A:\n    def f(self):\n        import math"}),
    "by call": (imports_inside_functions, {"funcgrad.nn": "def f():\n    return importlib.import_module('jax')"}),
    "jax": (jax_imports, {"funcgrad._ops.reduce.sort": "import jax.numpy as jnp"}),
    "jax by name": (jax_imports, {"funcgrad._ops.reduce.sort": "from jax import lax"}),
    "star": (star_imports, {"funcgrad.numpy": "from numpy import *"}),
}


@pytest.mark.parametrize("offence", OFFENCES)
def test_a_planted_offence_is_caught(offence: str) -> None:
    rule, sources = OFFENCES[offence]
    assert rule(sources)


def test_harmless_imports_are_let_through() -> None:
    sources = {
        "funcgrad": "from funcgrad import tree\nfrom funcgrad.optim import sgd_init",
        "funcgrad.tree": "import optree\nfrom funcgrad.errors import TreeMismatchError",
        "funcgrad.errors": "",
        "funcgrad.optim": "from funcgrad.optim._sgd import sgd_init",
        "funcgrad.optim._sgd": "import numpy as np\nfrom funcgrad import tree\nfrom funcgrad.optim._state import sgd",
        "funcgrad.optim._state.sgd": "if TYPE_CHECKING:\n    from funcgrad.optim._state import state",
        "funcgrad.optim._state.state": "",
        "funcgrad.numpy.linalg._norms": "import funcgrad.numpy._math.elementwise",
        "funcgrad.numpy._math.elementwise": "",
    }
    rules = [
        upward_imports,
        imports_up_the_rooms,
        rooms_without_order,
        cycle,
        imports_inside_functions,
        jax_imports,
        star_imports,
    ]
    assert [rule(sources) for rule in rules] == [[]] * len(rules)
