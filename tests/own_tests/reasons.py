"""One row of the exceptions of ``make own-tests``: differences with one reason."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any, NamedTuple


class Known(NamedTuple):
    """Differences with one reason.

    Args:
        functions: patterns of names, with spaces between them.
        reason: why they differ.
        kinds: of differences (``value``, ``dtype``, ``shape``, ``structure``, ``refusal``, ``crash``, ``error``,
            ``answer``, ``time``), with spaces between them; all by default.
        ways: ``eager``, ``numpy``, ``xla``, ``derivative``; all by default.
        text: a regular expression that the text of the difference has to match.
        call: one that the arguments have to match.
    """

    functions: str
    reason: str
    kinds: str = ""
    ways: str = ""
    text: str = ""
    call: str = ""

    def covers(self, line: dict[str, Any]) -> bool:
        """Whether it is the reason of a difference."""
        return (
            any(fnmatchcase(line["function"], pattern) for pattern in self.functions.split())
            and (not self.kinds or line["kind"] in self.kinds.split())
            and (not self.ways or line["way"] in self.ways.split())
            and re.search(self.text, line["text"]) is not None
            and re.search(self.call, line["call"]) is not None
        )
