"""Names for other rooms, besides the engines' records. Other rooms import no other internals of this folder."""

from funcgrad._engines.source.elementwise import float_program, loop_program, ufunc_program
from funcgrad._engines.source.writer import Writer, results_of

__all__ = ["Writer", "float_program", "loop_program", "results_of", "ufunc_program"]
