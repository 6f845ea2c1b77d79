"""Settings, identifiers, clock, errors, logging: what every other room may import."""
