"""Writes statistics.json: reference values computed with SciPy and NumPy, by other code than ours.

    python3 -m venv reference && reference/bin/pip install scipy==1.17.1 numpy==2.4.6
    reference/bin/python tests/core/testdata/make_statistics.py > tests/core/testdata/statistics.json
"""
import itertools
import json
import sys

import numpy
import scipy
from scipy import integrate, stats

random = numpy.random.default_rng(20261121)


def sample(n):
    scale = 10.0 ** random.integers(-4, 5)
    return (random.normal(random.normal(0, 3), random.uniform(0.05, 2), n) * scale).tolist()


def sign_flip(x):
    """Every sign assignment, counted one by one."""
    x = numpy.array(x)
    signs = numpy.array(list(itertools.product([-1, 1], repeat=len(x))))
    observed = abs(x.sum())
    return float(numpy.mean(numpy.abs(signs @ x) >= observed - 1e-11 * numpy.abs(x).sum()))


def one_sample(n):
    x = sample(n)
    level = float(random.choice([0.8, 0.9, 0.95, 0.99]))
    interval = stats.t.interval(level, n - 1, loc=numpy.mean(x), scale=stats.sem(x))
    out = {"x": x, "level": level, "mean": float(numpy.mean(x)), "std": float(numpy.std(x, ddof=1)), "half": float(interval[1] - interval[0]) / 2,
           "t_p": float(stats.ttest_1samp(x, 0).pvalue), "iqm": float(stats.trim_mean(x, 0.25))}
    if n <= 12:
        out["sign_flip_p"] = sign_flip(x)
    return out


def two_samples(nx, ny):
    x, y = sample(nx), sample(ny)
    if random.random() < 0.5:
        y = (numpy.array(x[:1] * ny) + numpy.array(sample(ny)) * 1e-2).tolist()
    level = float(random.choice([0.9, 0.95]))
    found = stats.ttest_ind(x, y, equal_var=False)
    interval = found.confidence_interval(level)
    return {"x": x, "y": y, "level": level, "degrees": float(found.df), "p": float(found.pvalue), "low": float(interval.low), "high": float(interval.high),
            "difference": float(numpy.mean(x) - numpy.mean(y))}


def power(effect, std, n, alpha):
    """E[Phi(shift - c S) + Phi(-shift - c S)] over S = sqrt(chi2 / df), integrated: scipy's nct is NaN in its lower tail."""
    df, shift = n - 1, effect / std * numpy.sqrt(n)
    critical = stats.t.ppf(1 - alpha / 2, df)
    spread = 14 / numpy.sqrt(2 * df)

    def density(s):
        return (stats.norm.cdf(shift - critical * s) + stats.norm.cdf(-shift - critical * s)) * stats.chi.pdf(s, df, scale=1 / numpy.sqrt(df))

    edges = numpy.linspace(max(0.0, 1 - spread), 1 + spread, 9)
    return float(sum(integrate.quad(density, a, b, epsabs=1e-13, epsrel=1e-12)[0] for a, b in zip(edges, edges[1:])))


def power_case():
    n, alpha = int(random.integers(2, 60)), float(random.choice([0.01, 0.05, 0.1]))
    effect, std = float(random.uniform(0.1, 3)), float(random.uniform(0.3, 4))
    out = {"effect": effect, "std": std, "pairs": n, "alpha": alpha, "power": power(effect, std, n, alpha)}
    z = stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(0.8)
    needed = max(2, int((z * std / effect) ** 2) - 3)  # power only grows with n; the normal approximation lies below
    if needed == 2 or power(effect, std, needed, alpha) < 0.8:
        while power(effect, std, needed, alpha) < 0.8:
            needed += 1
        out["needed"] = needed
    return out


def holm(p):
    order = numpy.argsort(p, kind="stable")
    out, largest = numpy.empty(len(p)), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, p[i] * (len(p) - rank))
        out[i] = min(1.0, largest)
    return out.tolist()


def holm_case():
    p = random.uniform(0, 0.2, int(random.integers(1, 15))).tolist()
    return {"p": p, "holm": holm(p)}


def rank_case():
    x = random.integers(0, 6, int(random.integers(2, 12))).astype(float).tolist()
    return {"x": x, "up": stats.rankdata([-v for v in x]).tolist(), "down": stats.rankdata(x).tolist()}


# The counter-based draws written a second time: SplitMix64's finalizer over the counter.
MASK = (1 << 64) - 1


def draw(replicate, stratum, index, bound):
    x = (((replicate << 40) ^ (stratum << 20) ^ index) + 1) * 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return ((x ^ x >> 31) >> 32) * bound >> 32


def bootstrap_case():
    level = float(random.choice([0.9, 0.95]))
    strata = [sample(int(random.integers(1, 9))) for _ in range(int(random.integers(2, 5)))]
    strata[0] = sample(5)
    means = [stats.trim_mean([s[draw(b, k, i, len(s))] for k, s in enumerate(strata) for i in range(len(s))], 0.25) for b in range(1000)]
    low, high = numpy.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    return {"strata": strata, "level": level, "low": float(low), "high": float(high)}


json.dump({
    "versions": {"scipy": scipy.__version__, "numpy": numpy.__version__, "python": sys.version.split()[0]},
    "one_sample": [one_sample(int(n)) for n in random.integers(2, 25, 120)],
    "two_samples": [two_samples(int(a), int(b)) for a, b in random.integers(2, 15, (80, 2))],
    "power": [power_case() for _ in range(80)],
    "holm": [holm_case() for _ in range(40)],
    "ranks": [rank_case() for _ in range(40)],
    "bootstrap": [bootstrap_case() for _ in range(12)],
}, sys.stdout, allow_nan=False, indent=None, separators=(",", ":"))
print()
