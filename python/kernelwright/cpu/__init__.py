"""Running candidates without a GPU: `interpret` runs kernels, `compile_only` compiles them for sm_90.

A process is one or the other, since Triton decides at its import; neither is imported from here.
"""
