"""Names for other rooms, besides the engine's record. Other rooms import no other internals of this folder."""

from funcgrad._engines.xla.donation import Order, donation_order, reordered, restored
from funcgrad._engines.xla.programs import LongProgramError, XlaProgram, spans

__all__ = ["LongProgramError", "Order", "XlaProgram", "donation_order", "reordered", "restored", "spans"]
