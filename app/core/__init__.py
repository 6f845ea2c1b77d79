"""Basic modules that every other package may import, such as identifiers, clock and errors."""
