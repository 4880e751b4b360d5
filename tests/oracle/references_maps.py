"""Maps of distance and of position."""
import math

import numpy as np

from references import distances, reference


def mapped(p, f):
    """[N, N]: f(query, key) for each pair of positions."""
    return {"distances": np.array([[f(a, b) for b in p] for a in p], float)}


@reference(("group=2:window=3", {}, 12), ("group=3:window=4", {}, [5, 6, 8, 9, 13, 20, 21]), ("", {"trained_length": 2048}, [0, 1, 1022, 1023, 1024, 1025, 5000]))
def grouped(s, p, parameters, group="8", window="1024"):
    G, W = int(group), int(window)
    return mapped(p, lambda i, j: i - j if i - j < W else math.floor(i / G) + W - W // G - math.floor(j / G))


@reference(("window=3", {}, 9), ("window=3:leaky=true:factor=4", {}, [0, 1, 2.5, 6, 9, 14]), ("leaky=true", {}, [0, 511, 512, 513, 5000]))
def rectified(s, p, parameters, window="512", leaky="false", factor="16"):
    W = int(window)
    far = (lambda d: W + (d - W) / float(factor)) if leaky == "true" else (lambda d: W)
    return mapped(p, lambda i, j: i - j if i - j <= W else far(i - j))


@reference(("", {}, 30), ("length=6:chunk=4", {}, 17), ("length=8:chunk=1", {}, 5), ("length=10:chunk=4", {}, [4, 5, 9, 11, 12, 30]))
def chunked(s, p, parameters, length="0", chunk="0"):
    c = int(length) or s.trained_length
    size = int(chunk) or max(1, c * 3 // 4)

    def distance(i, j):
        apart = i // size - j // size
        query = i % size if apart == 0 else min(i % size + size, c - 1) if apart == 1 else c - 1
        return query - j % size

    return mapped(p, distance)


@reference(("shift=4:window=1", {}, 12), ("", {"trained_length": 24}, 30), ("shift=3:window=0", {}, [0, 1, 4, 5, 5.5, 9]))
def shifted(s, p, parameters, shift="0", window="-1"):
    S = int(shift) or max(1, s.trained_length // 3)
    W = int(window) if int(window) >= 0 else S // 4
    return mapped(p, lambda i, j: i - j if i - j < S else i - j - S + W)


@reference(("columns=3", {}, 8), ("columns=3:rows=2:text=2", {"head_dim": 8}, 12), ("dimensions=3:columns=2:rows=3:frames=2:text=1", {"head_dim": 12}, 16),
           ("dimensions=3:columns=2:rows=2:split=alternating", {"head_dim": 14}, 10), ("split=alternating:columns=4:rows=1", {"head_dim": 10}, 9))
def grid(s, p, parameters, dimensions="2", columns="8", rows="0", frames="0", text="0", split="blocks"):
    n, C, R, F, T, pairs = int(dimensions), int(columns), int(rows), int(frames), int(text), s.head_dim // 2
    shape = ([F] if n == 3 else []) + [R, C]
    cells = math.prod(shape) if shape[0] else math.inf

    def carried(position):
        position = int(position)
        if position < T:
            return [position] * n
        if position - T >= cells:
            return [T + max(shape) + position - T - cells] * n
        inner = math.prod(shape[1:])
        return [T + (position - T) // inner] + [T + x for x in np.unravel_index((position - T) % inner, shape[1:])]

    where = np.array([carried(x) for x in p])
    share = [min(n - 1, k * n // pairs) if split == "blocks" else k % n for k in range(pairs)]
    return {"coordinates": where[:, share].T.astype(float)}
