"""Readers and writers of TVM IR; nothing outside this package knows which TVM line is installed."""
