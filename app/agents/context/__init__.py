"""What of a conversation fits into one request, and what stands for the rest."""
