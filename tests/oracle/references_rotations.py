"""Rotary encodings beside rope and dynamic_ntk, written from their papers pair by pair."""
import math
from fractions import Fraction

import numpy as np

from references import FAR, reference


def turning(s, fraction):
    """The width R that turns: an even number of the head's dimensions."""
    return math.floor(Fraction(fraction) * s.head_dim) // 2 * 2


def series(base, R):
    return [float(base) ** (-2 * k / R) for k in range(R // 2)]


def rotation(p, frequencies, pairing, gain=None, key_gain=None):
    doors = {"angles": p[:, None] * np.array(frequencies), "pairing": pairing}
    if gain is not None:
        doors["gain"] = gain
    if key_gain is not None:
        doors["key_gain"] = key_gain
    return doors


@reference(
    ("", {"head_dim": 8}, 5),
    ("factor=8:base=500000:pairing=half", {"head_dim": 128, "heads": 1}, FAR),
    ("factor=2.5:fraction=0.5", {"head_dim": 12}, [0, 0.5, -3, 10000000.25]),
    ("", {"head_dim": 2}, 4),
)
def ntk(s, p, parameters, factor="4", base="10000", pairing="interleaved", fraction="1"):
    R = turning(s, fraction)
    # By what the slowest of R/2 > 1 pairs is meant to do: exactly `factor` times slower.
    frequencies = [f * float(factor) ** (-k / (R // 2 - 1)) if k else f for k, f in enumerate(series(base, R))]
    return rotation(p, frequencies, pairing)


@reference(
    ("", {"head_dim": 8}, 5),
    ("", {"head_dim": 2}, 4),
    ("factor=32:base=150000:original=4096:pairing=half", {"head_dim": 64, "heads": 1}, FAR),
    ("factor=32:base=150000:original=4096:truncate=false", {"head_dim": 64, "heads": 1}, [1, 4096, 10000000.25]),
    ("original=131072", {"head_dim": 64, "heads": 1}, [0, 1, 1000]),
    ("original=4096:beta_fast=1:truncate=false", {"head_dim": 64, "heads": 1}, [0, 1, 1000]),
    ("original=2048:fraction=0.5:factor=16:mscale=0.707:mscale_all_dim=1", {"head_dim": 32, "heads": 1}, [0, 1, 1000]),
    ("original=2048:factor=40:mscale=0.707:mscale_all_dim=0.707:score_correction=true", {"head_dim": 32, "heads": 1}, [0, 1, 1000]),
    ("original=2048:attention_factor=1.25", {"head_dim": 32, "heads": 1}, [0, 1, 1000]),
    ("original=2:factor=8", {"head_dim": 8, "heads": 1}, [0, 1, 1000]),  # not even one turn: every pair but the first is slowed
    ("original=16777216:base=10", {"head_dim": 8, "heads": 1}, [0, 1, 1000]),  # every pair turns often: all stay
)
def yarn(s, p, parameters, factor="4", original="0", base="10000", pairing="interleaved", fraction="1", beta_fast="32", beta_slow="1",
         truncate="true", mscale="1", mscale_all_dim="0", attention_factor="0", score_correction="false"):
    R, scale, L = turning(s, fraction), float(factor), int(original) or s.trained_length

    def border(turns):  # the (real) dimension pair whose wavelength fits `turns` times into L
        return R / 2 * math.log(L / (2 * math.pi * float(turns)), float(base))

    low, high = border(beta_fast), border(beta_slow)
    if truncate == "true":
        low, high = math.floor(low), math.ceil(high)
    low, high = (min(max(edge, 0), R - 1) for edge in (low, high))
    if low == high:
        high += 0.001
    frequencies = []
    for k, f in enumerate(series(base, R)):
        ramp = min(max((k - low) / (high - low), 0), 1)
        frequencies.append(f / scale * ramp + f * (1 - ramp))

    def m(strength):
        return 0.1 * float(strength) * math.log(scale) + 1

    gain = float(attention_factor) or m(mscale) / m(mscale_all_dim)
    doors = rotation(p, frequencies, pairing, gain)
    return {**doors, "score_scale": m(mscale_all_dim) ** 2 / math.sqrt(s.head_dim)} if score_correction == "true" else doors


@reference(
    ("", {"head_dim": 8}, 8),
    ("", {"head_dim": 8}, 9),
    ("", {"head_dim": 8}, 9, 8),
    ("short_factor=1;1.02:long_factor=1.5;8:original=4096:factor=32", {"head_dim": 4}, [0, 100, 4095, 4096], 4096),
    ("short_factor=1;1.02:long_factor=1.5;8:original=4096:factor=32", {"head_dim": 4}, [0, 100, 4096, 10000000.25], 4097),
    ("long_factor=1.25;3;7.5:fraction=0.75:attention_factor=1.5:pairing=half:base=500000", {"head_dim": 8}, 12),
    ("factor=1", {"head_dim": 4}, 20),
)
def longrope(s, p, parameters, factor="4", original="0", base="10000", pairing="interleaved", fraction="1", short_factor="", long_factor="",
             attention_factor="0"):
    R, scale, L = turning(s, fraction), float(factor), int(original) or s.trained_length
    text, otherwise = (long_factor, scale) if s.present > L else (short_factor, 1)
    divisors = [float(x) for x in text.split(";")] if text else [otherwise] * (R // 2)
    gain = float(attention_factor) or math.sqrt(1 + math.log(scale) / math.log(L))
    return rotation(p, [1 / (x * float(base) ** (2 * k / R)) for k, x in enumerate(divisors)], pairing, gain)


@reference(
    ("", {"head_dim": 8}, 5),
    ("original=8192:base=500000:pairing=half", {"head_dim": 128, "heads": 1}, FAR),
    ("original=8192:base=500000:factor=32", {"head_dim": 64, "heads": 1}, [0, 1, 10000000.25]),
    ("original=100:low=2:high=5:fraction=0.5:base=100", {"head_dim": 32}, [0, 1, 1000]),
)
def llama3(s, p, parameters, factor="8", original="0", base="10000", pairing="interleaved", fraction="1", low="1", high="4"):
    L, low, high = int(original) or s.trained_length, float(low), float(high)
    frequencies = []
    for f in series(base, turning(s, fraction)):
        wavelength = 2 * math.pi / f
        blend = (L / wavelength - low) / (high - low)
        slowed = f / float(factor)
        frequencies.append(slowed if wavelength > L / low else f if wavelength < L / high else (1 - blend) * slowed + blend * f)
    return rotation(p, frequencies, pairing)


@reference(
    ("", {"head_dim": 8}, 5),
    ("", {"head_dim": 64, "heads": 1}, [0, 9, 1000, 24000]),
    ("scale_base=64:center=5000", {"head_dim": 64, "heads": 1}, [2000, 4999.5, 5000, 8000]),
    ("center=10000000:fraction=0.5:pairing=half:base=500", {"head_dim": 16}, [9999000, 10000000.25, 10000100]),
    ("", {"head_dim": 2}, 4),
)
def xpos(s, p, parameters, scale_base="512", center="0", base="10000", pairing="interleaved", fraction="1"):
    R = turning(s, fraction)
    zeta = np.array([(2 * k + 0.4 * R) / (1.4 * R) for k in range(R // 2)])
    power = (p[:, None] - float(center)) / float(scale_base)
    return rotation(p, series(base, R), pairing, zeta**power, zeta**-power)
