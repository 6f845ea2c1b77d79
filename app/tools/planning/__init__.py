"""Planning: todo, task, schedule, forum."""
