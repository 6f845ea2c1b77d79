"""Questions and tickets of running calls."""
