"""An unpickler that calls nothing but what its reader knows, and makes objects of no other classes."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from funcgrad.torch.serialization._classes import of_library, safe_now


def damaged(what: str) -> pickle.UnpicklingError:
    """Return the error for a file that says what no saved file says."""
    return pickle.UnpicklingError(f"load: {what}; the file is damaged, or was made to do harm. Load another one.")


class Known:
    """A function that a file may name and call. It has no attributes that the file could set."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "_function", function)

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def __setattr__(self, name: str, value: Any) -> None:
        raise damaged(f"the file sets the attribute {name!r} of a function")


# The unpickler in C has no methods that could be replaced.
_Python: Any = vars(pickle)["_Unpickler"]
# Instructions that call or make what a file names in another way than `REDUCE` and `NEWOBJ`.
_REFUSED = (pickle.INST, pickle.OBJ, pickle.NEWOBJ_EX, pickle.STACK_GLOBAL, pickle.EXT1, pickle.EXT2, pickle.EXT4)


class Unpickler(_Python):
    """Reads numbers, texts, dicts, lists, tuples, what ``known`` names, and objects of allowed classes.

    Args:
        data: the pickle.
        known: the functions and values that it may name, by module and name.
        storage: returns the memory of a tensor from its description.
    """

    def __init__(self, data: bytes, known: dict[tuple[str, str], Any], storage: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._known = known
        self._safe = safe_now()
        self._classes: set[type] = set()
        self.persistent_load = storage

    def find_class(self, module: str, name: str) -> Any:
        """Return what a file names, if it is known or allowed; refuse any other name."""
        if (module, name) in self._known:
            return self._known[module, name]
        found = self._safe.get(f"{module}.{name}")
        if found is None:
            found = of_library(module, name)
        if found is None:
            last = name.rpartition(".")[2]
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file names {module}.{name}; only tensors, numbers, texts, containers "
                "of them and this library's modules are read here, for any weights_only. Save a state_dict, not the "
                "object: torch.save(model.state_dict(), path). To read objects of a class of yours, name the class "
                f"before: torch.serialization.add_safe_globals([{last}])."
            )
        if isinstance(found, type):
            self._classes.add(found)
        return found

    def _is_safe(self, found: Any) -> bool:
        return any(found is value for value in self._safe.values())

    def load_reduce(self) -> None:
        """Call a known function, or one that the program calls safe."""
        args = self.stack.pop()
        function = self.stack[-1]
        if type(function) is not Known and not self._is_safe(function):
            raise damaged(f"the file calls {_name(function)}")
        self.stack[-1] = function(*args)

    def load_newobj(self) -> None:
        """Make an object of an allowed class, without calling its ``__init__``."""
        args = self.stack.pop()
        kind = self.stack[-1]
        if not isinstance(kind, type) or kind not in self._classes or (args and not self._is_safe(kind)):
            raise damaged(f"the file makes an object of {_name(kind)}")
        self.stack[-1] = kind.__new__(kind, *args)

    def load_build(self) -> None:
        """Give an object of an allowed class its attributes."""
        state = self.stack.pop()
        made = self.stack[-1]
        if type(made) is OrderedDict:
            made.__dict__.update(state)
            return
        if type(made) not in self._classes:
            raise damaged(f"the file changes {'a function' if type(made) is Known else _name(made)}")
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
            return
        tables, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        made.__dict__.update(tables or {})
        for name, value in (slots or {}).items():
            setattr(made, name, value)

    dispatch: dict[int, Any] = {  # noqa: RUF012  (as the base class has it)
        **{code: handle for code, handle in _Python.dispatch.items() if bytes([code]) not in _REFUSED},
        pickle.REDUCE[0]: load_reduce,
        pickle.NEWOBJ[0]: load_newobj,
        pickle.BUILD[0]: load_build,
    }


def _name(x: Any) -> str:
    return getattr(x, "__qualname__", None) or f"a {type(x).__name__}"
