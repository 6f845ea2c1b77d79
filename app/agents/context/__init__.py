"""Context window: selection of messages for one request, and replacements for the others."""
