"""The encodings once more, in double precision and as their papers write them, without regard to speed.

One function for each encoding, registered with the cases that become its golden file. A function gets the shape, the
positions, a source of parameters and its options, and returns what it puts into the doors it opens:
  positions [N]                       ids
  input [N, d], embedding_scale       input
  angles [N, pairs], pairing          rotation
  gain, key_gain [N, pairs] or less   rotation (key_gain: only where it is another)
  bias [H, N, N]                      bias
  content(q, k, x) -> [H, N, N]       content (q, k: [N, H, D] before rotation)
  value(weights) -> [N, H, D]         value
  seen [N, N]                         pattern
  scale [H, N]                        scale
  linear                              none: attention is linear
"""
import math
from fractions import Fraction

import numpy as np

REFERENCES = {}  # name -> (function, cases)


class Shape:
    def __init__(self, heads=3, kv_heads=None, head_dim=4, width=None, trained_length=8, causal=True):
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads or heads, head_dim
        self.width, self.trained_length, self.causal = width or heads * head_dim, trained_length, causal


class Parameters:
    """Learned tensors, in the order in which an encoding declares them: 0.5·sin(0.7·i + 1.3·n) for the n-th, n from 1."""

    def __init__(self):
        self.count = 0

    def __call__(self, *shape):
        self.count += 1
        flat = 0.5 * np.sin(0.7 * np.arange(math.prod(shape)) + 1.3 * self.count)
        return flat.astype(np.float32).astype(float).reshape(shape)


def reference(*cases):
    """A case: (options as text, perhaps with +terms beside it, keywords of Shape, positions or a length[, tokens present])."""

    def register(function):
        REFERENCES[function.__name__.rstrip("_")] = (function, cases)  # global is a word of Python's own
        return function

    return register


def distances(p):
    return p[:, None] - p[None, :]


@reference(("", {}, 5), ("", {"causal": False}, 5))
def nope(s, p, parameters):
    return {}


FAR = [0, 1, 7, 1000, 131071, 1000003, 10000019]


@reference(
    ("", {"width": 8}, [0, 1, 2, 3, 1000]),
    ("", {"width": 7}, 9),
    ("", {"width": 64}, FAR),
    ("layout=concatenated", {"width": 8}, [3]),
    ("layout=concatenated:base=500", {"width": 9}, [0, 5, 2.5, -3]),
    ("layout=half_minus_1", {"width": 8}, [3, 1000003]),
    ("layout=half_minus_1", {"width": 7}, 4),
    ("layout=half_minus_1", {"width": 2}, 4),
    ("layout=half_minus_1", {"width": 1}, 4),
    ("sin_only=true:embedding_scale=false", {"width": 5}, FAR),
)
def sinusoidal(s, p, parameters, base="10000", layout="interleaved", sin_only="false", embedding_scale="true"):
    d, base = s.width, float(base)
    out = np.zeros((len(p), d))
    if sin_only == "true":
        out = np.sin(p[:, None] * base ** (-np.arange(d) / d))
    elif layout == "half_minus_1":
        half = d // 2
        angles = p[:, None] * base ** (-np.arange(half) / max(half - 1, 1))
        out[:, :half], out[:, half : 2 * half] = np.sin(angles), np.cos(angles)
    else:
        angles = p[:, None] * base ** (-2 * np.arange((d + 1) // 2) / d)
        sines, cosines = np.sin(angles), np.cos(angles)[:, : d // 2]
        if layout == "interleaved":
            out[:, 0::2], out[:, 1::2] = sines, cosines
        else:
            out = np.hstack([sines, cosines])
    return {"input": out, "embedding_scale": math.sqrt(d) if embedding_scale == "true" else 1}


@reference(
    ("", {"width": 5}, 8),
    ("", {"width": 5}, [7, 0, 2.25, 3]),
    ("overflow=clamp", {"width": 5}, 13),
    ("overflow=clamp", {"width": 5}, [-3, 4, 1e6]),
    ("overflow=interpolate", {"width": 5}, 6),
    ("overflow=interpolate", {"width": 5}, 20),
    ("overflow=interpolate:normalize=true", {"width": 5, "trained_length": 7}, 16),
    ("normalize=true", {"width": 9}, 8),
)
def learned(s, p, parameters, overflow="error", normalize="false"):
    L, N = s.trained_length, len(p)
    table = parameters(L, s.width)
    if overflow == "interpolate" and N > L:
        p = (p + 0.5) * L / N - 0.5
    p = np.clip(p, 0, L - 1)
    low = np.floor(p).astype(int)
    part = (p - low)[:, None]
    rows = (1 - part) * table[low] + part * table[np.minimum(low + 1, L - 1)]
    if normalize == "true":
        rows = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)
    return {"input": rows, "embedding_scale": 1}


class Pcg32:
    """pcg-random.org, pcg32_random_r and pcg32_boundedrand_r."""

    def __init__(self, seed, stream=0):
        self.state, self.increment = 0, stream * 2 + 1
        self.next()
        self.state = (self.state + seed) % 2**64
        self.next()

    def next(self):
        old = self.state
        self.state = (old * 6364136223846793005 + self.increment) % 2**64
        shifted, turn = (((old >> 18) ^ old) >> 27) % 2**32, old >> 59
        return (shifted >> turn | shifted << (-turn & 31)) % 2**32

    def below(self, n):
        while True:
            r = self.next()
            if r >= 2**32 % n:
                return r % n


@reference(
    ("max=20", {}, 7),
    ("max=20", {}, 20),
    ("max=2048:seed=5", {}, 33),
    ("max=1", {}, 1),
    ("max=100:evaluation=evenly", {}, 7),
    ("max=8:evaluation=evenly", {}, [3, 1, 4, 1, 5, 9, 2, 6]),
)
def random_sorted(s, p, parameters, max="2048", evaluation="fresh", seed="0"):
    largest, count = int(max), len(p)
    if evaluation == "evenly":
        return {"positions": [i * largest // count for i in range(count)]}
    random, taken = Pcg32(int(seed)), []
    for number in range(largest):
        if len(taken) < count and random.below(largest - number) < count - len(taken):
            taken.append(number)
    return {"positions": taken}


@reference(
    ("", {"head_dim": 8}, 5),
    ("", {"head_dim": 64, "heads": 1}, [256, 257, 258, 259]),
    ("", {"head_dim": 128, "heads": 1}, FAR),
    ("pairing=half:base=500000", {"head_dim": 6}, [0, 3, 0.5, -7, 1e7]),
    ("fraction=0.5", {"head_dim": 8}, [0, 3]),
    ("fraction=0.4:pairing=half", {"head_dim": 80, "heads": 1}, [0, 3]),
    ("fraction=0.4", {"head_dim": 8}, [0, 3]),
    ("fraction=0.5:proportional=true:pairing=half", {"head_dim": 8}, [0, 3, 100]),
    ("factor=8:base=1000000:pairing=half", {"head_dim": 16}, [0, 1, 4000, 10000000.25]),
    ("factor=4:fraction=0.75:proportional=true", {"head_dim": 8}, [0, 3, 100]),
    ("learned=true", {"head_dim": 8}, [0, 3, 10]),
    ("learned=true:fraction=0.5:proportional=true", {"head_dim": 8}, [0, 3, 10]),
)
def rope(s, p, parameters, base="10000", pairing="interleaved", fraction="1", proportional="false", factor="1", learned="false"):
    D = s.head_dim
    turning = math.floor(Fraction(fraction) * D) // 2
    pairs = D // 2 if proportional == "true" else turning
    frequencies = np.zeros(pairs)
    frequencies[:turning] = parameters(turning) if learned == "true" else float(base) ** (-np.arange(turning) / pairs) / float(factor)
    return {"angles": p[:, None] * frequencies, "pairing": pairing}


@reference(
    ("", {"head_dim": 4}, 8),
    ("", {"head_dim": 4}, 16),
    ("pairing=half", {"head_dim": 4}, 16),
    ("", {"head_dim": 8}, 20, 9),
    ("factor=4:original=12:base=500000", {"head_dim": 6}, [0, 5, 1e6], 100),
    ("", {"head_dim": 2}, 40),
    ("fraction=0.5", {"head_dim": 12}, 20),
)
def dynamic_ntk(s, p, parameters, factor="2", original="0", base="10000", pairing="interleaved", fraction="1"):
    D = math.floor(Fraction(fraction) * s.head_dim) // 2 * 2
    L, base, factor, n = int(original) or s.trained_length, float(base), float(factor), s.present
    if n > L and D > 2:
        base *= (factor * n / L - (factor - 1)) ** (D / (D - 2))
    return {"angles": p[:, None] * base ** (-2 * np.arange(D // 2) / D), "pairing": pairing}


def alibi_slopes(heads):
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * h / heads) for h in range(1, heads + 1)]
    power = 1 << (heads.bit_length() - 1)
    return alibi_slopes(power) + alibi_slopes(2 * power)[0::2][: heads - power]


@reference(
    ("", {"heads": 8, "head_dim": 2}, 4),
    ("", {"heads": 3}, 7),
    ("", {"heads": 12, "head_dim": 2}, [0, 1000, 5096, 100000]),
    ("", {"heads": 5, "causal": False}, [0, 0.5, 1, 3]),
    ("", {"heads": 2}, [100, 103, 106, 109]),
    ("form=asymmetric", {"heads": 5, "causal": False}, 5),
    ("form=asymmetric", {"heads": 1, "causal": False}, 3),
)
def alibi(s, p, parameters, form="symmetric"):
    delta = distances(p)
    if form == "symmetric":
        return {"bias": -np.array(alibi_slopes(s.heads))[:, None, None] * np.abs(delta)}
    left = (s.heads + 1) // 2
    bias = np.array([-alibi_slopes(left)[h % left] * np.abs(delta) for h in range(s.heads)])
    bias[:left, delta < 0] = -np.inf
    bias[left:, delta > 0] = -np.inf
    return {"bias": bias}


def t5_bucket(delta, buckets, max_distance, causal):
    """E + b begins where n/E ≥ (max/E)^(b/(B−E)); for whole n both sides to the power B − E are compared exactly."""
    right = 0
    if causal:
        n = max(delta, 0)
    else:
        buckets //= 2
        right, n = (buckets if delta < 0 else 0), abs(delta)
    exact = buckets // 2
    if n < exact:
        return right + math.floor(n)
    bucket, ratio, top = exact, Fraction(n) / exact, Fraction(max_distance, exact)
    while bucket < buckets - 1 and ratio ** (buckets - exact) >= top ** (bucket + 1 - exact):
        bucket += 1
    return right + bucket


@reference(
    ("", {}, 10),
    ("", {"causal": False}, 10),
    ("", {"heads": 1}, [0, 16, 32, 64, 127, 128, 129, 2000]),
    ("", {"heads": 1, "causal": False}, [0, 8, 16, 32, 63, 64, 65, 127, 128]),
    ("buckets=8:max_distance=64", {"heads": 1}, 70),
    ("buckets=10:max_distance=160", {"heads": 1}, [0, 10, 20, 40, 80, 160]),
    ("buckets=18:max_distance=128", {"heads": 1, "causal": False}, [0, 8, 16, 32, 64, 128]),
    ("buckets=6:max_distance=24", {"heads": 2}, 30),
    ("buckets=9:max_distance=20:scaled=false", {"heads": 2}, [0, 3, 6, 9, 12, 15, 18, 21, 24]),
    ("buckets=12:max_distance=15", {"heads": 2, "causal": False}, [0, 1.5, 2, 7, 9, 30]),
)
def t5(s, p, parameters, buckets="32", max_distance="128", scaled="true"):
    table = parameters(int(buckets), s.heads)
    index = [[t5_bucket(delta, int(buckets), int(max_distance), s.causal) for delta in row] for row in distances(p)]
    return {"bias": table[np.array(index)].transpose(2, 0, 1), **({} if scaled == "true" else {"score_scale": 1})}


CONTENT = (({"head_dim": 5, "width": 7}, 9), ({"heads": 4, "kv_heads": 2, "head_dim": 4}, 6), ({"heads": 2, "head_dim": 3, "causal": False}, 7))


@reference(*[(f"clip={clip}", *rest) for clip in (2, 16) for rest in CONTENT])
def shaw(s, p, parameters, clip="16"):
    N, K, D = len(p), int(clip), s.head_dim
    keys, values = parameters(2 * K + 1, D), parameters(2 * K + 1, D)
    r = np.clip(np.arange(N)[None, :] - np.arange(N)[:, None], -K, K) + K
    return {
        "content": lambda q, k, x, raw: np.einsum("ihd,ijd->hij", q, keys[r]) / math.sqrt(D),
        "value": lambda weights: np.einsum("hij,ijd->ihd", weights, values[r]),
    }


@reference(*[(options, *rest) for options in ("", "clamp_len=3") for rest in CONTENT])
def transformer_xl(s, p, parameters, clamp_len="0"):
    H, D, d, N = s.heads, s.head_dim, s.width, len(p)
    u, v, W = parameters(H, D), parameters(H, D), parameters(H * D, d).reshape(H, D, d)
    delta = np.arange(N)[:, None] - np.arange(N)[None, :]
    if int(clamp_len):
        delta = np.clip(delta, -int(clamp_len), int(clamp_len))
    half = (d + 1) // 2
    angles = delta[..., None] * 10000.0 ** (-2 * np.arange(half) / d)
    R = np.concatenate([np.sin(angles), np.cos(angles)[..., : d - half]], -1)

    def content(q, k, x, raw):
        return (np.einsum("hd,jhd->hj", u, k)[:, None, :] + np.einsum("ihd,hdc,ijc->hij", q + v, W, R)) / math.sqrt(D)

    return {"content": content}


@reference(*[(options, *rest) for options in ("", "positions=3", "positions=4:unscaled=true") for rest in CONTENT[:2]])
def cope(s, p, parameters, positions="64", unscaled="false"):
    npos, D, N = int(positions), s.head_dim, len(p)
    E = parameters(npos, D)

    def content(q, k, x, raw):
        gates = np.tril(1 / (1 + np.exp(-raw * (math.sqrt(D) if unscaled == "true" else 1))))
        place = np.minimum(np.cumsum(gates[..., ::-1], -1)[..., ::-1], npos - 1)
        low, high = np.floor(place).astype(int), np.ceil(place).astype(int)
        table = np.einsum("ihd,nd->hin", q, E)
        w = place - low
        return (1 - w) * np.take_along_axis(table, low, -1) + w * np.take_along_axis(table, high, -1)

    return {"content": content}


@reference(*[("", *rest) for rest in CONTENT[:2]])
def forget_gate(s, p, parameters):
    w, b = parameters(s.heads, s.width), parameters(s.heads)

    def content(q, k, x, raw):
        log_f = -np.log1p(np.exp(-(x @ w.T + b)))  # [N, H]
        N = len(x)
        out = np.zeros((s.heads, N, N))
        for i in range(N):
            for j in range(i):
                out[:, i, j] = log_f[j + 1 : i + 1].sum(0)
        return out

    return {"content": content}


@reference(("width=3", {}, 6), ("width=1", {}, 4), ("width=3", {"causal": False}, 6), ("", {}, 40), ("width=4", {}, [5, 9, 11, 40, 80, 90]))
def window(s, p, parameters, width="32"):
    i, w = np.arange(len(p)), int(width)
    delta = i[:, None] - i[None, :]
    return {"seen": (delta < w) & (delta >= 0) if s.causal else np.abs(delta) < w}


@reference(("", {"heads": 2}, 20), ("unclipped=true", {"heads": 2}, 20), ("", {"causal": False}, 20), ("", {"heads": 1, "trained_length": 2}, 5))
def log_n(s, p, parameters, unclipped="false"):
    N = len(p)
    n = np.arange(1, N + 1) if s.causal else np.full(N, N)
    factor = np.log(n) / math.log(s.trained_length)
    return {"scale": np.tile(factor if unclipped == "true" else np.maximum(1, factor), (s.heads, 1))}
