"""Tools that involve people: questions to the user, tickets for operators."""
