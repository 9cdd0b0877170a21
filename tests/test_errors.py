"""The error classes: what they derive from, and that each one is documented with a failing and a repaired call."""

import inspect

import pytest

from funcgrad import errors

BASES = {
    "CheckpointError": ValueError,
    "NonFiniteError": FloatingPointError,
    "ConcretizationTypeError": TypeError,
    "TracerBoolConversionError": errors.ConcretizationTypeError,
    "TracerArrayConversionError": errors.ConcretizationTypeError,
    "TracerIntegerConversionError": errors.ConcretizationTypeError,
    "NonConcreteBooleanIndexError": IndexError,
    "UnexpectedTracerError": TypeError,
    "TracerAssignmentError": TypeError,
    "NonScalarOutputError": TypeError,
    "NotDifferentiableError": TypeError,
    "UnsupportedFunctionError": NotImplementedError,
    "TreeMismatchError": ValueError,
    "ForeignArrayError": TypeError,
    "GraphError": ValueError,
    "HyperparameterError": ValueError,
    "ImplicitRuleError": RuntimeError,
    "RuleError": ValueError,
    "SparseGradientError": RuntimeError,
    "GradientMismatchError": AssertionError,
    "LargeProgramWarning": UserWarning,
    "PatternSizeError": MemoryError,
    "ProgramSizeError": MemoryError,
    "HiddenDependenceWarning": UserWarning,
    "PathsWarning": UserWarning,
    "ObjectArrayWarning": UserWarning,
    "StagedRandomWarning": UserWarning,
    "WideningWarning": UserWarning,
}


def test_every_class_has_a_row_and_is_exported() -> None:
    defined = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
    assert defined == set(BASES) == set(errors.__all__)


@pytest.mark.parametrize("name", errors.__all__)
def test_derives_from_the_builtin_that_a_caller_expects(name: str) -> None:
    assert issubclass(getattr(errors, name), BASES[name])


@pytest.mark.parametrize("name", errors.__all__)
def test_docstring_is_a_manual_page(name: str) -> None:
    page = inspect.cleandoc(getattr(errors, name).__doc__)
    first_line, blank, *_ = page.splitlines()
    assert first_line.endswith(".")
    assert not blank
    assert ">>>" in page
    if not issubclass(getattr(errors, name), Warning):
        assert f"funcgrad.errors.{name}" in page, "shows the failing call"


@pytest.mark.parametrize("name", errors.__all__)
def test_message_passes_through(name: str) -> None:
    assert str(getattr(errors, name)("what was asked")) == "what was asked"
