"""Slots that buffers take turns in: colourings, the planners that place such slots, and slots of several dimensions."""
