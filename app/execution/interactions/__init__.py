"""Requests of running calls to people: questions to the user, tickets for operators."""
