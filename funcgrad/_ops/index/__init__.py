"""Operations that pick elements out, put them in, or join arrays."""
