"""Operations that select elements, write elements, or join arrays."""
