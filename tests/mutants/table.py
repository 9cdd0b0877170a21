"""The faults: a text of a file, the text that replaces it, and the tests that must notice it."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A planted fault.

    Args:
        file: a file of the package.
        right: a text that the file contains once.
        wrong: the text that replaces it.
        tests: the test files that are run.
    """

    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


_ROLLING = ("tests/_ops/rolling",)
_KERNELS = ("tests/_engines/source/test_nested.py", "tests/_engines/source/test_instructions.py")
_PLACES = ("tests/_core/trace/test_place.py", "tests/numpy/_choose/test_writes.py")
_KEYS = ("tests/_core/graph", "tests/tree/test_key.py")

MUTANTS = {
    "rolling: carries are one if their last starts agree": Mutant(
        "_ops/rolling/rounds.py",
        "if all(is_equal(a, b) for a, b in zip(known, firsts, strict=False)):",
        "if is_equal(known[0], firsts[0]):",
        _ROLLING,
    ),
    "rolling: equal numbers of other dtypes are one operand": Mutant(
        "_ops/rolling/rounds.py",
        "return static_key(x.value) == static_key(y.value)",
        "return x.value == y.value",
        _ROLLING,
    ),
    "rolling: the carry of one round more": Mutant(
        "_ops/rolling/rounds.py",
        "                return variables[source.lag - 1]\n        variables",
        "                return variables[0]\n        variables",
        _ROLLING,
    ),
    "kernels: a carry of equal elements has no axes": Mutant(
        "_engines/source/kernels/rounds.py",
        'w.applied("{}", [value], w.shape(x), value.dtype)',
        'w.applied("{}", [value], getattr(value, "shape", ()), value.dtype)',
        _KERNELS,
    ),
    "kernels: a carry is written before it is read": Mutant(
        "_engines/source/kernels/rounds.py",
        "k = next((k for k, (x, _) in enumerate(pending) if not read[x.memory]), None)",
        "k = 0",
        _KERNELS,
    ),
    "kernels: the rows of a reversed loop begin at the first": Mutant(
        "_engines/source/kernels/rounds.py",
        "length - 1 - turns * (count - 1) - turn if self._loop.reverse else turn",
        "turn",
        ("tests/_engines/source/test_nested.py", "tests/_engines/source/test_loops.py"),
    ),
    "places: a buffer is written without a copy": Mutant(
        "_ops/index/write.py",
        'buffer = old if memory.owned else np.array(old, order="K")\n    part = _shown(buffer, steps) if steps',
        "buffer = old\n    part = _shown(buffer, steps) if steps",
        _PLACES,
    ),
    "places: index arrays are kept without a copy": Mutant(
        "_ops/index/write.py",
        "tuple([a.copy() if type(a) is _NDARRAY else a for a in arrays]) if arrays else arrays",
        "arrays",
        _PLACES,
    ),
    "places: what was overwritten keeps its cotangent": Mutant(
        "_ops/index/write.py",
        "        part[index.filled(arrays)] = 0\n",
        "        part[index.filled(arrays)] *= 1\n",
        _PLACES,
    ),
    "keys: 1, 1.0 and True are one number": Mutant(
        "tree/_key.py", "return type(value), repr(value)", "return value", _KEYS
    ),
    "keys: a tuple of numbers is a tuple of values": Mutant(
        "tree/_key.py", "return (type(value), *map(static_key, value))", "return value", _KEYS
    ),
}
