"""Kernels with shared memory, run on an OpenCL device; the CPU's will do."""
