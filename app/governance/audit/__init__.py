"""What happened, chained; reading it and checking it."""
