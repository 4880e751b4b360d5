"""Patterns, scales, and the plain ones of the ids and input doors."""
import math

import numpy as np

from references import FAR, Pcg32, reference


def visible(s, N):
    """What the causal mask leaves, [N, N]."""
    return np.tril(np.ones((N, N), bool)) if s.causal else np.ones((N, N), bool)


BOTH_WAYS = [({}, 11), ({"causal": False}, 11)]


def named(s, ids):
    return np.isin(s.tokens, [int(x) for x in ids.split(";")])


@reference(*[(options, *rest) for options in ("", "count=2", "count=1000") for rest in BOTH_WAYS])
def sinks(s, p, parameters, count="4"):
    N = len(p)
    return {"seen": visible(s, N) & (np.arange(N)[None, :] < int(count))}


@reference(*[(options, *rest) for options in ("", "count=3", "count=1000", "at=45;50", "at=49:count=3", "at=7") for rest in BOTH_WAYS])
def global_(s, p, parameters, count="1", at=""):
    N, special = len(p), named(s, at) if at else np.arange(len(p)) < int(count)
    return {"seen": visible(s, N) & (special[None, :] | special[:, None])}


@reference(*[(options, *rest) for options in ("", "count=3", "count=4:seed=2147483647") for rest in [*BOTH_WAYS, ({}, 40), ({"causal": False}, 23)]])
def random(s, p, parameters, count="8", seed="0"):
    """Robert Floyd's sampling of r out of n: for n − r ≤ t < n one number of 0 … t, or t if that one has been taken."""
    N, r = len(p), int(count)
    seen = np.zeros((N, N), bool)
    for i in range(N):
        n, source = i + 1 if s.causal else N, Pcg32(int(seed), i)
        keys = set(range(n)) if n <= r else set()
        for t in range(n - r, n) if n > r else ():
            drawn = source.below(t + 1)
            keys.add(t if drawn in keys else drawn)
        seen[i, sorted(keys)] = True
    return {"seen": seen}


@reference(*[(options, *rest) for options in ("", "size=4", "size=3:back=0", "size=2:back=2", "size=1", "size=16777216:back=16777216") for rest in BOTH_WAYS])
def blocks(s, p, parameters, size="32", back="1"):
    N = len(p)
    b = np.arange(N) // int(size)
    return {"seen": visible(s, N) & (np.abs(b[:, None] - b[None, :]) <= int(back))}


@reference(*[(options, *rest) for options in ("", "width=3", "width=2:stride=5", "stride=1:width=4", "width=16777216:stride=3", "stride=16777216") for rest in [*BOTH_WAYS, ({}, 40)]])
def dilated(s, p, parameters, width="16", stride="2"):
    N = len(p)
    delta = np.abs(np.arange(N)[:, None] - np.arange(N)[None, :])
    return {"seen": visible(s, N) & (delta % int(stride) == 0) & (delta // int(stride) < int(width))}


def seen_keys(s, N):
    return np.arange(1, N + 1) if s.causal else np.full(N, N)


@reference(*[(options, *rest) for options in ("", "bias=true") for rest in [({"heads": 3}, 20), ({"heads": 2, "causal": False}, 7)]])
def ssmax(s, p, parameters, bias="false"):
    slope = parameters(s.heads)
    constant = parameters(s.heads) if bias == "true" else np.zeros(s.heads)
    return {"scale": slope[:, None] * np.log(seen_keys(s, len(p)))[None, :] + constant[:, None]}


@reference(
    ("", {"heads": 2}, [0, 8190, 8191, 16382, 16383, 24575, 1e6, 131071.5]),
    ("floor=4:slope=0.5", {"heads": 2}, 20),
    ("floor=2.5", {"heads": 1}, [-7, -1, -0.5, 0, 1.4, 1.6, 9]),
    ("slope=0", {"heads": 1}, 3),
)
def temperature(s, p, parameters, floor="8192", slope="0.1"):
    steps = [max(math.floor((x + 1) / float(floor)), 0) for x in p]
    return {"scale": np.tile([math.log(n + 1) * float(slope) + 1 for n in steps], (s.heads, 1))}


@reference(("", {}, 7), ("factor=8", {}, [0, 3, -4, 1e7]), ("factor=3", {}, 10), ("factor=1", {}, 4))
def interpolated(s, p, parameters, factor="2"):
    return {"positions": p / float(factor)}


@reference(
    ("", {}, 7),
    ("", {}, [3, 1, 4]),
    ("evaluation=fresh", {}, 7),
    ("evaluation=fresh:seed=5", {}, 33),
    ("draw=uniform:evaluation=fresh", {}, 7),
    ("draw=uniform:max=100:evaluation=fresh:seed=9", {}, 33),
    ("evaluation=fresh", {}, 1),
)
def random_linspace(s, p, parameters, draw="exponential", max="2048", evaluation="plain", seed="0"):
    if evaluation == "plain":
        return {"positions": np.arange(len(p))}
    source = Pcg32(int(seed))
    high, low = source.next(), source.next()
    u = ((high << 32 | low) >> 11) / 2**53
    return {"positions": np.linspace(0, u * int(max) if draw == "uniform" else -math.log(1 - u) * len(p), len(p))}


@reference(
    ("", {"width": 8}, [0, 1, 2, 3, 10]),
    ("", {"width": 7}, 9),
    ("embedding_scale=false", {"width": 1}, [0, 2.5, -3]),
)
def learned_frequency(s, p, parameters, base="10000", embedding_scale="true"):
    d = s.width
    angles = p[:, None] * parameters((d + 1) // 2)
    out = np.zeros((len(p), d))
    out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles)[:, : d // 2]
    return {"input": out, "embedding_scale": math.sqrt(d) if embedding_scale == "true" else 1}


@reference(
    ("", {"width": 5}, 8),
    ("", {"width": 5}, 64),
    ("rows=3:alpha=0.25", {"width": 5}, 9),
    ("rows=3", {"width": 4}, [7.5, 0, 2.25, 3, 8]),
    ("rows=3:overflow=clamp", {"width": 4}, [-2, 8, 9, 1e9]),
    ("rows=1:overflow=clamp:alpha=0", {"width": 4}, 3),
)
def hierarchical(s, p, parameters, rows="0", alpha="0.4", overflow="error"):
    n, a = int(rows) or s.trained_length, float(alpha)
    table = parameters(n, s.width)
    u = (table - a * table[0]) / (1 - a)
    every = np.array([a * u[t // n] + (1 - a) * u[t % n] for t in range(n * n)])
    p = np.clip(p, 0, n * n - 1)
    low = np.floor(p).astype(int)
    part = (p - low)[:, None]
    return {"input": (1 - part) * every[low] + part * every[np.minimum(low + 1, n * n - 1)], "embedding_scale": 1}


@reference(
    ("", {"width": 8}, 13),
    ("stride=3:embedding_scale=false", {"width": 7}, [0, 1, 3, 3.5, -6, 9, 300]),
    ("stride=1:base=500", {"width": 64}, FAR),
    ("at=45;50", {"width": 5}, 16),
    ("stride=2:at=54", {"width": 4}, [0, 1, 2.5, 3, 4]),
)
def sparse(s, p, parameters, stride="4", at="", base="10000", embedding_scale="true"):
    d = s.width
    angles = p[:, None] * float(base) ** (-2 * np.arange((d + 1) // 2) / d)
    out = np.zeros((len(p), d))
    out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles)[:, : d // 2]
    out[~named(s, at) if at else p % int(stride) != 0] = 0
    return {"input": out, "embedding_scale": math.sqrt(d) if embedding_scale == "true" else 1}
