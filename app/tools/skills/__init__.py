"""Skills: folders with instructions to read and programs to run in the sandbox."""
