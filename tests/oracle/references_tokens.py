"""Positions made from the tokens themselves: s.tokens are bytes."""
import numpy as np

from references import reference


@reference(("", {}, 20), ("offset=5:digit=45;49;54", {}, 16))
def digits(s, p, parameters, offset="0", digit="48;49;50;51;52;53;54;55;56;57"):
    chosen = {int(x) for x in digit.split(";")}
    run = "".join("d" if t in chosen else " " for t in s.tokens)
    return {"positions": [len(run[: i + 1]) - len(run[: i + 1].rstrip("d")) for i in range(len(run))]}


@reference(("", {}, 20), ("rows=2", {"width": 5}, 16), ("separator=50;48:rows=3", {}, 15))
def bilevel(s, p, parameters, rows="0", separator="10;46;33;63"):
    ends = {int(x) for x in separator.split(";")}
    table = parameters(int(rows) or s.trained_length, s.width)
    starts = [0] + [i + 1 for i, t in enumerate(s.tokens) if t in ends]
    segment = [sum(a <= i for a in starts) - 1 for i in range(len(p))]
    place = [i - starts[n] for i, n in enumerate(segment)]
    return {"positions": segment, "input": table[np.minimum(place, len(table) - 1)]}


@reference(("", {}, 7), ("", {"causal": False, "width": 5}, 6), ("", {}, 1), ("", {"causal": False}, 2))
def conditional(s, p, parameters):
    weights, bias, N = parameters(3, s.width), parameters(1, s.width), len(p)
    x = np.sin(0.61 * np.arange(N * s.width) + 0.4).astype(np.float32).astype(float).reshape(N, -1)
    padded = np.vstack([np.zeros((2, s.width)), x] if s.causal else [np.zeros((1, s.width)), x, np.zeros((1, s.width))])
    return {"mixed": bias + sum(weights[t] * padded[t : t + N] for t in range(3))}
