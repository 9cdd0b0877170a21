"""Operations along axes: reductions, cumulative operations and sorting."""
