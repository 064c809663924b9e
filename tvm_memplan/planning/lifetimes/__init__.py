"""From a trace to who is alive when, what may be written in place, and what the threads of a block may share."""
