"""The guard of a path, which checks a value and returns nothing."""

from funcgrad._ops.program.guard import guard_p
from tests.laws.rows._row import Row

ROWS = [Row(guard_p, ((),), {"asked": "bool", "answer": True}, differentiable=False)]
