"""What calls ask people for while they run: questions to the user, tickets for operators."""
