"""Registrations wait for JAX, whoever imports it and however, and leave nothing behind.

Each case is a program of its own, since a process imports JAX once. Where the real JAX has nothing to add, a toy
package called `jax` stands in for it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

REGISTER = """
import dataclasses, importlib, importlib.util, sys, threading
finders = list(sys.meta_path)
from funcgrad import tree
assert sys.meta_path == finders, "importing funcgrad.tree installs nothing"
assert "jax" not in sys.modules

@tree.register_dataclass(meta_fields=["name"])
@dataclasses.dataclass(frozen=True)
class Pair:
    left: object
    right: object
    name: str = "n"

assert "jax" not in sys.modules
"""

CHECK = """
import jax
assert sys.meta_path == finders, sys.meta_path
assert jax.tree_util.tree_leaves(Pair(1, (2, 3))) == [1, 2, 3]
assert type(jax.__spec__.loader).__name__ == "SourceFileLoader"
assert jax.__loader__ is jax.__spec__.loader
"""

TOY_TREE_UTIL = """
registered = []
def register_dataclass(cls, data_fields, meta_fields):
    registered.append((cls.__name__, data_fields, meta_fields))
"""

TOY_CHECK = """
assert sys.meta_path == finders, sys.meta_path
assert sys.modules["jax.tree_util"].registered == [("Pair", ("left", "right"), ("name",))]
"""


def run(program: str, *folders: Path) -> str:
    """Run a program that finds the package, and before it what stands in the folders."""
    setup = f"import sys; sys.path[:0] = {[*map(str, folders), str(ROOT)]!r}\n"
    command = [sys.executable, "-W", "error", "-c", setup + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A folder with a package called `jax`."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("from jax import tree_util\n")
    (tmp_path / "jax" / "tree_util.py").write_text(TOY_TREE_UTIL)
    return tmp_path


IMPORTS = {
    "package": "import jax",
    "submodule": "from jax import numpy",
    "by name, in a thread": "t = threading.Thread(target=importlib.import_module, args=('jax.tree_util',)); "
    "t.start(); t.join()",
}


@pytest.mark.parametrize("how", IMPORTS)
def test_registers_when_jax_is_imported_later(how: str) -> None:
    run(REGISTER + "assert len(sys.meta_path) == len(finders) + 1\n" + IMPORTS[how] + CHECK)


def test_registers_at_once_when_jax_is_loaded() -> None:
    run("import jax\n" + REGISTER.replace('assert "jax" not in sys.modules', "") + CHECK)


def test_asking_whether_jax_is_there_imports_nothing(toy: Path) -> None:
    look = "spec = importlib.util.find_spec('jax')\nassert spec.origin and spec.loader.is_package('jax')\n"
    run(REGISTER + look + "assert 'jax' not in sys.modules\nimport jax\n" + TOY_CHECK, toy)


def test_jax_that_fails_to_import_may_be_imported_again(toy: Path) -> None:
    init = toy / "jax" / "__init__.py"
    init.write_text("import sys\nif not hasattr(sys, 'ready'): raise ImportError('no jaxlib')\n" + init.read_text())
    program = """
try:
    import jax
except ImportError as error:
    assert str(error) == "no jaxlib"
else:
    raise AssertionError
sys.ready = True
import jax
"""
    run(REGISTER + program + TOY_CHECK, toy)


def test_without_jax_nothing_happens() -> None:
    program = """
sys.modules["jax"] = None
try:
    import jax
except ImportError:
    assert tree.leaves([Pair(1, 2), object]) == [1, 2, object]
else:
    raise AssertionError
"""
    run(REGISTER + program)


def test_registering_while_jax_is_being_imported(toy: Path) -> None:
    (toy / "plugin.py").write_text(REGISTER.replace('assert "jax" not in sys.modules', ""))
    (toy / "jax" / "later.py").touch()
    (toy / "jax" / "__init__.py").write_text("import plugin\nfrom jax import tree_util, later\n")
    run("import sys\nfinders = list(sys.meta_path)\nimport jax" + TOY_CHECK, toy)


def test_an_import_under_way_keeps_its_finders(toy: Path) -> None:
    # The watcher is taken away during the search for `jax.later`: the finder after it must still be asked.
    (toy / "plugin.py").write_text(REGISTER.replace('assert "jax" not in sys.modules', ""))
    (toy / "jax" / "later.py").touch()
    (toy / "jax" / "__init__.py").write_text("import plugin\nfrom jax import tree_util, later\n")
    program = """
import sys
class Recorder:
    names = []
    def find_spec(self, name, path, target=None):
        self.names.append(name)
sys.meta_path.insert(0, Recorder())
finders = list(sys.meta_path)
import jax
assert "jax.later" in Recorder.names
"""
    run(program + TOY_CHECK, toy)


def test_a_package_that_only_has_the_name_of_jax_changes_nothing(toy: Path) -> None:
    (toy / "jax" / "__init__.py").write_text("answer = 42\n")
    run(REGISTER + "import jax\nassert jax.answer == 42\nassert tree.leaves(Pair(1, 2)) == [1, 2]\n", toy)


def test_a_registration_that_jax_refuses_warns_and_lets_the_import_through(toy: Path) -> None:
    (toy / "jax" / "tree_util.py").write_text("def register_dataclass(*args, **kwargs):\n    raise TypeError('no')\n")
    program = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import jax
assert "could not be registered with jax.tree_util: no" in str(caught[0].message)
assert sys.meta_path == finders
"""
    run(REGISTER + program, toy)


def test_other_finders_may_search_through_all_finders(toy: Path) -> None:
    program = """
class Nosy:
    busy = False
    def find_spec(self, name, path, target=None):
        if self.busy:
            return None
        self.busy = True
        try:
            for finder in sys.meta_path:
                if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                    return spec
        finally:
            self.busy = False

nosy = Nosy()
sys.meta_path.insert(0, nosy)
finders.insert(0, nosy)
import jax
"""
    run(REGISTER + program + TOY_CHECK, toy)


def test_flax_learns_of_states_when_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "flax").mkdir()
    (tmp_path / "flax" / "__init__.py").write_text("from flax import serialization\n")
    (tmp_path / "flax" / "serialization.py").write_text(
        "known = []\nis_serializable = known.__contains__\n"
        "def register_serialization_state(cls, to, back): known.append(cls)\n"
    )
    program = """
import funcgrad as fg, numpy as np
finders = list(sys.meta_path)
state = fg.sgd_init(np.ones(2), lr=0.1)
assert "flax" not in sys.modules and "jax" not in sys.modules
from flax import serialization
assert serialization.known == [type(state)], serialization.known
adam = fg.optim.adam_init(np.ones(2))
fg.optim.adam_init(np.ones(2))
assert serialization.known == [type(state), type(adam)]
import jax
assert sys.meta_path == finders
"""
    run(program, tmp_path)
