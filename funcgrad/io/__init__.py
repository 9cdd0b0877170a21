"""Write trees to files and read them: `save`, `load` and `CheckpointDir`.

A tree is one safetensors file. Its arrays are tensors named by their paths; its structure and plain values are text in
the header, with a checksum of each array. A file is written completely or not at all. Reading it builds dicts, lists,
tuples, numbers, strings and arrays, and never runs code. A tree with arrays that are spread over several processes is a
folder with orbax's files.
"""

from funcgrad._public import publish
from funcgrad.io._directory import CheckpointDir
from funcgrad.io._save import load, save

__all__ = ["CheckpointDir", "load", "save"]

__dir__ = publish(__name__)
