"""Rules of planning with one taken out, to see that the tests notice.

`REMOVED` has them by name, each with the module and the function that it takes the place of.
"""

from dataclasses import replace

from tvm_memplan.planning.lifetimes import dependence, in_place, liveness
from tvm_memplan.planning.model import LiveRange

real_range = liveness._Place.range
precedes, overlap = dependence.precedes, dependence._overlap

# Live ranges.


def touches_only(place, total):
    """A live range is what it touches, loops or not."""
    steps = [step for step, _ in place.touches] or [min(place.at, total - 1)]
    return LiveRange(min(steps), max(steps) + 1)


def deaths_before_births(place, total):
    """A buffer's last reader may already write over it."""
    right = real_range(place, total)
    return LiveRange(right.start, max(right.stop - 1, right.start + 1))


# In-place pairs.


def forgets_the_order(old, write, around):
    """Whatever comes later in the program counts as earlier."""
    return precedes(replace(old, step=-1), write, around)


def forgets_later_rounds(old, write, moving, level, sign):
    return level == len(moving) and overlap(old, write, moving, level, sign)


def forgets_inner_rounds(old, write, moving, level, sign):
    """Only the outermost loop counts."""
    return (level == 0 or level == len(moving)) and overlap(old, write, moving, level, sign)


def forgets_other_indices(old, write, around):
    return precedes(replace(old, elements=old.elements and write.elements), write, around)


def forgets_width(old, write, moving, level, sign):
    thin = (replace(access, elements=replace(access.elements, width=1)) for access in (old, write))
    return overlap(*thin, moving, level, sign)


def forgets_loops_of_one(old, write, moving, level, sign):
    """A loop that only one of the two stands in stays at 0."""
    common = set(old.loops) & set(write.loops)
    outer = (replace(access, loops=tuple(_still(access.loops, common))) for access in (old, write))
    return overlap(*outer, moving, level, sign)


def _still(loops, common):
    return (loop if loop in common else replace(loop, extent=min(loop.extent or 0, 1)) for loop in loops)


def forgets_that_workers_run_ahead(old, write, around):
    serial = (replace(access, loops=tuple(replace(x, parallel=False) for x in access.loops)) for access in (old, write))
    return precedes(*serial, {replace(loop, parallel=False) for loop in around})


def forgets_which_branch(old, write, around):
    """Any two branches count as one."""
    one = (replace(access, arms=tuple((0, arm) for _, arm in access.arms)) for access in (old, write))
    return precedes(*one, around)


REMOVED = {
    "loops": (liveness._Place, "range", touches_only),
    "births": (liveness._Place, "range", deaths_before_births),
    "order": (in_place, "precedes", forgets_the_order),
    "later-rounds": (dependence, "_overlap", forgets_later_rounds),
    "inner-rounds": (dependence, "_overlap", forgets_inner_rounds),
    "indices": (in_place, "precedes", forgets_other_indices),
    "width": (dependence, "_overlap", forgets_width),
    "loops-of-one": (dependence, "_overlap", forgets_loops_of_one),
    "workers": (in_place, "precedes", forgets_that_workers_run_ahead),
    "branches": (in_place, "precedes", forgets_which_branch),
}

#: Those that are about in-place pairs.
OF_PAIRS = tuple(REMOVED)[2:]

#: The kinds of `tests.random_programs.DERIVED` that show some of them, rare among all programs. "workers" takes
#: two threads that meet, so that no test can rely on it.
SHOWN_BY = {
    "width": ("lanes",),
    "loops-of-one": ("first last",),
    "workers": ("ahead together",),
    "branches": ("either or",),
}
