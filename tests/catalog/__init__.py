"""The catalog: registry, adapters, plugins."""
