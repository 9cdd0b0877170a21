"""Kernels on disk: the next process finds them, and a file with other contents is never used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines.source.kernels import parallel
from funcgrad._engines.source.kernels.compiler import store

pytest.importorskip("llvmlite")

PROGRAM = """
import sys
import numpy as np
import funcgrad as fg
from funcgrad._engines.source.kernels.compiler import build

def compiled(*args):
    raise SystemExit("it was compiled")

if sys.argv[1:] == ["kept"]:
    build.save = compiled
f = fg.jit(lambda x: np.sum(x * x + 1 / x), engine="numba")
print(repr(float(f(np.array([1.0, 2.0, 4.0])))))
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty folder for kernels, and forget the kernels in memory."""
    monkeypatch.setenv("FUNCGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "_warned", [])
    forget(monkeypatch)
    return tmp_path / "kernels"


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_compiled", {})


def run() -> Any:
    x = np.array([1.0, 2.0, 4.0])
    return fg.jit(lambda x: np.sum(x * x + 1 / x), engine="numba")(x)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda text: text[: len(text) // 2],
        lambda text: b"",
        lambda text: text[:-1] + bytes([text[-1] ^ 1]),
        lambda text: text.replace(b"funcgrad kernel 2", b"funcgrad kernel 0"),
    ],
    ids=["cut short", "empty", "another bit", "another format"],
)
def test_a_file_that_is_spoilt_is_written_anew(spoilt: Any, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = run()
    ((name, text),) = files(kept).items()
    (kept / name).write_bytes(spoilt(text))
    forget(monkeypatch)
    assert run() == wanted
    assert store._read(kept / name, b"") is None
    assert list(files(kept)) == [name]
    assert files(kept)[name].startswith(text[:40])
    assert len(files(kept)[name]) > len(text) // 2


def test_a_file_is_found_again_and_no_other(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = run()
    saved: list[Any] = []
    monkeypatch.setattr(store, "_write", lambda *given: saved.append(given))
    forget(monkeypatch)
    assert run() == wanted
    assert not saved
    # Another version of a package uses another file. A file of that name with other contents is ignored.
    monkeypatch.setattr(store, "_version", lambda name: "0.0")
    forget(monkeypatch)
    assert run() == wanted
    ((place, name, about, _),) = saved
    (place / name).write_bytes(next(iter(files(kept).values())))
    assert store._read(place / name, about) is None
    forget(monkeypatch)
    assert run() == wanted
    assert len(saved) == 2


def test_the_folder_is_the_users_own(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = run()
    assert kept.stat().st_mode & 0o777 == 0o700
    (path,) = kept.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    forget(monkeypatch)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.warns(RuntimeWarning, match=r"it belongs to user .*, not to you. They are compiled again"):
        assert run() == wanted
    forget(monkeypatch)
    # The warning appears once.
    assert run() == wanted


@pytest.mark.parametrize("kind", ["a file", "others write"])
def test_a_folder_that_cannot_be_used(kind: str, kept: Path) -> None:
    if kind == "a file":
        kept.write_text("in its place")
        match = "cannot be kept in"
    else:
        kept.mkdir()
        kept.chmod(0o777)
        match = "others may write to it"
    with pytest.warns(RuntimeWarning, match=match):
        assert run() == 22.75


@pytest.mark.long
def test_two_processes_at_once_and_a_third(kept: Path) -> None:
    def start(*given: str) -> subprocess.Popen[str]:
        root = Path(__file__).parents[3]
        command = [sys.executable, "-c", PROGRAM, *given]
        return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    for arguments in ([[], []], [["kept"]]):
        for process in [start(*given) for given in arguments]:
            out, error = process.communicate(timeout=120)
            assert (out, process.returncode) == ("22.75\n", 0), error
    assert len(files(kept)) == 1


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FUNCGRAD_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert store.folder() == tmp_path / "funcgrad" / "kernels"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert store.folder() == Path.home() / "Library" / "Caches" / "funcgrad" / "kernels"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert store.folder() == tmp_path / "funcgrad" / "kernels"
