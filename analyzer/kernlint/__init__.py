"""kernlint: a static analyser for GPU and accelerator kernels."""

__version__ = "0.1.0"
