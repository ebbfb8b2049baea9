"""`kernelwright train`: an adapter out of rows, in a process of its own that tells the program how it goes."""
