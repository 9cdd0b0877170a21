"""Operations that move elements and compute nothing."""
