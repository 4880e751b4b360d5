"""Encodings whose score terms depend on content and position together; see references.py."""
import math

import numpy as np

from references import CONTENT, alibi_slopes, reference


def softplus(x):
    return np.logaddexp(0, x)


@reference(*[("", *rest) for rest in CONTENT])
def content_bias(s, p, parameters):
    w = parameters(s.heads, s.width)

    def content(q, k, x, raw):
        c = w @ x.T  # [H, N]
        return c[:, :, None] + c[:, None, :]

    return {"content": content}


@reference(*[("", *rest) for rest in CONTENT[:2]])
def cable(s, p, parameters):
    w, b = parameters(s.heads, s.width), parameters(s.heads)

    def content(q, k, x, raw):
        steps = softplus(x @ w.T + b)  # [N, H]
        term = np.zeros_like(raw)
        for i in range(len(x)):
            for j in range(i):
                term[:, i, j] = -steps[j + 1 : i + 1].sum(0)
        return term

    return {"content": content}


@reference(*[(options, *rest) for options in ("clip=3", "") for rest in CONTENT])
def deberta(s, p, parameters, clip="32"):
    N, H, D, K = len(p), s.heads, s.head_dim, int(clip)
    keys, queries = (parameters(2 * K, H * D).reshape(2 * K, H, D) for _ in range(2))
    delta = np.clip(np.arange(N)[:, None] - np.arange(N)[None, :] + K, 0, 2 * K - 1)
    scale = 1 / math.sqrt(3 * D)

    def content(q, k, x, raw):
        return scale * (np.einsum("ihd,ijhd->hij", q, keys[delta]) + np.einsum("jhd,ijhd->hij", k, queries[delta.T]))

    return {"content": content, "score_scale": scale}


@reference(*[(options, *rest) for options in ("", "base=50:start=uniform") for rest in CONTENT])
def pope(s, p, parameters, base="10000", start="zero"):
    N, H, D = len(p), s.heads, s.head_dim
    offset, speed = parameters(H, D), float(base) ** (-np.arange(D) / D)

    def content(q, k, x, raw):
        def polar(magnitude, angle):
            return magnitude * np.exp(1j * angle)

        turn = np.arange(N)[:, None, None] * speed
        queries, keys = polar(softplus(q), turn), polar(softplus(k), turn + offset)
        return np.einsum("ihd,jhd->hij", queries.conj(), keys).real / math.sqrt(D)

    return {"content": content, "score_scale": 0.0}


@reference(*[("", *rest) for rest in CONTENT[:2]])
def path(s, p, parameters):
    N, H, D, groups = len(p), s.heads, s.head_dim, s.kv_heads
    W = parameters(groups * D, s.width).reshape(groups, D, s.width)
    u, b = parameters(groups, s.width), parameters(groups)

    def content(q, k, x, raw):
        term = np.zeros((H, N, N))
        for h in range(H):
            g = h // (H // groups)
            steps = []
            for t in range(N):
                w = W[g] @ x[t]
                beta = 2 / (1 + math.exp(-(u[g] @ x[t] + b[g])))
                steps.append(np.eye(D) - beta * np.outer(w, w) / (w @ w + 1e-6))
            for i in range(N):
                for j in range(i + 1):
                    product = np.eye(D)
                    for t in range(j + 1, i + 1):
                        product = steps[t] @ product  # the newest is outermost
                    term[h, i, j] = q[i, h] @ product @ k[j, h] / math.sqrt(D)
        return term

    return {"content": content, "score_scale": 0.0}


@reference(*[(options, *rest) for options in ("", "hidden=5") for rest in CONTENT])
def data_dependent(s, p, parameters, hidden="32"):
    H, N = s.heads, len(p)
    W1, b1 = parameters(int(hidden), 2 * H), parameters(int(hidden))
    W2, b2 = parameters(H, int(hidden)), parameters(H)
    B = -np.array(alibi_slopes(H))[:, None, None] * np.abs(np.arange(N)[:, None] - np.arange(N)[None, :])

    def content(q, k, x, raw):
        units = np.einsum("uc,cij->uij", W1, np.concatenate([raw, B])) + b1[:, None, None]
        return B + np.einsum("hu,uij->hij", W2, np.where(units > 0, units, 0.01 * units)) + b2[:, None, None]

    return {"content": content}


@reference(*[(beside, *rest) for beside in ("", "+rope:base=30", "+rope:base=30:pairing=half:fraction=0.5") for rest in (
    ({}, 9), ({"heads": 4, "kv_heads": 2}, [0, 1, 5, 6, 100, 3]), ({"heads": 2, "head_dim": 6, "causal": False}, 7))])
def linear_attention(s, p, parameters):
    return {"linear": True}
