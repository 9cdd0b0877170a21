"""Files of ``torch.save`` and ``torch.load``: exchanged with PyTorch, and nothing that a file names is run."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from funcgrad.torch.serialization._load import load


def held(torch: Any) -> dict[str, Any]:
    """Tensors of all kinds in containers; some share memory."""
    b = torch.arange(12.0).reshape(3, 4)
    return {
        "views": [b, b[1:, ::2], b.t(), b[0], b[:0]],
        "plain": (1, 2.5, "text", None, True, 3 + 4j, b"bytes", {1, 2}),
        "nested": OrderedDict(a=[torch.tensor([1, 2], dtype=torch.int8)], b=torch.tensor([True])),
        "short": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "complex": torch.tensor([1j, 2.0]),
        "empty": torch.zeros(0, 3),
        "point": torch.tensor(2.0, dtype=torch.float64),
        "leaf": torch.ones(2, requires_grad=True),
        "dtype": torch.float16,
    }


def written(torch: Any, obj: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return file


def check(found: Any, expected: Any) -> None:
    assert list(found["nested"]) == list(expected["nested"])
    assert found["nested"]["a"][0].tolist() == [1, 2]
    for a, b in zip(found["views"], expected["views"], strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert found["plain"] == expected["plain"]
    assert found["short"].float().tolist() == [1.5, -2.0]
    assert found["complex"].tolist() == [1j, 2.0]
    assert found["leaf"].requires_grad
    assert str(found["dtype"]).endswith("float16")
    found["views"][0][0, 0] = 99.0
    assert found["views"][3][0].item() == 99.0
    assert found["views"][2][0, 0].item() == 99.0


def test_what_is_written_is_read() -> None:
    check(load(written(funcgrad.torch, held(funcgrad.torch))), held(funcgrad.torch))


def test_files_of_pytorch_are_read(torch: Any) -> None:
    check(load(written(torch, held(torch))), held(torch))


def test_pytorch_reads_our_files(torch: Any) -> None:
    found = torch.load(written(funcgrad.torch, held(funcgrad.torch)), weights_only=True)
    check(found, held(torch))


def test_a_model_and_its_optimizer_travel(torch: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    adam = torch.optim.Adam(theirs.parameters(), lr=0.1)
    x = torch.ones(4, 2)
    theirs(x).sum().backward()
    adam.step()
    torch.save({"model": theirs.state_dict(), "optimizer": adam.state_dict()}, tmp_path / "a.pth")
    ours = funcgrad.torch.nn.Sequential(
        funcgrad.torch.nn.Linear(2, 3), funcgrad.torch.nn.Tanh(), funcgrad.torch.nn.Linear(3, 1)
    )
    optimizer = funcgrad.torch.optim.Adam(ours.parameters(), lr=0.5)
    checkpoint = funcgrad.torch.load(tmp_path / "a.pth")
    ours.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    for module, step, ones in ((theirs, adam, x), (ours, optimizer, funcgrad.torch.ones(4, 2))):
        step.zero_grad()
        module(ones).sum().backward()
        step.step()
    np.testing.assert_allclose(ours[0].weight.detach().numpy(), theirs[0].weight.detach().numpy(), rtol=1e-5)


class Hostile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def archive(data: bytes, records: dict[str, bytes] | None = None) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("a/data.pkl", data)
        for name, record in (records or {}).items():
            made.writestr(f"a/data/{name}", record)
    file.seek(0)
    return file


def test_a_hostile_file_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "made"
    for obj in (Hostile(path), {"a": [Hostile(path)]}, OrderedDict(a=Hostile(path))):
        with pytest.raises(pickle.UnpicklingError, match="the file names"):
            load(archive(pickle.dumps(obj, 2)), weights_only=False)
    assert not path.exists()


def test_a_class_is_refused() -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"Save a state_dict, not the object"):
        load(archive(pickle.dumps(np.ones(2), 2)))


class Config:
    """A class of a program's own."""

    def __init__(self, width: int) -> None:
        self.width = width


class Net(funcgrad.torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.config = Config(3)
        self.out = funcgrad.torch.nn.Linear(2, 3)

    def forward(self, x: Any) -> Any:
        return self.out(x)


def test_modules_of_the_library_are_read() -> None:
    nn = funcgrad.torch.nn
    model = nn.Sequential(
        nn.TransformerEncoderLayer(4, 2, 8), nn.LSTM(4, 4), nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    )
    found = funcgrad.torch.load(written(funcgrad.torch, model))
    assert repr(found) == repr(model)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(found.state_dict()[name].numpy(), value.numpy())
    assert found[0].activation is nn.functional.relu


def test_modules_of_the_program_are_read_once_their_classes_are_safe() -> None:
    file = written(funcgrad.torch, Net())
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[Net\]\)"):
        funcgrad.torch.load(file, weights_only=False)
    file.seek(0)
    serialization = funcgrad.torch.serialization
    with serialization.safe_globals([Net, Config]):
        assert serialization.get_safe_globals() == [Net, Config]
        found = funcgrad.torch.load(file)
    assert serialization.get_safe_globals() == []
    assert found.config.width == 3
    assert found(funcgrad.torch.ones(2)).shape == (3,)


def test_a_safe_class_with_a_name_of_the_file() -> None:
    data = pickle.dumps(Config(2), 2).replace(b"Config", b"Former")
    with funcgrad.torch.serialization.safe_globals([(Config, f"{__name__}.Former")]):
        assert load(archive(data)).width == 2
    with (
        pytest.raises(TypeError, match="needed classes and functions"),
        funcgrad.torch.serialization.safe_globals(["Net"]),  # pyright: ignore[reportArgumentType]  (the mistake)
    ):
        pass


LINEAR = b"cfuncgrad.nn\nLinear\n"
HARMFUL = {
    "calls a class": (LINEAR + b"K\x02K\x02\x86R.", "the file calls Linear"),
    "calls a function": (b"cfuncgrad.nn.functional\nrelu\nK\x02\x85R.", "the file calls relu"),
    "changes a class": (LINEAR + b"N}X\x07\x00\x00\x00forwardNs\x86b.", "the file changes Linear"),
    "makes an object with arguments": (LINEAR + b"K\x02\x85\x81.", "makes an object of Linear"),
    "makes an object of another class": (b"ctorch\nFloatStorage\n)\x81.", "makes an object of a "),
    "names a function of another module": (b"cfuncgrad.nn._state\nload\n.", "the file names funcgrad.nn._state.load"),
    "names what a module has imported": (b"cfuncgrad.nn._state\nnp\n.", "the file names"),
    "names an attribute by dots": (b"cfuncgrad.nn\nLinear.forward\n.", "the file names"),
    "uses an old instruction": (b"(K\x02ifuncgrad.nn\nLinear\n.", "the file is damaged"),
    "names by the stack": (b"\x8c\x0cfuncgrad.nn.x\x8c\x06Linear\x93.", "the file is damaged"),
}


@pytest.mark.parametrize("kind", HARMFUL)
def test_what_modules_do_not_need_is_refused(kind: str) -> None:
    data, message = HARMFUL[kind]
    with pytest.raises(pickle.UnpicklingError, match=message):
        load(archive(b"\x80\x02" + data), weights_only=False)


def tensor_pickle(*, offset: int, size: tuple, stride: tuple, count: int = 2, kind: str = "FloatStorage") -> bytes:
    """A pickle of one tensor over the record 0, with numbers of the file's choice."""
    storage = b"(X\x07\x00\x00\x00storagectorch\n" + kind.encode() + b"\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK"
    flat = pickle.dumps(offset, 2)[2:-1] + pickle.dumps(size, 2)[2:-1] + pickle.dumps(stride, 2)[2:-1]
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + bytes([count]) + b"tQ" + flat + b"\x89}tR."


def test_a_tensor_inside_of_its_storage_is_read() -> None:
    data = tensor_pickle(offset=0, size=(2,), stride=(1,))
    found = load(archive(data, {"0": np.array([1.0, 2.0], np.float32).tobytes()}))
    assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"offset": 1, "size": (2,), "stride": (1,)}, "reads element 2 of a storage of 2"),
        ({"offset": 0, "size": (2,), "stride": (1000,)}, "reads element 1000"),
        ({"offset": 0, "size": (2,), "stride": (-1,)}, "has the strides"),
        ({"offset": -1, "size": (1,), "stride": (1,)}, "the offset -1"),
        ({"offset": 0, "size": (2, 2), "stride": (1,)}, "has the strides"),
        ({"offset": 0, "size": (2,), "stride": (1,), "count": 9}, "has 8 bytes for 9 elements"),
        ({"offset": 0, "size": (2,), "stride": (1,), "kind": "device"}, "described in another way"),
    ],
)
def test_a_tensor_outside_of_its_storage_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=message):
        load(archive(tensor_pickle(**options), {"0": bytes(8)}))


def test_a_missing_record_is_refused() -> None:
    with pytest.raises(pickle.UnpicklingError, match="no record data/0"):
        load(archive(tensor_pickle(offset=0, size=(2,), stride=(1,))))


def test_functions_of_the_unpickler_cannot_be_changed() -> None:
    data = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aK\x01sb."
    with pytest.raises(pickle.UnpicklingError, match="changes a function"):
        load(archive(data))


@pytest.mark.parametrize("data", [b"", b"no pickle", b"\x80\x02(", b"\x80\x02]q\x00h\x05."])
def test_damaged_pickles_are_refused(data: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError):
        load(archive(data))


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.pth"
    path.write_text("no archive")
    with pytest.raises(RuntimeError, match="no archive of PyTorch's"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.pth")


@pytest.mark.parametrize("obj", [np.ones(2), object(), [lambda: 1], {"a": np.random}], ids=lambda x: type(x).__name__)
def test_objects_that_could_not_be_read_are_not_written(obj: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^save: a "):
        funcgrad.torch.save(obj, tmp_path / "a.pth")
    assert not (tmp_path / "a.pth").exists()
