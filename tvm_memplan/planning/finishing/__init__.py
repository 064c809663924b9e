"""From a finished plan to a better one of the same size: less penalty, more in place, an arena in pieces."""
