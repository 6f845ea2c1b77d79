"""Tools that turn to people: a question to the user, a ticket for an operator."""
