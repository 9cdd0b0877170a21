"""Convert a graph to a tree of items to draw: equations, inputs and outputs, inside their blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand
from funcgrad._core.graph.show import Names, equation_text, graphs_in, param_text
from funcgrad.tree import key_paths

FORWARD, BACKWARD = "forward", "backward"
# A longer text is cut; the tooltip has all of it.
_SHORT, _LONG = 18, 400


class Item:
    """One box: an operation, a value, or a group of items that can be folded.

    Args:
        kind: ``"op"``, ``"input"``, ``"constant"``, ``"output"`` or ``"group"``.
        part: ``"forward"`` or ``"backward"``.
        label: the name on the box.
        detail: the text after the name.
        below: the second line.
        about: the entries of the tooltip, by name.
    """

    def __init__(self, kind: str, part: str, label: str, detail: str = "", below: str = "") -> None:
        self.kind = kind
        self.part = part
        self.label = label
        self.detail = detail
        self.below = below
        self.about: dict[str, str] = {}
        self.parent: Item | None = None
        self.children: list[Item] = []
        # For a group: sums over the operations inside.
        self.count = 1 if kind == "op" else 0
        self.flops = 0
        # ``file:line`` and the source line, for an operation.
        self.line: tuple[str, str] = "", ""
        # Items that read its values.
        self.readers: list[Item] = []
        # Whether the readers outside this group read the group itself. This is so for the body of a loop, which has its
        # own values.
        self.closed = False
        # For a named block its backward pass, and for the backward pass its block.
        self.twin: Item | None = None
        self.number = -1

    def add(self, item: Item) -> Item:
        """Add an item to this group."""
        item.parent = self
        self.children.append(item)
        return item

    def path(self) -> list[Item]:
        """Return the groups around this item, outermost first."""
        found: list[Item] = []
        item = self.parent
        while item is not None:
            found.append(item)
            item = item.parent
        return found[::-1]

    def walk(self) -> Iterator[Item]:
        """Yield this item and all items inside it."""
        yield self
        for child in self.children:
            yield from child.walk()


def items_of(graph: Graph, *, columns: bool = True) -> Item:
    """Return the tree of a graph. If the graph has a backward pass, the root has one group for each direction."""
    root = Item("group", FORWARD, graph.name)
    _Builder(graph, root, columns).build()
    summed(root)
    return root


class _Builder:
    """Adds the items of one graph to a group."""

    def __init__(self, graph: Graph, root: Item, columns: bool) -> None:
        self.graph = graph
        self.names = Names()
        # The item that shows the value of a variable.
        self.makers: dict[Any, Item] = {}
        self.groups: dict[Any, Item] = {}
        self.inputs = [self._value(var, "input", str(var.aval)) for var in graph.inputs]
        for i, item in enumerate(self.inputs[: len(graph.inputs)] if graph.trees is not None else []):
            item.about["argument"] = graph.argument(i).removeprefix("argument ")
        self.inputs += [self._value(var, "constant", str(var.aval)) for var, _ in graph.constants]
        self.out_paths = None if graph.trees is None else key_paths(graph.trees[1])
        back = columns and any(e.source is not None and e.source.backward for e in graph.equations)
        self.tops = {FORWARD: root, BACKWARD: root}
        if back:
            self.tops = {part: root.add(Item("group", part, part)) for part in (FORWARD, BACKWARD)}

    def build(self) -> None:
        for equation in self.graph.equations:
            self._equation(equation)
        outputs = [self._output(i, x) for i, x in enumerate(self.graph.outputs)]
        for item in self.inputs:
            if item.readers:
                _settle(item, self.tops[_part_of(item.readers)], item.readers)
            else:
                self.tops[FORWARD].add(item)
        for item, maker in outputs:
            (self.tops[FORWARD] if maker is None else maker.parent or self.tops[FORWARD]).add(item)

    def _value(self, var: Any, kind: str, below: str) -> Item:
        item = self.makers[var] = Item(kind, FORWARD, self.names(var), "", below)
        item.about = {kind: f"{self.names(var)}: {var.aval}"}
        return item

    def _equation(self, equation: Equation) -> None:
        source = equation.source
        part = BACKWARD if source is not None and source.backward else FORWARD
        text = equation_text(equation, self.names)
        item = Item("op", part, equation.primitive.name, self._detail(equation), _types(equation.results))
        item.flops = equation.flops
        item.about = {"equation": _cut(text, _LONG), "flops": f"{equation.flops:,}", "bytes": f"{equation.bytes:,}"}
        if source is not None:
            item.line = str(source), source.text
            item.about["line"] = f"{source}   {source.text}"
        for x in dict.fromkeys(equation.operands):
            if x in self.makers:
                self.makers[x].readers.append(item)
        self.makers.update(dict.fromkeys(equation.results, item))
        self._group_of(equation, part).add(item)
        for held in graphs_in(equation.params.values()):
            # Draw the body inside, with its own inputs and outputs.
            item.kind, item.closed = "group", True
            body = item.add(Item("group", part, held.name))
            body.closed = True
            _Builder(held, body, columns=False).build()

    def _group_of(self, equation: Equation, part: str) -> Item:
        group = self.tops[part]
        key: tuple[Any, ...] = (part,)
        for block in equation.source.blocks if equation.source is not None else ():
            key = (*key, block)
            if key not in self.groups:
                made = self.groups[key] = group.add(Item("group", part, block.name))
                made.twin = self.groups.get((FORWARD if part == BACKWARD else BACKWARD, *key[1:]))
                if made.twin is not None:
                    made.twin.twin = made
            group = self.groups[key]
        return group

    def _detail(self, equation: Equation) -> str:
        if equation.primitive.guards:
            return _cut(equation_text(equation, self.names).removeprefix("guard "), 2 * _SHORT)
        operands = " ".join(map(self.names, equation.operands))
        params = ", ".join(
            f"{name}={param_text(value)}"
            for name, value in equation.params.items()
            if value is not False and not hasattr(value, "equations") and not callable(value)
        )
        shown = f"[{params}] {operands}" if params and len(params) <= _SHORT else operands
        return _cut(shown, 2 * _SHORT)

    def _output(self, i: int, x: Operand) -> tuple[Item, Item | None]:
        maker = None if type(x) is Literal else self.makers[x]
        path = self.out_paths[i] if self.out_paths else str(i)
        label = _cut(f"output {path}".rstrip(), _SHORT + 6)
        item = Item("output", FORWARD if maker is None else maker.part, label, "", self.names(x))
        item.about = {"output": f"{self.names(x)}: {x.aval}"}
        if maker is not None:
            maker.readers.append(item)
        return item, maker


def _settle(item: Item, top: Item, readers: Sequence[Item]) -> None:
    """Move an input into the innermost group that contains all its readers."""
    mine = [reader for reader in readers if top is reader or top in reader.path()]
    paths = [reader.path() for reader in mine] or [[*top.path(), top]]
    common = paths[0]
    for path in paths[1:]:
        same = [a for a, b in zip(common, path, strict=False) if a is b]
        common = same
    item.part = top.part if top.parent is not None else item.part
    # Put inputs before the items that read them.
    group = common[-1]
    item.parent = group
    group.children.insert(0, item)


def _part_of(readers: Iterable[Item]) -> str:
    return BACKWARD if all(reader.part == BACKWARD for reader in readers) else FORWARD


def summed(item: Item) -> Item:
    """Sum the counts of the items in each group, and add them to the tooltips."""
    for child in item.children:
        summed(child)
    if item.kind == "group":
        ops = [child for child in item.children if child.kind in ("op", "group")]
        item.count = sum(child.count for child in ops) + (1 if "equation" in item.about else 0)
        if "equation" not in item.about:
            item.flops = sum(child.flops for child in ops)
            item.about = {"block": item.label, "flops": f"{item.flops:,}", **item.about}
            item.below = counted(item.count)
    return item


def counted(count: int) -> str:
    """Return the number of equations as text."""
    return f"{count:,} equation{'' if count == 1 else 's'}"


def _types(variables: Iterable[Any]) -> str:
    return _cut(", ".join(str(var.aval) for var in variables), 2 * _SHORT)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
