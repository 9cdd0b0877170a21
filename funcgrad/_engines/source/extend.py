"""Names for other rooms, besides the engines' records. Other rooms import no other internals of this folder."""

from funcgrad._engines.source.elementwise import float_program
from funcgrad._engines.source.flat import BLOCK, FlatProgram, Work, write
from funcgrad._engines.source.writer import Writer, results_of

__all__ = ["BLOCK", "FlatProgram", "Work", "Writer", "float_program", "results_of", "write"]
