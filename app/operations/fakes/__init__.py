"""In-memory operations, for tests of tools and for dry runs."""
