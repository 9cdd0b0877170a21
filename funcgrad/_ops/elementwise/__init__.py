"""Operations that act on each element on its own."""
