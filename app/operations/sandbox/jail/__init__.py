"""The programs on the inside: zygote, supervisor, payload. Standard library only.

They run under `python -I -S` in processes that hold no secret; nothing of the service is
imported here, so that nothing of it can be found by the code that runs in the end.
"""
