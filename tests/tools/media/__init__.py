"""Tools that show things in the chat."""
