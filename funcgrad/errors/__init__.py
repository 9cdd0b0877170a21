"""The named errors of funcgrad: one class per mistake, each with the failing call and the repaired one.

Every class derives from the builtin that a caller expects, so ``except TypeError`` keeps working. Where JAX has the
same mistake the class has JAX's name. Messages have three sentences: what was asked and where, what arrived against
what was needed, and what to do.
"""

from funcgrad._public import publish
from funcgrad.errors._asking import (
    CheckpointError,
    ForeignArrayError,
    GradientMismatchError,
    GraphError,
    HyperparameterError,
    LargeProgramWarning,
    NonFiniteError,
    NonScalarOutputError,
    NotDifferentiableError,
    ObjectArrayWarning,
    RuleError,
    SparseGradientError,
    StagedRandomWarning,
    TreeMismatchError,
    UnsupportedFunctionError,
)
from funcgrad.errors._tracing import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    OverwrittenError,
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
    "HyperparameterError",
    "LargeProgramWarning",
    "NonConcreteBooleanIndexError",
    "NonFiniteError",
    "NonScalarOutputError",
    "NotDifferentiableError",
    "ObjectArrayWarning",
    "OverwrittenError",
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
]

__dir__ = publish(__name__)
