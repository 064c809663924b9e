"""The planning core: bytes and steps only; it imports without any TVM."""
