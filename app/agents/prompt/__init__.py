"""What a model is told besides the conversation."""
