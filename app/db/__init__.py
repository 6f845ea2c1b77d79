"""Database: engine, writer and tables."""
