"""Reports: the numbers of a plan, and ways to show them."""
