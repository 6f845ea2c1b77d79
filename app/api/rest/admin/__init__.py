"""Administration API, with one router per resource. Each change is audited."""
