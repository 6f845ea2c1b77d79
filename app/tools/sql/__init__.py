"""Read access to databases: sources, schemas, sample rows, queries."""
