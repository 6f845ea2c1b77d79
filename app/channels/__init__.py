"""Ways out to people: channels, and tasks for the operator of a desktop."""
