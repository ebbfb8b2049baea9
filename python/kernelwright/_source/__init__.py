"""Source that stands alone, of functions and classes of this process: see collect.source_of. Standard library only."""
