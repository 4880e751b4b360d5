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
