"""Translate the text of a kernel to LLVM's language.

The text is a small part of Python: numbers and addresses with one dtype each, loops over ranges, branches, and calls of
the functions of `functions.py` and `matrices.py`. Numba's compiler of Python takes 4 to 8 times as long for such a
text, because it works out by general rules what is known here: the dtype of each name.

    for i0 in range(at(S, 3)):          each name that is assigned once is a value of LLVM;
        v0 = load(0, p0, i0)            a name that is assigned several times has a place on the stack
        store(2, p2, i0, v0 * v0)
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad._engines.source.kernels.compiler import functions, matrices
from funcgrad._engines.source.kernels.compiler.functions import BOOL, FLOAT, INT, MachineValue, common_dtype, converted

_ir: Any = LazyModule("llvmlite.ir")

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_CONSTANTS = {"inf": math.inf, "nan": math.nan}


class MachineType(NamedTuple):
    """The type of an argument: a number of a dtype, or the address of such numbers."""

    dtype: np.dtype
    pointer: bool

    @property
    def llvm(self) -> Any:
        """LLVM's type."""
        return functions.pointer_to(self.dtype) if self.pointer else functions.llvm_kind(self.dtype)


def translated(module: Any, source: str, kinds: Sequence[MachineType], returns: bool) -> Any:
    """Add the function ``run`` of a kernel's text to a module of LLVM, and return it.

    Args:
        module: the module.
        source: the text.
        kinds: the types of the arguments.
        returns: whether it returns an integer.
    """
    definitions = {each.name: each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)}
    result = functions.llvm_kind(INT) if returns else _ir.VoidType()
    return _Translation(module, definitions).function(definitions["run"], kinds, result, "kernel")


@functools.cache
def _definitions() -> dict[str, ast.FunctionDef]:
    """Return the functions of `matrices.py` by name."""
    body = ast.parse(inspect.getsource(matrices)).body
    return {each.name: each for each in body if isinstance(each, ast.FunctionDef) and each.name in matrices.FUNCTIONS}


class _Translation:
    """The functions of a module. Those of the text are called by ``run``."""

    def __init__(self, module: Any, definitions: dict[str, ast.FunctionDef]) -> None:
        self.module = module
        self._definitions = definitions
        self._made: dict[Any, Any] = {}

    def function(self, definition: ast.FunctionDef, kinds: Sequence[MachineType], returns: Any, name: str) -> Any:
        """Translate a function for arguments of these types."""
        function = _ir.Function(self.module, _ir.FunctionType(returns, [kind.llvm for kind in kinds]), name)
        function.linkage = "internal"
        names = [each.arg for each in definition.args.args]
        given = [MachineValue(x, kind.dtype, kind.pointer) for x, kind in zip(function.args, kinds, strict=True)]
        _Writer(self, function, definition, dict(zip(names, given, strict=True))).write()
        return function

    def named(self, name: str, kinds: Sequence[MachineType]) -> Any:
        """Return a function of the text or of `matrices.py` for arguments of these types."""
        key = name, tuple(kinds)
        if key not in self._made:
            definition = self._definitions.get(name) or _definitions()[name]
            returns = functions.llvm_kind(INT) if _returns(definition) else _ir.VoidType()
            made = self._made[key] = self.function(definition, kinds, returns, f"{name}.{len(self._made)}")
            if name in matrices.INLINED:
                made.attributes.add("alwaysinline")
            elif name in self._definitions or name in matrices.CALLED:
                made.attributes.add("noinline")
        return self._made[key]


def _returns(definition: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(definition))


class _Writer:
    """Writes the statements of one function."""

    def __init__(
        self, translation: _Translation, function: Any, definition: ast.FunctionDef, names: dict[str, MachineValue]
    ) -> None:
        self._translation = translation
        self._definition = definition
        self._b = _ir.IRBuilder(function.append_basic_block("entry"))
        # The values of names, and the places on the stack of those that are assigned more than once.
        self._names = names
        self._places: dict[str, MachineValue] = {}
        # The blocks that `continue` and `break` go to, of the innermost loop.
        self._loop: tuple[Any, Any] | None = None
        self._often = _assigned_often(definition)

    def write(self) -> None:
        """Write the whole function."""
        self._body(self._definition.body)
        if not self._b.block.is_terminated:
            kind = self._b.function.function_type.return_type
            if isinstance(kind, _ir.VoidType):
                self._b.ret_void()
            else:
                self._b.unreachable()

    # Statements

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._STATEMENTS[type(statement)](self, statement)
            if self._b.block.is_terminated:
                # The statements after a jump are not reached.
                return

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._call(node.value)

    def _assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        if isinstance(target, ast.Tuple):
            assert isinstance(node.value, ast.Tuple)
            values = [self._value(each) for each in node.value.elts]
            for each, x in zip(target.elts, values, strict=True):
                self._set(each, x)
        else:
            self._set(target, self._value(node.value))

    def _set(self, target: ast.expr, x: MachineValue) -> None:
        if isinstance(target, ast.Subscript):
            functions.set_element(self._b, self._value(target.value), self._value(target.slice), x)
            return
        assert isinstance(target, ast.Name)
        name = target.id
        if name not in self._often:
            # A number has the dtype that Python's number has, once it has a name.
            self._names[name] = MachineValue(converted(self._b, x, x.dtype), x.dtype) if x.weak else x
            return
        place = self._places.get(name)
        if place is None:
            kind = functions.pointer_to(x.dtype) if x.pointer else functions.llvm_kind(x.dtype)
            with self._b.goto_entry_block():
                place = self._places[name] = MachineValue(self._b.alloca(kind), x.dtype, x.pointer)
        assert place.pointer == x.pointer
        self._b.store(x.value if x.pointer else converted(self._b, x, place.dtype), place.value)

    def _augmented(self, node: ast.AugAssign) -> None:
        read = ast.copy_location(_read(node.target), node)
        x = self._combined(type(node.op), self._value(read), self._value(node.value))
        self._set(node.target, x)

    def _if(self, node: ast.If) -> None:
        b = self._b
        condition = self._condition(node.test)
        yes, no, end = [b.append_basic_block() for _ in range(3)]
        b.cbranch(condition, yes, no)
        for block, statements in ((yes, node.body), (no, node.orelse)):
            b.position_at_end(block)
            self._body(statements)
            if not b.block.is_terminated:
                b.branch(end)
        b.position_at_end(end)

    def _for(self, node: ast.For) -> None:
        assert isinstance(node.iter, ast.Call)
        assert isinstance(node.target, ast.Name)
        b, bounds = self._b, [converted(self._b, self._value(x), INT) for x in node.iter.args]
        start, stop = bounds if len(bounds) > 1 else (functions.llvm_kind(INT)(0), bounds[0])
        before = b.block
        head, body, step, end = [b.append_basic_block() for _ in range(4)]
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(functions.llvm_kind(INT))
        i.add_incoming(start, before)
        b.cbranch(b.icmp_signed("<", i, stop), body, end)
        b.position_at_end(body)
        self._names[node.target.id] = MachineValue(i, INT)
        self._rounds(node.body, step, end)
        b.position_at_end(step)
        i.add_incoming(b.add(i, functions.llvm_kind(INT)(1), flags=["nsw"]), step)
        b.branch(head)
        b.position_at_end(end)

    def _while(self, node: ast.While) -> None:
        b = self._b
        head, body, end = [b.append_basic_block() for _ in range(3)]
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(self._condition(node.test), body, end)
        b.position_at_end(body)
        self._rounds(node.body, head, end)
        b.position_at_end(end)

    def _rounds(self, statements: Sequence[ast.stmt], following: Any, end: Any) -> None:
        """Write the body of a loop."""
        outer, self._loop = self._loop, (following, end)
        self._body(statements)
        self._loop = outer
        if not self._b.block.is_terminated:
            self._b.branch(following)

    def _continue(self, node: ast.Continue) -> None:
        del node
        assert self._loop is not None
        self._b.branch(self._loop[0])

    def _break(self, node: ast.Break) -> None:
        del node
        assert self._loop is not None
        self._b.branch(self._loop[1])

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            self._b.ret_void()
        else:
            self._b.ret(converted(self._b, self._value(node.value), INT))

    def _pass(self, node: ast.Pass) -> None:
        del node

    # Expressions

    def _value(self, node: ast.expr) -> MachineValue:
        found = self._EXPRESSIONS[type(node)](self, node)
        assert found is not None
        return found

    def _condition(self, node: ast.expr) -> Any:
        return converted(self._b, self._value(node), BOOL)

    def _constant(self, node: ast.Constant) -> MachineValue:
        value: Any = node.value
        dtype = {bool: BOOL, int: INT, float: FLOAT}[type(value)]
        return MachineValue(value, dtype, weak=True)

    def _name(self, node: ast.Name) -> MachineValue:
        place = self._places.get(node.id)
        if place is not None:
            return place._replace(value=self._b.load(place.value))
        found = self._names.get(node.id)
        return MachineValue(_CONSTANTS[node.id], FLOAT, weak=True) if found is None else found

    def _attribute(self, node: ast.Attribute) -> MachineValue:
        return MachineValue(_CONSTANTS[node.attr], FLOAT, weak=True)

    def _element(self, node: ast.Subscript) -> MachineValue:
        return functions.element(self._b, self._value(node.value), self._value(node.slice))

    def _operation(self, node: ast.BinOp) -> MachineValue:
        return self._combined(type(node.op), self._value(node.left), self._value(node.right))

    def _combined(self, op: type, x: MachineValue, y: MachineValue) -> MachineValue:
        return functions.combined(self._b, _OPERATORS[op], x, y)

    def _unary(self, node: ast.UnaryOp) -> MachineValue:
        if isinstance(node.op, ast.USub):
            return functions.negative(self._b, self._value(node.operand))
        return MachineValue(self._b.not_(self._condition(node.operand)), BOOL)

    def _comparison(self, node: ast.Compare) -> MachineValue:
        values = [self._value(x) for x in (node.left, *node.comparators)]
        found = [
            functions.compared(self._b, _OPERATORS[type(op)], x, y).value
            for op, x, y in zip(node.ops, values, values[1:], strict=False)
        ]
        return MachineValue(functools.reduce(self._b.and_, found), BOOL)

    def _logical(self, node: ast.BoolOp) -> MachineValue:
        join = self._b.and_ if isinstance(node.op, ast.And) else self._b.or_
        return MachineValue(functools.reduce(join, [self._condition(x) for x in node.values]), BOOL)

    def _choice(self, node: ast.IfExp) -> MachineValue:
        """Write both values in blocks of their own, because one of them may not be computed."""
        b = self._b
        condition = self._condition(node.test)
        yes, no, end = [b.append_basic_block() for _ in range(3)]
        b.cbranch(condition, yes, no)
        found = []
        for block, part in ((yes, node.body), (no, node.orelse)):
            b.position_at_end(block)
            found.append((self._value(part), b.block))
        dtype = common_dtype(*[x for x, _ in found])
        values = []
        for x, block in found:
            b.position_at_end(block)
            values.append((converted(b, x, dtype), block))
            b.branch(end)
        b.position_at_end(end)
        chosen = b.phi(functions.llvm_kind(dtype))
        for value, block in values:
            chosen.add_incoming(value, block)
        return MachineValue(chosen, dtype)

    def _call(self, node: ast.expr) -> MachineValue | None:
        assert isinstance(node, ast.Call)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in functions.DTYPES:
            dtype = functions.DTYPES[name]
            return MachineValue(converted(self._b, self._value(node.args[0]), dtype), dtype)
        given = [functions.DTYPES.get(getattr(x, "id", "")) or self._value(x) for x in node.args]
        if name in functions.FUNCTIONS:
            return functions.FUNCTIONS[name](self._b, *given)
        return self._call_of_function(name, [x for x in given if isinstance(x, MachineValue)])

    def _call_of_function(self, name: str, given: Sequence[MachineValue]) -> MachineValue | None:
        function = self._translation.named(name, [MachineType(x.dtype, x.pointer) for x in given])
        values = [converted(self._b, x, x.dtype) if x.weak else x.value for x in given]
        found = self._b.call(function, values)
        return None if isinstance(function.function_type.return_type, _ir.VoidType) else MachineValue(found, INT)

    # The methods by the class of a node.
    _STATEMENTS: ClassVar[dict[type, Callable[..., None]]] = {
        ast.Assign: _assign, ast.AugAssign: _augmented, ast.Break: _break,
        ast.Continue: _continue, ast.Expr: _expression, ast.For: _for, ast.If: _if,
        ast.Pass: _pass, ast.Return: _return, ast.While: _while,
    }  # fmt: skip
    _EXPRESSIONS: ClassVar[dict[type, Callable[..., MachineValue | None]]] = {
        ast.Attribute: _attribute, ast.BinOp: _operation, ast.BoolOp: _logical,
        ast.Call: _call, ast.Compare: _comparison, ast.Constant: _constant,
        ast.IfExp: _choice, ast.Name: _name, ast.Subscript: _element, ast.UnaryOp: _unary,
    }  # fmt: skip


def _read(target: ast.expr) -> ast.expr:
    """Return the expression that reads what a statement assigns to."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    assert isinstance(target, ast.Subscript)
    return ast.Subscript(target.value, target.slice, ast.Load())


def _assigned_often(definition: ast.FunctionDef) -> set[str]:
    """Return the names that more than one statement assigns to."""
    counts: Counter[str] = Counter()
    for node in ast.walk(definition):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            counts[node.target.id] += 2
        for target in node.targets if isinstance(node, ast.Assign) else ():
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            counts.update(each.id for each in parts if isinstance(each, ast.Name))
    return {name for name, count in counts.items() if count > 1}
