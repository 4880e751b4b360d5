"""What compare_public.py and its families public_*.py share."""

from importlib import import_module
from pathlib import Path

import numpy as np
import torch

from make_goldens import attention, wave
from references import REFERENCES, Parameters, Shape

COMPARISONS = []
MODELS = Path(import_module("transformers").__file__).parent / "models"


def compare(encoding, package):
    """Registers a function that yields (our options, what of the package, ours, theirs[, what differs[, tolerance]]).

    A tolerance is a share of the largest of theirs, or of 1 if that is more.
    """

    def register(function):
        COMPARISONS.append((encoding, package, function))
        return function

    return register


def model(name):
    return import_module(f"transformers.models.{name}.modeling_{name}")


def config(name, kind, **settings):
    return getattr(import_module(f"transformers.models.{name}.configuration_{name}"), kind)(**settings)


def doors(name, options, positions, present=None, **shape):
    """What our reference puts into its doors, and the shape it did it for."""
    s = Shape(**shape)
    p = np.arange(positions, dtype=float) if isinstance(positions, int) else np.array(positions, float)
    s.present, s.tokens = present or len(p), []
    settings = dict(setting.split("=") for setting in options.split(":") if setting)
    return s, REFERENCES[name][0](s, p, Parameters(), **settings)


def tensor(x):
    return torch.tensor(np.asarray(x), dtype=torch.float32)


def rotated(x, d, side=""):
    """x [N, H, D] turned by the rotation door; what the angles do not cover stays."""
    gain = np.asarray(d.get(side + "gain", 1.0))
    gain = gain[:, None] if gain.ndim else gain
    cosine, sine = (gain * f(d["angles"])[:, None] for f in (np.cos, np.sin))
    pairs, out = cosine.shape[-1], x.copy()
    first, second = (
        (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)) if d["pairing"] == "interleaved" else (slice(pairs), slice(pairs, 2 * pairs))
    )
    out[..., first] = x[..., first] * cosine - x[..., second] * sine
    out[..., second] = x[..., second] * cosine + x[..., first] * sine
    return out


def states(s, N):
    """The q, k, v [N, H, D] and x [N, d] that goldens use."""
    wide = [np.repeat(wave((N, s.kv_heads, s.head_dim), *a), s.heads // s.kv_heads, 1) for a in ((0.23, 0.2), (0.51, 0.3))]
    return wave((N, s.heads, s.head_dim), 0.37, 0.1), *wide, wave((N, s.width), 0.61, 0.4)


def lower(x):
    """The part that a causal mask leaves."""
    return np.tril(np.asarray(x))


def relative(ours, theirs):
    """As shares of ours, so that slow pairs count as much as fast ones."""
    theirs = np.asarray(theirs, float)
    return (ours != 0).astype(float), np.where(ours != 0, theirs / np.where(ours != 0, ours, 1), theirs)


def terms(name, options, N, **shape):
    """Shape, term [H, N, N] and output [N, H, D] of an encoding of the content door."""
    s, d = doors(name, options, N, **shape)
    return s, *attention(s, d, N)
