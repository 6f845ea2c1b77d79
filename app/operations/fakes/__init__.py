"""Operations on nothing but memory, for tests of tools and for dry runs."""
