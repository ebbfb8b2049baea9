"""`kernelwright train`: makes an adapter from rows, in a process of its own that reports its progress to the program."""
