"""Write the function that Python calls: it takes numbers and addresses out of its arguments, and runs the kernel.

It is a function of C, ``PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t n)``. ``self`` is a bytes
object with the addresses of Python's functions and types, so the machine code contains no address and can be kept on
disk. An array is read by the layout that NumPy's public header gives (``ndarraytypes.h``).
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad._engines.source.kernels.compiler.functions import BOOL, FLOAT, INT, llvm_kind
from funcgrad._engines.source.kernels.compiler.translate import MachineType

_ir: Any = LazyModule("llvmlite.ir")

# Bytes from the beginning of an object to its fields, in NumPy's and Python's public headers.
_HEAD = object.__basicsize__
_TYPE = _HEAD - 8
_DATA, _DTYPE, _FLAGS = _HEAD, _HEAD + 40, _HEAD + 48
# In an object of NumPy's dtypes: the order of bytes, and the number of the type.
_ORDER, _NUMBER = _HEAD + 10, _HEAD + 12
_BYTES = sys.getsizeof(b"") - 1
# NumPy's flags.
_CONTIGUOUS_AND_ALIGNED, _WRITEABLE = 0x101, 0x400
_SWAPPED = ord(">" if sys.byteorder == "little" else "<")

_OBJECTS: dict[str, Any] = {"array": np.ndarray, "complex_class": complex, "error": TypeError, "none": None}
_FUNCTIONS = (
    "PyComplex_ImagAsDouble", "PyComplex_RealAsDouble",
    "PyErr_Occurred", "PyErr_SetString", "PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_AsDouble",
    "PyLong_AsLongLong", "PyLong_AsUnsignedLongLongMask", "PyLong_FromLongLong", "PyObject_IsTrue",
    "PyType_IsSubtype", "Py_IncRef",
)  # fmt: skip
_PLACES = {name: k for k, name in enumerate((*_OBJECTS, *_FUNCTIONS))}


class Argument(NamedTuple):
    """An argument of a kernel.

    Args:
        dtype: the dtype.
        array: whether it is an array, or a number.
        written: whether the kernel writes to the array.
    """

    dtype: np.dtype
    array: bool
    written: bool = False

    @property
    def kind(self) -> MachineType:
        """Its type in the kernel."""
        return MachineType(self.dtype, self.array)


@functools.cache
def addresses() -> bytes:
    """Return the addresses that functions find in ``self``, after a check that arrays have the layout of the header."""
    x = np.arange(3.0).astype(f"{chr(_SWAPPED)}f8")

    def field(start: int, place: int, kind: Any) -> int:
        return kind.from_address(start + place).value

    found = [
        *[field(id(x), place, ctypes.c_size_t) for place in (_TYPE, _DATA, _DTYPE)],
        field(id(x), _FLAGS, ctypes.c_int), field(id(x.dtype), _ORDER, ctypes.c_ubyte),
        field(id(x.dtype), _NUMBER, ctypes.c_int),
    ]  # fmt: skip
    if found != [id(np.ndarray), x.ctypes.data, id(x.dtype), x.flags.num, _SWAPPED, x.dtype.num]:
        raise RuntimeError(
            f"jit: NumPy {np.__version__} lays out arrays in another way than its versions 1.26 to 2.5, so compiled "
            'kernels cannot read them. Use one of these versions, or compile without kernels: engine="numpy".'
        )
    called = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    return np.array([*map(id, _OBJECTS.values()), *called], np.uintp).tobytes()


def add_entry(module: Any, name: str, kernel: Any, arguments: Sequence[Argument]) -> None:
    """Add the function ``name`` that Python calls to a module of LLVM."""
    text = _ir.IntType(8).as_pointer()
    kind = _ir.FunctionType(text, [text, text.as_pointer(), llvm_kind(INT)])
    _Entry(_ir.Function(module, kind, name), kernel).write(arguments)


# The checks of a kernel with more arguments are calls.
_INLINED = 32


class _ObjectReader:
    """Writes a function that reads Python's objects.

    Args:
        function: the function. Its first argument is the ``self`` of the function that Python calls.
    """

    def __init__(self, function: Any) -> None:
        self._self = function.args[0]
        self._b = _ir.IRBuilder(function.append_basic_block("entry"))
        # The block for objects of a wrong type.
        self._wrong = function.append_basic_block("wrong")

    def _need_class(self, x: Any, name: str) -> None:
        b, wanted = self._b, self._address(name)
        kind = self._field(x, _TYPE, _pointer())
        derived, end = b.append_basic_block(), b.append_basic_block()
        b.cbranch(b.icmp_unsigned("==", b.ptrtoint(kind, llvm_kind(INT)), wanted), end, derived)
        b.position_at_end(derived)
        found = self._python("PyType_IsSubtype", _ir.IntType(32), kind, b.inttoptr(wanted, _pointer()))
        b.cbranch(b.icmp_signed("!=", found, _ir.IntType(32)(0)), end, self._wrong)
        b.position_at_end(end)

    def _need(self, condition: Any) -> None:
        """Go on where a condition holds; raise TypeError where it does not."""
        following = self._b.append_basic_block()
        self._b.cbranch(condition, following, self._wrong)
        self._b.position_at_end(following)

    def _address(self, name: str) -> Any:
        """Return an address that ``self`` holds."""
        return self._field(self._self, _BYTES + 8 * _PLACES[name], llvm_kind(INT))

    def _field(self, x: Any, place: int, kind: Any) -> Any:
        b = self._b
        return b.load(b.bitcast(b.gep(x, [llvm_kind(INT)(place)]), kind.as_pointer()))

    def _python(self, name: str, result: Any, *given: Any) -> Any:
        """Call a function of Python."""
        kind = _ir.FunctionType(result, [x.type for x in given])
        return self._b.call(self._b.inttoptr(self._address(name), kind.as_pointer()), given)


class _ArrayCheck(_ObjectReader):
    """Writes a function that tells whether an object is an array of some dtype."""

    def write(self, x: Any, argument: Argument) -> None:
        """Write the whole function: it checks the class of the object, its flags and its dtype."""
        b, bit = self._b, _ir.IntType(1)
        self._need_class(x, "array")
        flags = _CONTIGUOUS_AND_ALIGNED | (_WRITEABLE if argument.written else 0)
        wanted = _ir.IntType(32)(flags)
        self._need(b.icmp_signed("==", b.and_(self._field(x, _FLAGS, _ir.IntType(32)), wanted), wanted))
        dtype = self._field(x, _DTYPE, _pointer())
        number = self._field(dtype, _NUMBER, _ir.IntType(32))
        same = [b.icmp_signed("==", number, _ir.IntType(32)(each)) for each in _numbers(argument.dtype)]
        swapped = b.icmp_signed("==", self._field(dtype, _ORDER, _ir.IntType(8)), _ir.IntType(8)(_SWAPPED))
        self._need(b.and_(functools.reduce(b.or_, same), b.not_(swapped)))
        b.ret(bit(1))
        b.position_at_end(self._wrong)
        b.ret(bit(0))


class _Entry(_ObjectReader):
    """Writes the function that Python calls."""

    def __init__(self, function: Any, kernel: Any) -> None:
        super().__init__(function)
        self._kernel = kernel
        _, self._args, self._count = function.args
        # The block that returns after an error of Python's.
        self._raised = function.append_basic_block("raised")
        self._checks: dict[Any, Any] = {}

    def write(self, arguments: Sequence[Argument]) -> None:
        """Write the whole function."""
        b = self._b
        self._need(b.icmp_signed("==", self._count, llvm_kind(INT)(len(arguments))))
        values, calls = [], len(arguments) > _INLINED
        for k, argument in enumerate(arguments):
            x = b.load(b.gep(self._args, [llvm_kind(INT)(k)]))
            values.append(self._array(x, argument, calls) if argument.array else self._number(x, argument.dtype))
        state = self._python("PyEval_SaveThread", _pointer())
        found = b.call(self._kernel, values)
        self._python("PyEval_RestoreThread", _ir.VoidType(), state)
        if isinstance(found.type, _ir.VoidType):
            none = b.inttoptr(self._address("none"), _pointer())
            self._python("Py_IncRef", _ir.VoidType(), none)
            b.ret(none)
        else:
            b.ret(self._python("PyLong_FromLongLong", _pointer(), found))
        b.position_at_end(self._wrong)
        error, message = b.inttoptr(self._address("error"), _pointer()), self._message(arguments)
        self._python("PyErr_SetString", _ir.VoidType(), error, message)
        b.branch(self._raised)
        b.position_at_end(self._raised)
        b.ret(_pointer()(None))

    def _array(self, x: Any, argument: Argument, calls: bool) -> Any:
        """Return the address of an array's elements, after a check. It is a function of its own if it ``calls``."""
        b, key = self._b, (argument.dtype, argument.written)
        if key not in self._checks:
            kind = _ir.FunctionType(_ir.IntType(1), [_pointer(), _pointer()])
            made = self._checks[key] = _ir.Function(self._kernel.module, kind, f"check.{len(self._checks)}")
            made.linkage = "internal"
            # LLVM takes time in proportion to the square of a function's length.
            made.attributes.add("noinline" if calls else "alwaysinline")
            _ArrayCheck(made).write(made.args[1], argument)
        self._need(b.call(self._checks[key], [self._self, x]))
        return b.bitcast(self._field(x, _DATA, _pointer()), argument.kind.llvm)

    def _number(self, x: Any, dtype: np.dtype) -> Any:
        """Return a number of Python's or NumPy's in a dtype."""
        b, wanted = self._b, llvm_kind(dtype)
        if dtype.kind == "f":
            value = self._python("PyFloat_AsDouble", llvm_kind(FLOAT), x)
            self._need_no_error(b.fcmp_ordered("==", value, llvm_kind(FLOAT)(-1.0)))
            return value if dtype.itemsize == 8 else b.fptrunc(value, wanted)
        if dtype == BOOL:
            value = self._python("PyObject_IsTrue", _ir.IntType(32), x)
            self._need_no_error(b.icmp_signed("==", value, _ir.IntType(32)(-1)))
            return b.icmp_signed("!=", value, _ir.IntType(32)(0))
        if dtype.kind == "c":
            return self._complex(x, dtype)
        function = "PyLong_AsLongLong" if dtype.kind == "i" else "PyLong_AsUnsignedLongLongMask"
        value = self._python(function, llvm_kind(INT), x)
        self._need_no_error(b.icmp_signed("==", value, llvm_kind(INT)(-1)))
        return value if dtype.itemsize == 8 else b.trunc(value, wanted)

    def _complex(self, x: Any, dtype: np.dtype) -> Any:
        b, found = self._b, llvm_kind(dtype)(_ir.Undefined)
        # The functions below ignore the imaginary part of other classes, NumPy's complex64 among them.
        self._need_class(x, "complex_class")
        for k, name in enumerate(("PyComplex_RealAsDouble", "PyComplex_ImagAsDouble")):
            part = self._python(name, llvm_kind(FLOAT), x)
            found = b.insert_value(found, part if dtype.itemsize == 16 else b.fptrunc(part, _ir.FloatType()), k)
        return found

    def _need_no_error(self, suspicious: Any) -> None:
        """Return at an error of Python's; a converted number of -1 may be one."""
        b = self._b
        ask, following = b.append_basic_block(), b.append_basic_block()
        b.cbranch(suspicious, ask, following)
        b.position_at_end(ask)
        error = b.ptrtoint(self._python("PyErr_Occurred", _pointer()), llvm_kind(INT))
        b.cbranch(b.icmp_signed("==", error, llvm_kind(INT)(0)), following, self._raised)
        b.position_at_end(following)

    def _message(self, arguments: Sequence[Argument]) -> Any:
        kinds = ", ".join([f"{x.dtype}[...]" if x.array else str(x.dtype) for x in arguments])
        text = f"a compiled kernel needs contiguous arrays and numbers of these types: {kinds}".encode() + b"\0"
        kind = _ir.ArrayType(_ir.IntType(8), len(text))
        constant = _ir.GlobalVariable(self._kernel.module, kind, "message")
        constant.linkage, constant.global_constant, constant.initializer = "internal", True, kind(bytearray(text))
        return self._b.bitcast(constant, _pointer())


def _pointer() -> Any:
    return _ir.IntType(8).as_pointer()


def _numbers(dtype: np.dtype) -> list[int]:
    """Return the numbers of NumPy's types that have the elements of a dtype: `long` and `long long` are both int64."""
    return [each.num for each in map(np.dtype, "?bBhHiIlLqQfdFD") if each == dtype]


_METHOD = 0x80  # METH_FASTCALL


class _Definition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# Python keeps the address of a function's definition, so it has to stay.
_definitions: list[_Definition] = []


def python_function(address: int) -> Callable[..., int | None]:
    """Return Python's function of machine code that `add_entry` wrote."""
    definition = _Definition(b"kernel", address, _METHOD, None)
    _definitions.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(definition), addresses(), None)
