"""What administrators change, one router per subject. Each change is audited."""
