"""Several memories in order of preference: what goes to a slower one, by what traffic says that a run moves."""
