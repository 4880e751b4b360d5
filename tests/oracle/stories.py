"""Losses of a llama2.c checkpoint past its trained length under encodings put on afterwards, in double precision numpy.

    python tests/oracle/stories.py stories260K.bin stories260K.expected.json

prints, for each encoding, the mean loss (nats) of each window of 512 positions; tests/package/stretch.test.mjs holds them.
Everything is written from the papers: q·k of a pair is Re(q conj(k) e^{i·angle}), the angle that of the distance.
"""
import json
import struct
import sys

import numpy as np


def read(path):
    data = open(path, "rb").read()
    dim, hidden, layers, heads, kv_heads, vocabulary, length = struct.unpack("7i", data[:28])
    assert vocabulary > 0, "tied"
    floats, at = np.frombuffer(data[28:], np.float32).astype(np.float64), 0

    def take(*shape):
        nonlocal at
        size = int(np.prod(shape))
        at += size
        return floats[at - size:at].reshape(shape)

    kv = dim // heads * kv_heads
    w = {"e": take(vocabulary, dim), "n1": take(layers, dim), "q": take(layers, dim, dim), "k": take(layers, kv, dim), "v": take(layers, kv, dim),
         "o": take(layers, dim, dim), "n2": take(layers, dim), "w1": take(layers, hidden, dim), "w2": take(layers, dim, hidden),
         "w3": take(layers, hidden, dim), "n": take(dim)}
    return w, layers, heads, kv_heads, length


def norm(x, gain):
    return gain * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def losses(model, tokens, angle, allowed, factor=1.0):
    """angle(distance map [T, T], pair frequencies) is given as `angle[pair]` [T, T]; allowed [T, T]; factor on the scores."""
    w, layers, heads, kv_heads, _ = model
    x, n = w["e"][tokens], len(tokens)
    for layer in range(layers):
        y = norm(x, w["n1"][layer])
        split = lambda z, h: (lambda c: c[..., 0] + 1j * c[..., 1])(z.reshape(n, h, -1, 2))
        q, k = split(y @ w["q"][layer].T, heads), split(y @ w["k"][layer].T, kv_heads)
        v = (y @ w["v"][layer].T).reshape(n, kv_heads, -1)
        read_ = []
        for h in range(heads):
            g = h // (heads // kv_heads)
            s = sum(np.real(np.outer(q[:, h, p], k[:, g, p].conj()) * np.exp(1j * angle[p])) for p in range(q.shape[2]))
            s = np.where(allowed, s * factor / np.sqrt(2 * q.shape[2]), -np.inf)
            s = np.exp(s - s.max(-1, keepdims=True))
            read_.append(s / s.sum(-1, keepdims=True) @ v[:, g])
        x = x + np.concatenate(read_, -1) @ w["o"][layer].T
        y = norm(x, w["n2"][layer])
        up = y @ w["w1"][layer].T
        x = x + (up / (1 + np.exp(-up)) * (y @ w["w3"][layer].T)) @ w["w2"][layer].T
    logits = norm(x, w["n"]) @ w["e"].T
    logits -= logits.max(-1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    return -logits[np.arange(n - 1), tokens[1:]]


def yarn_frequencies(f, factor, length, base, size):
    border = lambda turns: size * np.log(length / (2 * np.pi * turns)) / (2 * np.log(base))
    low, high = max(np.floor(border(32)), 0), min(np.ceil(border(1)), size - 1)
    ramp = np.clip((np.arange(size // 2) - low) / max(high - low, 1e-3), 0, 1)
    return f * (1 - ramp + ramp / factor)


def main(path, expected):
    model = read(path)
    tokens = np.array(json.load(open(expected))["long_text"]["tokens"])
    length, n, size = model[4], len(tokens), model[0]["q"].shape[1] // model[2]
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    d, causal = (i - j).astype(float), j <= i
    f = 10000.0 ** (-np.arange(0, size, 2) / size)
    rope = lambda distances, frequencies=f: [distances * t for t in frequencies]
    s, window = 4, 128
    grouped = np.where(d < window, d, i // 8 + (window - window // 8) - j // 8)
    chunk, c = 3 * length // 4, length
    query = np.select([i // chunk == j // chunk, i // chunk == j // chunk + 1], [i % chunk, np.minimum(i % chunk + chunk, c - 1)], c - 1)
    cases = {
        "rope:pairing=interleaved": (rope(d), causal),
        "ntk:pairing=interleaved:factor=4": (rope(d, (10000.0 * s ** (size / (size - 2))) ** (-np.arange(0, size, 2) / size)), causal),
        "yarn:pairing=interleaved:factor=4": (rope(d, yarn_frequencies(f, s, length, 10000.0, size)), causal, (0.1 * np.log(s) + 1) ** 2),
        "grouped:group=8:window=128+rope:pairing=interleaved": (rope(grouped), causal),
        "rectified:window=256+rope:pairing=interleaved": (rope(np.minimum(d, 256)), causal),
        "chunked+rope:pairing=interleaved": (rope(query - j % chunk), causal),
        "rope:pairing=interleaved+window:width=256": (rope(d), causal & (d < 256)),
        "nope": (rope(0 * d), causal),
    }
    for name, case in cases.items():
        each = losses(model, tokens, *case)
        print(name, [round(float(each[a:a + 512].mean()), 4) for a in range(0, len(each), 512)])


main(*sys.argv[1:])
