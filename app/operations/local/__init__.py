"""Operations on this machine: real files and processes, in one workspace root."""
