"""System prompt and context of model requests."""
