"""Reading databases: which there are, what is in them, rows of a table, a query."""
