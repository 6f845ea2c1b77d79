"""Operations on this machine: real files, real processes, one workspace root."""
