"""How each kind of database is spoken to; drivers are imported at their first use."""
