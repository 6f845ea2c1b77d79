"""Operations: one contract, every implementation."""
