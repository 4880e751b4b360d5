"""Writes tests/golden/<name>.json for each encoding in references*.py (or for those named): python tests/oracle/make_goldens.py [name …]

Every number is double precision, written with 10 digits. Inputs of attention are made by formulas that the C++ test
repeats: wave(n, step, phase)[i] = sin(step·i + phase), rounded to float.
"""
import importlib
import inspect
import json
import math
import sys
from pathlib import Path

import numpy as np

from references import REFERENCES, Parameters, Shape

for family in sorted(Path(__file__).parent.glob("references_*.py")):
    importlib.import_module(family.stem)  # registers its own

GOLDEN = Path(__file__).parent.parent / "golden"


def wave(shape, step, phase):
    return np.sin(step * np.arange(math.prod(shape)) + phase).astype(np.float32).astype(float).reshape(shape)


def attention(s, doors, N):
    """Term [H, N, N] and output [N, H, D] of an encoding that opens the content door."""
    H, D = s.heads, s.head_dim
    q, x = wave((N, H, D), 0.37, 0.1), wave((N, s.width), 0.61, 0.4)
    k, v = (np.repeat(wave((N, s.kv_heads, D), step, phase), H // s.kv_heads, 1) for step, phase in ((0.23, 0.2), (0.51, 0.3)))
    raw = np.einsum("ihd,jhd->hij", q, k) * doors.get("score_scale", 1 / math.sqrt(D))
    term = doors["content"](q, k, x, raw)
    scores = raw + term
    if s.causal:
        scores = np.where(np.tril(np.ones((N, N), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    output = np.einsum("hij,jhd->ihd", weights, v) + (doors["value"](weights) if "value" in doors else 0)
    return term, output


def linear_attention(s, doors, N):
    """Output [N, H, D] where weights are products of features that turn above the line and do not turn below it."""
    H, D = s.heads, s.head_dim
    v = np.repeat(wave((N, s.kv_heads, D), 0.51, 0.3), H // s.kv_heads, 1)
    plain, turned = [], []
    for x in (wave((N, H, D), 0.37, 0.1), np.repeat(wave((N, s.kv_heads, D), 0.23, 0.2), H // s.kv_heads, 1)):
        phi = np.where(x > 0, x, np.expm1(np.minimum(x, 0))) + 1
        turn = np.zeros((N, D, D)) + np.eye(D)  # a matrix for each token
        for pair, angle in enumerate(doors["angles"].T if "angles" in doors else ()):
            half = doors["pairing"] == "half"
            a, b = (pair, pair + doors["angles"].shape[1]) if half else (2 * pair, 2 * pair + 1)
            turn[:, a, a] = turn[:, b, b] = np.cos(angle)
            turn[:, b, a], turn[:, a, b] = np.sin(angle), -np.sin(angle)
        plain.append(phi)
        turned.append(np.einsum("nab,nhb->nha", turn, phi))
    above, below = (np.einsum("ihd,jhd->hij", *x) * (np.tril(np.ones((N, N))) if s.causal else 1) for x in (turned, plain))
    return np.einsum("hij,jhd->ihd", above / below.sum(-1, keepdims=True), v)


def rounded(x):
    """Nested lists of numbers of 10 digits; what JSON has no number for becomes a string."""
    if isinstance(x, (list, tuple, np.ndarray)):
        return [rounded(y) for y in x]
    if isinstance(x, (float, np.floating)):
        return float(f"{x:.10g}") if math.isfinite(x) else str(float(x))
    return x if isinstance(x, str) else int(x)


def seen_part(s, matrix):
    """[H, N, N] → the rows up to the diagonal if causal."""
    return [[row[: i + 1] if s.causal else row for i, row in enumerate(head)] for head in matrix]


def doors_of(term, s, p, parameters):
    name, *settings = term.split(":")
    function, _ = REFERENCES[name]
    settings = dict(setting.split("=") for setting in settings)
    assert settings.keys() <= inspect.signature(function).parameters.keys(), term
    return function(s, p, parameters, **settings)


def golden(name, case):
    options, keywords, where, present = *case, *[0] * (4 - len(case))
    s = Shape(**keywords)
    p = np.arange(where, dtype=float) if isinstance(where, int) else np.array(where, float)
    s.present = present or len(p)
    s.tokens = [44 + i * 5 % 14 for i in range(len(p))]
    spec, parameters, doors = name + ":" * (options[:1] not in ("", "+")) + options, Parameters(), {}
    for term in spec.split("+"):
        doors |= doors_of(term, s, p, parameters)
    out = {"spec": spec, "heads": s.heads, "kv_heads": s.kv_heads, "head_dim": s.head_dim,
           "width": s.width, "trained_length": s.trained_length, "causal": int(s.causal), "positions": p, "present": present}
    if "positions" in doors:
        out["ids"] = doors["positions"]
    for plain in ("input", "embedding_scale", "pairing", "scale", "score_scale", "coordinates", "mixed"):
        if plain in doors:
            out[plain] = doors[plain]
    if "angles" in doors:
        for side, gain in (("", "gain"), ("key_", "key_gain")):
            if not side or gain in doors:
                out[side + "cosine"], out[side + "sine"] = (doors.get(gain, 1) * f(doors["angles"]) for f in (np.cos, np.sin))
    if "bias" in doors:
        out["bias"] = seen_part(s, doors["bias"])
    if "coordinates" in doors:
        out["pairs"] = s.head_dim // 2
    if "distances" in doors:
        out["distances"] = [row[: i + 1] for i, row in enumerate(doors["distances"])]
    if "seen" in doors:
        out["seen"] = ["".join("01"[int(x)] for x in row) for row in doors["seen"]]
    if "content" in doors:
        term, out["output"] = attention(s, doors, len(p))
        out["content"] = seen_part(s, term)
    if "linear" in doors:
        out["output"] = linear_attention(s, doors, len(p))
    return {key: rounded(value) for key, value in out.items()}


def main():
    GOLDEN.mkdir(exist_ok=True)
    for name in sys.argv[1:] or REFERENCES:
        _, cases = REFERENCES[name]
        lines = [json.dumps(golden(name, case), separators=(",", ":")) for case in cases]
        (GOLDEN / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", newline="\n")


if __name__ == "__main__":
    main()
