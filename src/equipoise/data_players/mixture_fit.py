"""Fitting a mixture of products to noisy marginals, one column at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from equipoise.core import FloatArray, IntArray
from equipoise.data_players import mixture_kernels as kernels

Columns = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """What was measured of one column: every measured marginal that has it, its axis last."""

    column: int
    others: IntArray
    strides: IntArray
    widths: IntArray
    firsts: IntArray
    targets: NDArray[np.float32]
    precisions: NDArray[np.float32]
    largest: NDArray[np.float32]
    orders: FloatArray

    @classmethod
    def build(cls, column, sizes, measured, order):
        chosen = [columns for columns in order if column in columns]
        depth = max(max((len(c) for c in chosen), default=1) - 1, 1)
        others = np.zeros((len(chosen), depth), dtype=np.int64)
        strides = np.zeros((len(chosen), depth), dtype=np.int64)
        widths = np.array([len(c) - 1 for c in chosen], dtype=np.int64)
        firsts, targets, precisions = [0], [], []
        for w, columns in enumerate(chosen):
            rest = [c for c in columns if c != column]
            stride = 1
            for a in range(len(rest) - 1, -1, -1):
                others[w, a], strides[w, a] = rest[a], stride
                stride *= sizes[rest[a]]
            firsts.append(firsts[-1] + stride)
            axis = columns.index(column)
            y, p = measured[columns]
            targets.append(np.moveaxis(y, axis, -1).reshape(stride, -1).astype(np.float32))
            precisions.append(np.moveaxis(p, axis, -1).reshape(stride, -1).astype(np.float32))
        m = sizes[column]
        t = np.concatenate(targets) if targets else np.zeros((0, m), np.float32)
        p = np.concatenate(precisions) if targets else np.zeros((0, m), np.float32)
        return cls(column, others, strides, widths, np.array(firsts), t, p, p.max(axis=1), np.array([len(c) for c in chosen], float))


class Fit:
    def __init__(self, sizes, measured, factors, rng, inner=3):
        self.sizes = tuple(sizes)
        self.inner = inner
        order = list(measured)
        order = [order[i] for i in np.random.default_rng(0).permutation(len(order))]
        # scale so that precisions are O(1)
        self.num_cells = sum(v[0].size for v in measured.values())
        self.blocks = [Block.build(c, sizes, measured, order) for c in range(len(sizes))]
        self.factors = [np.ascontiguousarray(f, dtype=np.float32) for f in factors]
        self.K = len(self.factors[0])
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.codes = np.zeros((self.K, self.starts[-1]), np.int32)
        self.values = np.zeros((self.K, self.starts[-1]), np.float32)
        self.counts = np.zeros((len(sizes), self.K), np.int64)
        big = max(range(len(sizes)), key=lambda c: self.blocks[c].targets.size)
        self.scratch = np.empty(max(b.targets.size for b in self.blocks), np.float32)
        self.mass = np.empty(max(len(b.targets) for b in self.blocks), np.float32)
        for c in range(len(sizes)):
            self.compact(c, self.factors[c])
        self.prev = [None] * len(sizes)
        self.mom = [1.0] * len(sizes)
        self.loss = np.zeros(len(sizes))
        self.moved = np.zeros(len(sizes))

    def compact(self, c, f):
        s = slice(self.starts[c], self.starts[c + 1])
        kernels.compact(f, self.codes[:, s], self.values[:, s], self.counts[c])

    def entries(self, c):
        b = self.blocks[c]
        return kernels.expand(b.others, b.strides, b.widths, b.firsts, self.starts, self.codes, self.values, self.counts)

    def residuals(self, c, S, P):
        b = self.blocks[c]
        m = self.sizes[c]
        self.compact(c, P)
        s = slice(self.starts[c], self.starts[c + 1])
        R = self.scratch[: b.targets.size].reshape(b.targets.shape)
        mass = self.mass[: len(b.targets)]
        losses = np.empty(len(b.widths))
        kernels.residuals(*S, b.firsts, self.codes[:, s], self.values[:, s], self.counts[c], b.targets, b.precisions, R, mass, losses)
        return R, mass, losses

    def update(self, c, omega=0.0):
        b = self.blocks[c]
        if len(b.widths) == 0:
            return
        S = self.entries(c)
        P = self.factors[c]
        Z = P
        if omega and self.prev[c] is not None:
            Z = P + np.float32(omega) * (P - self.prev[c])
        self.prev[c] = P
        R, mass, losses = self.residuals(c, S, Z)
        self.loss[c] = (losses / b.orders).sum()
        chunks = 2
        d = np.empty((self.K, 1), np.float32)
        kernels.gradient(*S, len(b.widths), (mass * b.largest)[:, None], d, chunks)
        d = d[:, 0]
        g = np.empty_like(P)
        t = 1.0
        for i in range(self.inner):
            if i:
                R, mass, losses = self.residuals(c, S, Z)
            kernels.gradient(*S, len(b.widths), R, g, chunks)
            new = np.empty_like(P)
            kernels.project(Z, g, d, new)
            tn = (1 + math.sqrt(1 + 4 * t * t)) / 2
            Z = new + np.float32((t - 1) / tn) * (new - P) if i < self.inner - 1 else new
            P, t = new, tn
        self.factors[c] = P
        self.compact(c, P)

    def sweep(self, rng, omega=0.0):
        for c in rng.permutation(len(self.sizes)):
            self.update(c, omega)
        return self.loss.sum()
