"""Compiled kernels on disk, so that the next process need not compile them.

A file holds machine code, which a program runs after loading it. Therefore the folder must belong to the user, and
nobody else may write to it. The file name is a hash of the source, the types, the versions of all packages that
compiled it, and the processor. The content is compared with its checksum and with that description before it is loaded.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_HEAD = b"funcgrad kernel 2\n"
# The packages that machine code depends on.
_PACKAGES = ("funcgrad", "llvmlite", "numpy")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_warned: list[str] = []


def folder() -> Path:
    """Return the folder of kernels: ``FUNCGRAD_CACHE_DIR``, or a folder in the system's cache directory."""
    given = os.environ.get("FUNCGRAD_CACHE_DIR")
    if given:
        return Path(given) / "kernels"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "funcgrad" / "kernels"


def loaded(about: bytes) -> bytes | None:
    """Return the machine code of a kernel; ``None`` if there is no file for it.

    Args:
        about: the description of the kernel, and of all that its code depends on besides versions.
    """
    about = _with_versions(about)
    return _used(lambda place: _read(place / _name(about), about))


def save(about: bytes, code: bytes) -> None:
    """Write the machine code of a kernel to disk."""
    about = _with_versions(about)
    _used(lambda place: _write(place, _name(about), about, code))


def _with_versions(about: bytes) -> bytes:
    versions = [f"{name} {_version(name)}" for name in _PACKAGES]
    python = sys.implementation.cache_tag, platform.python_version(), platform.machine()
    return about + repr((versions, python)).encode()


@functools.cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        # funcgrad runs from a source folder and is not installed.
        return "unknown"


def _name(about: bytes) -> str:
    return f"{hashlib.sha256(about).hexdigest()}.kernel"


def _used(work: Callable[[Path], bytes | None]) -> bytes | None:
    """Do ``work`` in the folder; if that fails, warn once and go on without the cache."""
    place: Path | str = "the folder for caches"
    try:
        place = folder()
        _make_private(place)
        return work(place)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:
        if not _warned:
            _warned.append(str(error))
            warnings.warn(
                f"jit: compiled kernels cannot be kept in {place}: {error}. They are compiled again in each process; "
                "make it a folder of yours that nobody else can write to, or set FUNCGRAD_CACHE_DIR to one.",
                RuntimeWarning,
                stacklevel=2,
            )
        return None


def _make_private(place: Path) -> None:
    """Make the folder; raise if it belongs to somebody else, or if others may write to it."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid"):
        # ``stat`` follows links: the owner of the target counts.
        found = place.stat()
        if found.st_uid != os.getuid():
            raise PermissionError(f"it belongs to user {found.st_uid}, not to you")
        if found.st_mode & _OTHERS_MAY_WRITE:
            raise PermissionError("others may write to it")


def _read(path: Path, about: bytes) -> bytes | None:
    """Return the content of a file, if it is complete and belongs to this description."""
    with path.open("rb") as file:
        if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
            return None
        text = file.read()
    head = _HEAD + hashlib.sha256(about).hexdigest().encode() + b"\n"
    if not text.startswith(head) or len(text) < len(head) + 65:
        return None
    checksum, found = text[len(head) : len(head) + 64], text[len(head) + 65 :]
    return found if hashlib.sha256(found).hexdigest().encode() == checksum else None


def _write(place: Path, name: str, about: bytes, found: bytes) -> None:
    """Write a file by one rename: readers never see a part of it, and the last of several writers wins."""
    head = _HEAD + hashlib.sha256(about).hexdigest().encode() + b"\n"
    handle, path = tempfile.mkstemp(prefix=f"{name}.", dir=place)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(head + hashlib.sha256(found).hexdigest().encode() + b"\n" + found)
        os.replace(path, place / name)
    except BaseException:
        os.unlink(path)
        raise
