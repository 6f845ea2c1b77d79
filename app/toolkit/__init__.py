"""What a tool author imports: the decorator, the argument model, the context, the result."""
