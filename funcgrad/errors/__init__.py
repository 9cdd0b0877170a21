"""The exceptions and warnings of funcgrad: one class per mistake, each with a failing call and the repaired call.

Every class derives from the builtin class that a caller expects, so ``except TypeError`` keeps working. A class for a
mistake that JAX has too has JAX's name. Each message has three sentences: what was asked and where, what arrived
against what was needed, and what to do.
"""

from funcgrad._public import publish
from funcgrad.errors._asking import (
    CheckpointError,
    ForeignArrayError,
    GradientMismatchError,
    GraphError,
    HiddenDependenceWarning,
    HyperparameterError,
    ImplicitRuleError,
    LargeProgramWarning,
    NonFiniteError,
    NonScalarOutputError,
    NotDifferentiableError,
    ObjectArrayWarning,
    PathsWarning,
    PatternSizeError,
    ProgramSizeError,
    RuleError,
    SparseGradientError,
    StagedRandomWarning,
    TreeMismatchError,
    UnsupportedFunctionError,
    WideningWarning,
)
from funcgrad.errors._tracing import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerAssignmentError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)

__all__ = [
    "CheckpointError",
    "ConcretizationTypeError",
    "ForeignArrayError",
    "GradientMismatchError",
    "GraphError",
    "HiddenDependenceWarning",
    "HyperparameterError",
    "ImplicitRuleError",
    "LargeProgramWarning",
    "NonConcreteBooleanIndexError",
    "NonFiniteError",
    "NonScalarOutputError",
    "NotDifferentiableError",
    "ObjectArrayWarning",
    "PathsWarning",
    "PatternSizeError",
    "ProgramSizeError",
    "RuleError",
    "SparseGradientError",
    "StagedRandomWarning",
    "TracerArrayConversionError",
    "TracerAssignmentError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TreeMismatchError",
    "UnexpectedTracerError",
    "UnsupportedFunctionError",
    "WideningWarning",
]

__dir__ = publish(__name__)
