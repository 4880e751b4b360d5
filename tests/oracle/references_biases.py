"""Biases by distance, and FIRE, which looks at the query's position too."""
import math

import numpy as np

from references import distances, reference

FAR = [0, 1, 2, 50, 1000, 99999]


@reference(
    ("", {}, 7),
    ("clip=3", {}, 7),
    ("clip=3", {"causal": False, "heads": 5}, 7),
    ("clip=5", {"heads": 1}, [0, 0.25, 3, 4.5, 100]),
    ("clip=2", {"causal": False}, [0, 1.5, -7, 1.75, 1e7]),
)
def learned_bias(s, p, parameters, clip="64"):
    K, delta = int(clip), distances(p)
    least = 0 if s.causal else -K
    table = parameters(s.heads, K - least + 1)
    places = np.arange(least, K + 1)
    return {"bias": np.array([np.interp(np.clip(delta, least, K), places, row) for row in table])}


def kernel(parameters, heads, most):
    """r1, r2 [H, 1, 1], no smaller than 0.01; r2 no larger than `most`. Constants are those of the C++ floats."""
    least = float(np.float32(0.01))
    return np.maximum(parameters(heads), least)[:, None, None], np.clip(parameters(heads), least, most)[:, None, None]


@reference(("", {}, 7), ("", {"heads": 8, "causal": False}, 5), ("", {"heads": 5}, FAR), ("", {"heads": 2, "causal": False}, [0, 0.5, -3]))
def kerple_log(s, p, parameters):
    r1, r2 = kernel(parameters, s.heads, math.inf)
    return {"bias": -r1 * np.log(1 + r2 * np.abs(distances(p)))}


@reference(("", {}, 7), ("", {"heads": 8, "causal": False}, 5), ("", {"heads": 5}, FAR), ("", {"heads": 2, "causal": False}, [0, 0.5, -3]))
def kerple_power(s, p, parameters):
    r1, r2 = kernel(parameters, s.heads, 2)
    return {"bias": -r1 * np.abs(distances(p)) ** r2}


@reference(("", {}, 9), ("", {"heads": 8, "causal": False}, 5), ("width=6", {"heads": 5}, 9), ("width=6:first=0", {"heads": 3}, 9), ("width=2", {"heads": 1}, FAR), ("", {"heads": 2}, FAR))
def sandwich(s, p, parameters, width="128", first="1"):
    k, delta = int(first) + np.arange(int(width) // 2), distances(p)
    sums = np.cos(delta[..., None] * 10000.0 ** (-2 * k / int(width))).sum(-1) - int(width) / 2
    return {"bias": sums / (8 * np.arange(1, s.heads + 1) / s.heads)[:, None, None]}


def network(parameters, widths, activation):
    """x [...] or [..., in] → [..., out]; weights [out, in] and biases in the order of layers."""
    layers = [(parameters(out, inputs), parameters(out)) for inputs, out in zip(widths, widths[1:])]

    def run(x):
        for n, (weight, bias) in enumerate(layers):
            x = x @ weight.T + bias
            x = activation(x) if n + 1 < len(layers) else x
        return x

    return run


@reference(
    ("", {}, 9),
    ("", {"heads": 8, "causal": False}, 5),
    ("", {"heads": 5, "trained_length": 40}, 12),
    ("", {"heads": 1}, FAR),
    ("", {"heads": 2, "causal": False}, [0, 0.5, -3, 12]),
)
def fire(s, p, parameters):
    mlp = network(parameters, (1, 32, s.heads), lambda x: np.maximum(x, 0))
    c, m = parameters(1), parameters(1)
    psi = lambda z: np.log(np.abs(c * z) + 1)
    x = psi(distances(p)) / (psi(np.maximum(p, np.abs(m * s.trained_length))) + 1e-6)[:, None]
    return {"bias": mlp(x[..., None]).transpose(2, 0, 1)}


@reference(
    *[(options, *rest) for options in ("", "logarithm=false") for rest in
      (({}, 9), ({"heads": 8, "causal": False, "width": 10}, 5), ({"heads": 1, "width": 1}, 37), ({"heads": 2, "causal": False}, [0, 0.5, -3, 12]))],
    ("", {"heads": 5}, FAR),
)
def dynamic_bias(s, p, parameters, logarithm="true"):
    hidden = -(-s.width // 4)
    mlp = network(parameters, (1, hidden, hidden, s.heads), lambda x: x / (1 + np.exp(-x)))
    delta = distances(p)
    x = np.sign(delta) * np.log(np.abs(delta) + 1) if logarithm == "true" else delta
    return {"bias": mlp(x[..., None]).transpose(2, 0, 1)}


@reference(("width=3", {}, 6), ("width=1", {}, 4), ("width=3", {"causal": False}, 6), ("", {}, 40), ("width=4", {}, [5, 9, 11, 40, 43.5, 44]))
def window_penalty(s, p, parameters, width="32"):
    outside = np.abs(distances(p)) >= int(width)
    return {"bias": np.tile(np.where(outside, -math.inf, 0), (s.heads, 1, 1))}
