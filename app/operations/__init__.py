"""Operations: the only code that accesses files, processes, the network and the system clock."""
