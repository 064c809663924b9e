"""Thousands to millions of buffers, on arrays: the columns of a problem, first fit by time, and a few orders."""
