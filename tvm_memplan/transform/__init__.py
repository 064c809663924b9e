"""TVM passes, one a file."""
