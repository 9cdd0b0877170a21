"""Names for other rooms of the library, besides the public ones. Other rooms import no other internals of this room."""

from funcgrad._public import publish
from funcgrad.autograd import _rejection as rejection
from funcgrad.autograd._called import called_value
from funcgrad.autograd._memory.write import take_result
from funcgrad.autograd._methods.generators import (
    DrawnRows,
    Generator,
    default_generator,
    drawn_by_rows,
    refused_draws,
    rows,
)
from funcgrad.autograd._methods.names import Shape
from funcgrad.autograd._methods.results import RETURN_TYPES
from funcgrad.autograd._methods.to import CPU, device, number_dtype
from funcgrad.autograd._tape.base import is_tensor, set_value
from funcgrad.autograd._tape.dtypes import c_type_name, default_dtype, promoted, result_dtype, type_name
from funcgrad.autograd._tape.dtypes import set_default_dtype as set_dtype_of_floats
from funcgrad.autograd._tape.function import Function as NodeFunction
from funcgrad.autograd._tape.handles import Hooks, RemovableHandle
from funcgrad.autograd._tape.hooks import at_end
from funcgrad.autograd._tape.mode import inference_mode, inferring, recorded
from funcgrad.autograd._tape.refused import out_of_range, pytorchs_error
from funcgrad.autograd._tape.saved import Pair, pack_result, pairs
from funcgrad.autograd._tape.seeds import GradientEdge, conjugated
from funcgrad.autograd._tape.writes import WRITES, gradient_of, was_read
from funcgrad.autograd._tensor import TRACE, rebuild
from funcgrad.autograd._text import OPTIONS as PRINT_OPTIONS
from funcgrad.autograd._torch import array_of, converted, is_torchs
from funcgrad.autograd._traced import TracedTrace, is_lifted, lift, lower, on_values

__all__ = [
    "CPU",
    "PRINT_OPTIONS",
    "RETURN_TYPES",
    "TRACE",
    "WRITES",
    "DrawnRows",
    "Generator",
    "GradientEdge",
    "Hooks",
    "NodeFunction",
    "Pair",
    "RemovableHandle",
    "Shape",
    "TracedTrace",
    "array_of",
    "at_end",
    "c_type_name",
    "called_value",
    "conjugated",
    "converted",
    "default_dtype",
    "default_generator",
    "device",
    "drawn_by_rows",
    "gradient_of",
    "inference_mode",
    "inferring",
    "is_lifted",
    "is_tensor",
    "is_torchs",
    "lift",
    "lower",
    "number_dtype",
    "on_values",
    "out_of_range",
    "pack_result",
    "pairs",
    "promoted",
    "pytorchs_error",
    "rebuild",
    "recorded",
    "refused_draws",
    "rejection",
    "result_dtype",
    "rows",
    "set_dtype_of_floats",
    "set_value",
    "take_result",
    "type_name",
    "was_read",
]

__dir__ = publish(__name__)
