"""Type checkers see the functions and classes that are made of a rule."""

import typing

from funcgrad.extend import Declared
from funcgrad.optim._rules.rule import Rule, StepFunction
from funcgrad.optim._torch import declare


def test_the_results_and_the_step_have_types() -> None:
    assert Rule.__annotations__["step"] == "StepFunction"
    assert typing.get_type_hints(StepFunction.__call__)["return"] is not typing.Any
    assert "Any" not in "".join(map(str, Declared.__annotations__.values()))
    assert typing.get_type_hints(declare.Init.__call__, vars(declare) | {"DeclaredState": object})["return"] is object
