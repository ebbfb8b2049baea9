"""The Python part of the judge: the processes that fork servers start, and the modules that they share."""
