"""The only code that touches files, processes, the network and the outside clock."""
