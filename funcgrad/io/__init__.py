"""Trees in files: `save`, `load` and `CheckpointDir`, whole or not at all.

A tree is one safetensors file: its arrays as tensors named by their paths, its structure and its plain values as text
in the header, and a checksum of each. Reading such a file builds dicts, lists, tuples, numbers, strings and arrays,
and never runs code. Of arrays that are spread over several processes it is a folder, with orbax's files in it.
"""

from funcgrad._public import publish
from funcgrad.io._directory import CheckpointDir
from funcgrad.io._save import load, save

__all__ = ["CheckpointDir", "load", "save"]

__dir__ = publish(__name__)
