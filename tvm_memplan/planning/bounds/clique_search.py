"""Searches for a heavy clique in a graph with weights; `tvm_memplan.planning.bounds.clique` says which there are.

A set of vertices is an integer with a bit per vertex, the heaviest being bit 0, so that the heaviest of a set is its
lowest bit and intersecting two sets is one operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from tvm_memplan.planning.conflicts import Indices

#: How often the local search starts again, and how many vertices each of the searches may look at, all in all.
RESTARTS = 100
EFFORT = 100_000


class Search:
    """The heaviest clique so far, and ways to a heavier one. Vertices are numbered by descending weight."""

    def __init__(self, weight: list[int], near: list[Indices], floor: int) -> None:
        self.weight = weight
        self.near = [_packed(js, len(near)) for js in near]
        self.best = 0
        self.record = floor

    def offer(self, clique: int) -> int:
        """Keep a clique if it is the heaviest; return its weight."""
        total = sum(self.weight[k] for k in bits(clique))
        if total > self.record:
            self.best, self.record = clique, total
        return total

    def grown(self, clique: int, within: int = -1) -> int:
        """Add the heaviest vertex of `within` (-1: all) that fits until none does."""
        fits = (1 << len(self.near)) - 1 & ~clique & within
        for k in bits(clique):
            fits &= self.near[k]
        while fits:
            k = (fits & -fits).bit_length() - 1
            clique |= 1 << k
            fits &= self.near[k]
        return clique

    def chordal(self, near: list[Indices]) -> None:
        """Visit whoever has most visited neighbours next; grow a clique from each and those of them.

        If the graph is chordal, as conflicts that come from intervals of time are, every maximal clique is some vertex
        with its neighbours visited before it (Tarjan and Yannakakis, SIAM J. Comput. 1984).
        """
        visited = np.zeros(len(near), dtype=np.int64)
        done = 0
        for _ in near:
            k = int(visited.argmax())
            self.offer(self.grown(1 << k, done))
            done |= 1 << k
            visited[near[k]] += 1
            visited[k] = -len(near) - 1  # never again

    def greedy(self) -> None:
        """Grow a clique from every vertex."""
        left = EFFORT
        for k in range(len(self.near)):
            clique = self.grown(1 << k)
            self.offer(clique)
            left -= clique.bit_count()
            if left < 0:
                break

    def swap(self, random: Random) -> None:
        """Climb by exchanging one member for a heavier vertex; start again near where that ended."""
        left, now = EFFORT, self.best
        for _ in range(RESTARTS):
            total, k = self.offer(now), 0
            while k < len(self.near) and left > 0:
                left -= 1
                against = now & ~self.near[k]
                k += 1
                if now >> (k - 1) & 1 or against & (against - 1):
                    continue
                if self.weight[k - 1] > sum(self.weight[j] for j in bits(against)):
                    now = self.grown(now & ~against | 1 << (k - 1))
                    left -= now.bit_count()
                    total, k = self.offer(now), 0
            if 2 * total < self.record:
                now = self.best
            k = random.randrange(len(self.near))
            now = self.grown(now & self.near[k] | 1 << k)

    def prove(self) -> None:
        """Branch and bound: what is coloured can hold one vertex per colour, so the heaviest of each bounds the rest.

        Every vertex of the uncoloured rest, of colours beyond what the record allows for, is tried as the first of
        the clique, the last coloured first (the bound of Tomita's and Kumlander's searches).
        """
        fits = (1 << len(self.near)) - 1
        stack = [(0, 0, fits, self._coloured(fits))]
        left = EFFORT
        while stack and left > 0:
            clique, total, fits, choices = stack.pop()
            if not choices or total + choices[-1][1] <= self.record:
                continue
            k, _ = choices.pop()
            stack.append((clique, total, fits & ~(1 << k), choices))
            inner = fits & self.near[k]
            left -= 1 + inner.bit_count()
            if inner:
                stack.append((clique | 1 << k, total + self.weight[k], inner, self._coloured(inner)))
            else:
                self.offer(clique | 1 << k)

    def _coloured(self, fits: int) -> list[tuple[int, int]]:
        """Vertices in order of their colours, each with the most that a clique of it and those before it can weigh."""
        result: list[tuple[int, int]] = []
        below = 0
        while fits:
            free, heaviest = fits, 0
            while free:
                k = (free & -free).bit_length() - 1
                free &= ~(self.near[k] | 1 << k)
                fits &= ~(1 << k)
                heaviest = max(heaviest, self.weight[k])
                result.append((k, below + heaviest))
            below += heaviest
        return result


def bits(members: int) -> Iterator[int]:
    """The positions of the bits of a set, ascending."""
    while members:
        low = members & -members
        yield low.bit_length() - 1
        members ^= low


def _packed(members: Indices, count: int) -> int:
    row = np.zeros(count, dtype=bool)
    row[members] = True
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")
