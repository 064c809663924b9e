"""From a problem to one that is simpler to plan: what must share as one buffer, no granularities, part by part."""
