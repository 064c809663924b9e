"""Models of the Relay line (TVM 0.19): the lowered program as a trace, layers by name, and fused operators cut anew."""
