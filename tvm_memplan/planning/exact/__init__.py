"""The exact search of one arena: plans that are proved to be lowest, and why a capacity cannot be met."""
