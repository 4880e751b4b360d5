"""The numbers in tests/native/optimiser_test.cpp: AdamW in double precision (Loshchilov & Hutter 2019, Algorithm 2)."""
import numpy as np

n, rate, minimum_ratio, warm_up, steps = 6, 0.02, 0.1, 3, 10
beta1, beta2, epsilon, weight_decay, clip = 0.9, 0.99, 1e-8, 0.1, 1.0
decays, factor = np.array([1, 1, 1, 0, 0, 0]), np.array([1, 1, 1, 0.5, 0.5, 0.5])
i = np.arange(n)
single = lambda x: x.astype(np.float32).astype(float)
p, m, v = single(np.sin(1.0 + i)), np.zeros(n), np.zeros(n)
show = lambda name, x: print(name, ", ".join(f"{value:.9g}" for value in np.atleast_1d(x)))

for t in range(12):
    g = single(np.cos((t + 1.0) * (i + 1)) * (0.1 if t % 2 else 2))
    norm = np.sqrt((g * g).sum())
    g *= min(1, clip / norm)
    done = min(1, (t - warm_up) / (steps - warm_up))
    cosine = minimum_ratio + (1 - minimum_ratio) * (1 + np.cos(np.pi * done)) / 2
    now = rate * ((t + 1) / warm_up if t < warm_up else cosine)
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    update = (m / (1 - beta1 ** (t + 1))) / (np.sqrt(v / (1 - beta2 ** (t + 1))) + epsilon)
    p = p - now * factor * (weight_decay * decays * p + update)
    show(f"step {t} rate, norm", [now, norm])
    if t in (0, 4, 11):
        show(f"step {t} parameters", p)
show("m", m)
show("v", v)
