"""How much may be tried: work, which is counted the same on every machine, and time, which only cuts.

A search asks for work in portions. What it finds depends on the work it was given and on nothing else, so two machines
agree as long as neither runs out of time; `cut` says whether one did.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm_memplan.planning.compiling import clock

#: Work (looks at a buffer) that compiled code does in a second of an ordinary machine, on the slow side.
PER_SECOND = 150_000_000


@dataclass
class Effort:
    """What is left to spend.

    Parameters
    ----------
    work : int
        Looks at a buffer.
    seconds : float or None
        Wall-clock limit, counted from when this is made, without the time numba compiles; None for no limit.
    """

    work: int
    seconds: float | None = None
    cut: bool = False
    used: int = 0
    began: float = field(default_factory=clock)

    def spend(self, work: int) -> None:
        """Count work that was done."""
        self.work -= work
        self.used += work

    @property
    def over(self) -> bool:
        """Whether to stop; remembers if it is time that says so."""
        if self.work <= 0:
            return True
        if self.seconds is not None and clock() - self.began > self.seconds:
            self.cut = True
        return self.cut

    def share(self, part: float) -> Effort:
        """Return an effort of a part of the work that is left, with the same end of time."""
        return Effort(int(self.work * part), self.seconds, self.cut, self.used, self.began)


def effort_for(seconds: float | None) -> Effort:
    """Return the work that fits comfortably into so many seconds, cut off when they are over (None: no limit)."""
    return Effort(1 << 62) if seconds is None else Effort(int(seconds * PER_SECOND), seconds)
