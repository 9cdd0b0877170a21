"""Operations that multiply and sum along pairs of axes."""
