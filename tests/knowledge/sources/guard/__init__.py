"""The SQL guard against statements that try to get past it."""
