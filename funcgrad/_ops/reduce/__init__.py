"""Operations along axes: reductions, running ones, and sorting."""
