"""`python -m kernelwright ARGUMENTS` runs the program, as the command `kernelwright` of a pip installation does."""
from .launcher import main

main()
