"""``fg.CheckpointDir``: the checkpoints that are kept, readers beside a writer, and faults."""

import os
import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import CheckpointError


def test_the_latest_are_kept(tmp_path: Path) -> None:
    checkpoints = fg.CheckpointDir(tmp_path / "deep" / "run", keep=2)
    assert checkpoints.steps() == []
    assert checkpoints.latest() is None
    for step in (3, 20, 100):
        checkpoints.save(step, {"step": step})
    assert checkpoints.steps() == [20, 100]
    assert checkpoints.latest() == 100
    assert checkpoints.load() == {"step": 100}
    assert checkpoints.load(20, like={"step": 0}) == {"step": 20}
    checkpoints.save(100, {"step": -100})
    assert checkpoints.load() == {"step": -100}
    assert repr(checkpoints) == f"CheckpointDir({os.fspath(tmp_path / 'deep' / 'run')!r}, keep=2)"


def test_all_are_kept_when_asked_and_other_files_are_left_alone(tmp_path: Path) -> None:
    checkpoints = fg.CheckpointDir(tmp_path, keep=None)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "step_7.safetensors").write_text("mine too")
    for step in range(12):
        checkpoints.save(step, step)
    assert checkpoints.steps() == list(range(12))
    fg.CheckpointDir(tmp_path, keep=1).save(12, 12)
    assert sorted(os.listdir(tmp_path)) == ["notes.txt", "step_0000000012.safetensors", "step_7.safetensors"]


def test_a_step_before_the_latest_stays_when_it_is_saved_again(tmp_path: Path) -> None:
    checkpoints = fg.CheckpointDir(tmp_path, keep=1)
    checkpoints.save(10, "later")
    checkpoints.save(5, "earlier")
    assert checkpoints.steps() == [5, 10]


def test_what_a_killed_writer_left_goes_with_the_next_checkpoint(tmp_path: Path) -> None:
    checkpoints = fg.CheckpointDir(tmp_path)
    left = tmp_path / ".step_0000000003.safetensors.0123abcd.part"
    left.mkdir()
    (left / "step_0000000003.safetensors").write_bytes(b"half")
    assert checkpoints.steps() == []
    checkpoints.save(4, 4)
    assert os.listdir(tmp_path) == ["step_0000000004.safetensors"]


def test_a_damaged_checkpoint_is_named_and_not_skipped(tmp_path: Path) -> None:
    checkpoints = fg.CheckpointDir(tmp_path)
    for step in (1, 2):
        checkpoints.save(step, np.ones(3))
    file = tmp_path / "step_0000000002.safetensors"
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(CheckpointError, match=r"step_0000000002.*cut short") as caught:
        checkpoints.load()
    assert caught.value.__notes__ == [f"The other checkpoints in {tmp_path} are of the steps [1]."]
    assert checkpoints.load(1).tolist() == [1, 1, 1]


def test_steps_that_are_not_there_and_bad_arguments(tmp_path: Path) -> None:
    checkpoints = fg.CheckpointDir(tmp_path)
    with pytest.raises(FileNotFoundError, match="no checkpoint in"):
        checkpoints.load()
    checkpoints.save(cast("int", np.int64(5)), 1.0)
    with pytest.raises(FileNotFoundError, match=r"no checkpoint of step 6 .*There are \[5\]"):
        checkpoints.load(6)
    for bad in (-1, True, 2.5, "7", None):
        with pytest.raises(ValueError, match=r"CheckpointDir\.save: step must be"):
            checkpoints.save(cast("Any", bad), 1.0)
    for keep in (0, -1, 2.5, True, "3"):
        with pytest.raises(ValueError, match="keep must be the number"):
            fg.CheckpointDir(tmp_path, keep=cast("Any", keep))
    with pytest.raises(TypeError, match=r"builtins\.object"):
        checkpoints.save(7, object())
    assert checkpoints.steps() == [5]


def test_readers_meet_whole_checkpoints_while_one_writes(tmp_path: Path) -> None:
    checkpoints = fg.CheckpointDir(tmp_path, keep=1)
    checkpoints.save(0, np.full(1000, 0))
    done = threading.Event()
    seen: list[int] = []
    errors: list[BaseException] = []

    def read() -> None:
        try:
            while not done.is_set():
                found = fg.CheckpointDir(tmp_path).load()
                assert (found == found[0]).all()
                seen.append(int(found[0]))
        except BaseException as error:  # noqa: BLE001  (raised below, in the test's own thread)
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for step in range(1, 60):
            checkpoints.save(step, np.full(1000, step))
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert errors == []
    assert len(seen) > 1
