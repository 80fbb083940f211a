"""Asks the program, and gives its answers to pandas: nothing of Sextant is computed in Python."""

import glob
import io
import json
import os
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
# Colours that people with any colour vision tell apart (Okabe and Ito, 2008).
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
plt.rcParams.update({"axes.prop_cycle": plt.cycler(color=COLOURS), "axes.titlelocation": "left", "figure.figsize": (8, 4.5),
                     "figure.dpi": 110, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True,
                     "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})


def program():
    """SEXTANT, or the newest build/*/cli/sextant."""
    if os.environ.get("SEXTANT"):
        return os.environ["SEXTANT"]
    built = sorted(glob.glob(str(ROOT / "build/*/cli/sextant")), key=os.path.getmtime)
    if not built:
        raise SystemExit("no program: build it first, or set SEXTANT")
    return built[-1]


def ask(question, allowed=(0,)):
    """What 'sextant QUESTION' prints; fails as loudly as the program."""
    arguments = question.split() if isinstance(question, str) else [str(a) for a in question]
    done = subprocess.run([program(), *arguments], capture_output=True, text=True, cwd=ROOT)
    if done.returncode not in allowed:
        raise RuntimeError(f"sextant {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def ask_json(question, **options):
    return json.loads(ask((question.split() if isinstance(question, str) else question) + ["--format", "json"], **options))


def ask_table(question, **options):
    return pd.read_csv(io.StringIO(ask((question.split() if isinstance(question, str) else question) + ["--format", "csv"], **options)))


def validated(kind, file):
    """The rows of a table of measurements with the prediction of each appended."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.csv"
        ask(["validate", kind, file, "--rows", out], allowed=(0, 1))
        return pd.read_csv(out)


def predicted_against_measured(ax, measured, predicted, unit, colour=None, label=None):
    ax.loglog(measured, predicted, ".", alpha=0.6, color=colour, label=label)
    low, high = min(measured.min(), predicted.min()), max(measured.max(), predicted.max())
    ax.plot([low, high], [low, high], "k-", lw=0.8)
    ax.set_xlabel(f"measured, {unit}")
    ax.set_ylabel(f"predicted, {unit}")
