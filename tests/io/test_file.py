"""``fg.save`` and ``fg.load``: loaded values, refused values, and damaged files."""

import collections
import dataclasses
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import funcgrad as fg
from funcgrad import nn
from funcgrad.autograd import tensor
from funcgrad.errors import CheckpointError, TracerArrayConversionError
from funcgrad.io import _file as file
from funcgrad.io._describe import DTYPES
from funcgrad.optim import schedules


class Point(NamedTuple):
    x: Any
    y: Any


@fg.tree.register_dataclass(meta_fields=["name"])
@dataclasses.dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any
    name: str


def same(a: Any, b: Any) -> bool:
    """Return whether two trees have the same classes, structure, dtypes and bits."""
    leaves, others = fg.tree.leaves(a), fg.tree.leaves(b)
    return fg.tree.structure(a) == fg.tree.structure(b) and all(map(_same_leaf, leaves, others))


def _same_leaf(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray | np.generic):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and repr(a) == repr(b)


# NumPy's own dtypes. Those of ml_dtypes are tried one by one below.
arrays = hnp.arrays(
    st.sampled_from([dtype for dtype in DTYPES.values() if dtype.isbuiltin == 1]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=5),
    st.binary(max_size=5),
)
keys = st.one_of(st.text(max_size=4), st.integers(), st.tuples(st.integers(0, 3), st.text(max_size=2)))
trees = st.recursive(
    arrays | plain,
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.lists(parts, max_size=3).map(tuple)
        | st.text(max_size=3).flatmap(
            lambda name: st.dictionaries(st.text(max_size=4).map(name.__add__), parts, max_size=3)
        )
        | st.dictionaries(st.integers(), parts, max_size=2)
        | st.builds(Point, parts, parts)
        | st.builds(Layer, parts, parts, st.text(max_size=3))
    ),
    max_leaves=8,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(tree=trees)
def test_any_tree_comes_back_as_it_was(tree: Any, tmp_path: Path) -> None:
    path = tmp_path / "tree"
    fg.save(path, tree)
    assert same(fg.load(path, like=tree), tree)
    fg.load(path)
    assert os.listdir(tmp_path) == ["tree"]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_dtype(dtype: np.dtype, tmp_path: Path) -> None:
    values = {"turned": np.array([[1, 0, 2], [3, 1, 0]]).astype(dtype).T, "one": np.array(1).astype(dtype)}
    fg.save(tmp_path / "x", values)
    assert same(fg.load(tmp_path / "x"), values)


def test_containers_and_leaves_without_like(tmp_path: Path) -> None:
    tree = {
        "ordered": collections.OrderedDict(z=1, a=np.float32(2)),
        ("a", 3): collections.deque([np.array([1, 2], ">i2")], 4),
        "counts": collections.defaultdict(list, a=[True]),
        "layer": Layer(np.ones(2), -0.0, "first"),
        "point": Point(float("-inf"), "\ud800"),
        "tensor": tensor([1.0, 2.0]),
    }
    fg.save(tmp_path / "x", tree)
    plain_tree = fg.load(tmp_path / "x")
    assert type(plain_tree["ordered"]) is dict
    assert list(plain_tree["ordered"]) == ["z", "a"]
    assert plain_tree[("a", 3)][0].tolist() == [1, 2]
    assert plain_tree["point"] == (float("-inf"), "\ud800")
    assert plain_tree["layer"]["weight"].tolist() == [1, 1]
    assert type(plain_tree["ordered"]["a"]) is np.float32
    assert plain_tree["tensor"].dtype == np.float32
    liked = fg.load(tmp_path / "x", like=tree)
    assert liked[("a", 3)].maxlen == 4
    assert liked["counts"].default_factory is list
    assert type(liked["point"]) is Point
    assert liked["layer"].name == "first"
    assert type(liked["ordered"]) is collections.OrderedDict


def test_tensors_are_named_by_their_paths_for_other_programs(tmp_path: Path) -> None:
    fg.save(tmp_path / "x", {"layers": [Layer(np.ones(2), np.zeros(1), "")], "a b": np.ones(1), "a.b": np.ones(2)})
    found = safetensors.numpy.load_file(tmp_path / "x")
    assert set(found) == {"layers.0.weight", "layers.0.bias", "a.b", "a.b_"}


def test_parameters_and_tensors_come_back_as_such(tmp_path: Path) -> None:
    model, other = nn.Linear(2, 3), nn.Linear(2, 3)
    fg.save(tmp_path / "x", {"model": dict(model.named_parameters()), "state": model.state_dict()})
    like = {"model": dict(other.named_parameters()), "state": other.state_dict()}
    found = fg.load(tmp_path / "x", like=like)
    assert isinstance(found["model"]["weight"], nn.Parameter)
    assert found["model"]["weight"].requires_grad
    other.load_state_dict(found["state"])
    assert np.array_equal(other.weight.detach().numpy(), model.weight.detach().numpy())


@pytest.mark.parametrize(
    "lr", [0.1, {"w": 0.1, "b": 0.2}, schedules.cosine(0.1, 10), np.float32(0.1)], ids=lambda x: type(x).__name__
)
def test_an_optimizers_state_goes_on_where_it_was(lr: Any, tmp_path: Path) -> None:
    params = {"w": np.ones((2, 3)), "b": np.ones(3, ml_dtypes.bfloat16)}
    grads = {"w": np.full((2, 3), 0.5), "b": np.full(3, 0.25, ml_dtypes.bfloat16)}
    begin = fg.optim.adam_init(params, lr=lr)
    now, state = fg.optim.adam_update(grads, begin, params)
    fg.save(tmp_path / "x", (now, state))
    found = fg.load(tmp_path / "x", like=(params, begin))
    there = fg.optim.adam_update(grads, found[1], found[0])
    assert same(there, fg.optim.adam_update(grads, state, now))


def test_jax_arrays_come_back_where_those_like_them_lie(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    tree = {"a": jax.device_put(np.ones(3, np.float32), place), "b": jax.numpy.ones((), "bfloat16")}
    fg.save(tmp_path / "x", tree)
    found = fg.load(tmp_path / "x", like=tree)
    assert all(isinstance(x, jax.Array) for x in found.values())
    assert found["a"].committed
    assert found["b"].dtype == ml_dtypes.bfloat16
    assert type(fg.load(tmp_path / "x")["a"]) is np.ndarray
    shapes = jax.eval_shape(lambda: tree)
    assert fg.load(tmp_path / "x", like=shapes)["a"].tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match=r"a key of JAX.*tree\['key'\].*key_data"):
        fg.save(tmp_path / "y", {"key": jax.random.key(0)})


@pytest.mark.parametrize(
    ("like", "words"),
    [
        ({"w": np.ones(3), "b": 1.0}, r"tree\['w'\] it holds float64\[2\], needed float64\[3\]"),
        ({"w": np.ones(2, np.float32), "b": 1.0}, r"holds float64\[2\], needed float32\[2\]"),
        ({"w": np.ones(2)}, r"At tree it holds \['b'\] beside the rest, needed \['w'\]"),
        ({"w": np.ones(2), "b": 1.0, "c": 2}, r"holds no \['c'\]"),
        ([np.ones(2), 1.0], "holds dict, needed list"),
        ({"w": np.ones(2), "b": None}, r"tree\['b'\] it holds the value 2.5, needed None"),
        ({"w": np.ones(2), "b": "2.5"}, "holds the value 2.5, needed str"),
        ({"w": [1.0, 2.0], "b": 1.0}, r"holds float64\[2\], needed list"),
        ({"w": np.ones(2), "b": object()}, "leaves of `like` must be arrays.*builtins.object"),
        (collections.OrderedDict(w=np.ones(2), b=1.0), "holds dict, needed OrderedDict"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_tree_that_is_not_like_it_is_refused(like: Any, words: str, tmp_path: Path) -> None:
    fg.save(tmp_path / "x", {"w": np.ones(2), "b": 2.5})
    with pytest.raises(CheckpointError, match=words):
        fg.load(tmp_path / "x", like=like)


def test_a_state_of_another_rule_or_with_other_flags_is_refused(tmp_path: Path) -> None:
    params = {"w": np.ones(2)}
    fg.save(tmp_path / "x", fg.sgd_init(params, lr=0.1, momentum=0.9))
    with pytest.raises(CheckpointError, match="holds SGDState, needed AdamState"):
        fg.load(tmp_path / "x", like=fg.optim.adam_init(params))
    with pytest.raises(CheckpointError, match=r"At tree it holds .*False.*needed .*True"):
        fg.load(tmp_path / "x", like=fg.sgd_init(params, lr=0.1, momentum=0.9, nesterov=True))


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"a": [object()]}, r"Arrived builtins.object at tree\['a'\]\[0\]"),
        ({"a": np.array(["x"])}, r"dtype <U1 at tree\['a'\]"),
        (np.array([object()]), "dtype object"),
        (np.ma.masked_array([1.0], [True]), "MaskedArray"),
        ({object: 1}, "the key <class 'object'>"),
        (Point(len, 1), r"builtin_function_or_method at tree\.x"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_what_is_no_tree_of_numbers_is_refused_and_nothing_is_written(tree: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=words):
        fg.save(tmp_path / "x", tree)
    assert os.listdir(tmp_path) == []


def test_a_traced_value_is_refused(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        fg.save(tmp_path / "x", {"x": x})
        return x

    with pytest.raises(TracerArrayConversionError, match=r"traced value float64\[\] at tree\['x'\]"):
        fg.grad(f)(1.0)


TREE = {"w": np.arange(6.0), "n": [3, "text", None], "b": np.ones(2, ml_dtypes.bfloat16)}


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x"
    fg.save(path, TREE)
    content = path.read_bytes()
    harmless = 0
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << (at % 8)
        path.write_bytes(damaged)
        try:
            found = fg.load(path, like=TREE)
        except CheckpointError:
            continue
        # A blank at the header's end, or the part about dtypes, which the description repeats.
        assert same(found, TREE)
        harmless += 1
    assert harmless < 30


def test_a_file_cut_short_anywhere_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    fg.save(path, TREE)
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(CheckpointError, match=r"cut short|empty"):
            fg.load(path)
    path.write_bytes(content + b"more")
    with pytest.raises(CheckpointError, match="longer than"):
        fg.load(path)


def test_foreign_and_newer_files_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "x"
    safetensors.numpy.save_file({"a": np.ones(2)}, path)
    with pytest.raises(CheckpointError, match=r"not written by fg\.save.*load_file"):
        fg.load(path)
    safetensors.numpy.save_file({"a": np.ones(2)}, path, {"funcgrad": "7 0 0"})
    with pytest.raises(CheckpointError, match=r"layout version 7.*a newer one"):
        fg.load(path)
    path.write_bytes(b"PK\x03\x04 an archive, say, of some other program")
    with pytest.raises(CheckpointError, match="another kind"):
        fg.load(path)
    with pytest.raises(FileNotFoundError):
        fg.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        fg.save(tmp_path, {})


def test_a_description_made_to_do_harm_is_an_error_of_its_own_class(tmp_path: Path) -> None:
    path = tmp_path / "x"
    fg.save(path, [1.0])
    begin = int.from_bytes(path.read_bytes()[:8], "little")
    header = json.loads(path.read_bytes()[8 : 8 + begin])
    for text in (
        "{}",
        '{"dict": 3}',
        '{"array": "a"}',
        '{"list": [{"what": 1}]}',
        "[1]",
        '{"complex": ["a", 1]}',
        "nul",
        "[" * 9999,
    ):
        header["__metadata__"] = {"funcgrad": f"1 {file.checksum(text.encode())}  {text}"}
        written = json.dumps(header).encode()
        path.write_bytes(len(written).to_bytes(8, "little") + written)
        with pytest.raises(CheckpointError, match="description"):
            fg.load(path)


def test_a_header_cannot_ask_for_more_memory_than_the_file_is_long(tmp_path: Path) -> None:
    path = tmp_path / "x"
    tree = json.dumps({"array": "a", "dtype": "float64", "shape": [1 << 50]})
    about = f"1 {file.checksum(tree.encode())} 00000000 {tree}"
    header = {"__metadata__": {"funcgrad": about}, "a": {"dtype": "F64", "shape": [1 << 50], "data_offsets": [0, 8]}}
    written = json.dumps(header).encode()
    path.write_bytes(len(written).to_bytes(8, "little") + written + bytes(8))
    with pytest.raises(CheckpointError, match="the header is damaged at a"):
        fg.load(path)


@pytest.mark.parametrize("fault", ["fsync", "replace"])
def test_what_was_there_stays_when_writing_fails(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    fg.save(path, {"w": 1})

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, fault, fail)
        with pytest.raises(OSError, match="No space left"):
            fg.save(path, {"w": 2})
    assert os.listdir(tmp_path) == ["x"]
    assert fg.load(path) == {"w": 1}
    with pytest.raises(FileNotFoundError):
        fg.save(tmp_path / "none" / "x", {"w": 2})


def test_a_full_disk(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
        with pytest.raises(OSError, match="could not be written"):
            fg.save(tmp_path / "x", np.ones(1 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(tmp_path) == []


def test_the_same_tree_gives_the_same_bytes(tmp_path: Path) -> None:
    fg.save(tmp_path / "x", TREE)
    fg.save(tmp_path / "y", TREE)
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_the_callers_arrays_and_those_that_come_back_are_apart(tmp_path: Path) -> None:
    fg.save(tmp_path / "x", TREE)
    first, second = fg.load(tmp_path / "x"), fg.load(tmp_path / "x")
    first["w"] += 1
    assert same(second, TREE)


def test_without_safetensors_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setattr(file, "safetensors", file.LazyModule("safetensors"))
    with pytest.raises(ImportError, match="pip install safetensors"):
        fg.save(tmp_path / "x", 1.0)
