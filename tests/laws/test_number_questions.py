"""The package asks ``type(x)`` whether a value is a number, because a traced number is an instance of its class."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "funcgrad"
# A traced number is an instance of these for `isinstance`. Integers are no differentiated values, so a traced integer
# in place of an axis or an argument number is refused where it is used.
NUMBERS = {"float", "complex", "generic", "number", "floating", "complexfloating", "bool_"}
# Files whose values come from other libraries' objects or from a file, and are never traced.
PLAIN = {
    "io/_build.py",
    "io/_describe.py",
    "scipy/linalg/_arguments.py",
    "torch/amp/_scaler.py",
}


def questions_of(text: str) -> list[int]:
    """The lines that ask ``isinstance(x, kind)`` with a kind of numbers."""
    calls = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    ]
    return [
        call.lineno
        for call in calls
        if NUMBERS
        & {
            part.id if isinstance(part, ast.Name) else part.attr
            for part in ast.walk(call.args[1])
            if isinstance(part, ast.Name | ast.Attribute)
        }
    ]


def test_the_package_asks_for_types() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): questions_of(path.read_text()) for path in PACKAGE.rglob("*.py")}
    assert {name for name, lines in found.items() if lines} == PLAIN


def test_a_question_is_found() -> None:
    assert questions_of("isinstance(x, int | float)\nisinstance(x, int)\nissubclass(type(x), np.generic)") == [1]
    assert questions_of("isinstance(\n    x,\n    (list, np.floating),\n)") == [1]
