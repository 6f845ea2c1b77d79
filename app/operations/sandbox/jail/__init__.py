"""Programs inside the sandbox: zygote, supervisor, payload. Standard library only.

They run under `python -I -S` in processes without secrets; no module of the service is imported
here, so that the executed code cannot find any.
"""
