"""Names for other rooms of the library, besides NumPy's functions. Other rooms import no other internals of this room.

Other parts of the library may use everything here. `funcgrad.extend` has the names for users' own extensions.
"""

from funcgrad._public import publish
from funcgrad.numpy._array.intercept import StandIns, intercept, is_intercepted
from funcgrad.numpy._base.axes import ALL_AXES, normalize_axes, normalize_axis
from funcgrad.numpy._base.concrete import (
    arrays_of,
    concrete_value,
    innermost,
    is_array_without_axes,
    known_value,
)
from funcgrad.numpy._base.convert import as_value, dtype_of, kind_of, operands_for, promote
from funcgrad.numpy._base.dispatch import functions, implements, is_covered, special_functions
from funcgrad.numpy._base.foreign import (
    holds_tracer,
    is_foreign_array,
    is_number_dtype,
    is_object_array,
    is_sparse,
    stands_for_numbers,
)
from funcgrad.numpy._base.kinds import (
    Carried,
    argument_value,
    array_as,
    array_if_all,
    array_like_argument,
    array_test,
    later_rounds,
    refuse_another_round,
    with_kinds,
    without_kinds,
)
from funcgrad.numpy._base.strict import bits as float_bits
from funcgrad.numpy._base.strict import is_strict, numpy_promotion, widening
from funcgrad.numpy._choose.assign import immutable
from funcgrad.numpy._choose.at import At
from funcgrad.numpy._choose.indexing import getitem, parse
from funcgrad.numpy._choose.where import clamp
from funcgrad.numpy._contract.products import diagonal_of
from funcgrad.numpy._contract.sparse import elements as elements_of_sparse
from funcgrad.numpy._layout.creation import astype_method
from funcgrad.numpy._layout.shape import reshape_method
from funcgrad.numpy._layout.windows import sliding_window_view
from funcgrad.numpy.linalg._matrices import squares, systems

__all__ = [
    "ALL_AXES",
    "At",
    "Carried",
    "StandIns",
    "argument_value",
    "array_as",
    "array_if_all",
    "array_like_argument",
    "array_test",
    "arrays_of",
    "as_value",
    "astype_method",
    "clamp",
    "concrete_value",
    "diagonal_of",
    "dtype_of",
    "elements_of_sparse",
    "float_bits",
    "functions",
    "getitem",
    "holds_tracer",
    "immutable",
    "implements",
    "innermost",
    "intercept",
    "is_array_without_axes",
    "is_covered",
    "is_foreign_array",
    "is_intercepted",
    "is_number_dtype",
    "is_object_array",
    "is_sparse",
    "is_strict",
    "kind_of",
    "known_value",
    "later_rounds",
    "normalize_axes",
    "normalize_axis",
    "numpy_promotion",
    "operands_for",
    "parse",
    "promote",
    "refuse_another_round",
    "reshape_method",
    "sliding_window_view",
    "special_functions",
    "squares",
    "stands_for_numbers",
    "systems",
    "widening",
    "with_kinds",
    "without_kinds",
]

__dir__ = publish(__name__)
