"""What no packing can beat: by the pressure at a step, by a heavy clique; and what nothing shared would take."""
