# %% [markdown]
# Reads a study with pandas: `assay report latest --format csv -o study.csv`.
# `pip install pandas matplotlib`; `jupytext --to ipynb data-frames.py` makes a Jupyter notebook.

# %% A row is one system in one cell
import pandas as pd

cells = pd.read_csv("study.csv")
base = cells.system[cells.is_base].iloc[0]
print(f"{cells.study[0]}: {', '.join(cells.system.unique())}; the base is {base}", end="\n\n")

# %% Test, clients, tables and rows identify a cell. These columns tell the cells of this study apart
cell = ["test", *(it for it in ["clients", "tables", "rows"] if cells[it].nunique() > 1)]
keys = [*cell, "system"]


def show(rows):
    print(rows.to_string(index=False), end="\n\n")


# %% Which tests are slower? Changes of QPS in percent, with their 95% intervals
others = cells[~cells.is_base]
change = others[keys].assign(
    percent=100 * (others.rqps - 1),
    low=100 * (others.rqps_low - 1),
    high=100 * (others.rqps_high - 1),
    verdict=others.verdict,
)
show(change.round(1))

# %% The same as a picture
import matplotlib.pyplot as plt

plt.figure(figsize=(8, 1 + 0.4 * len(change)), layout="constrained")
plt.axvline(0, color="0.8")
plt.errorbar(
    change.percent,
    change[keys].astype(str).agg(", ".join, axis=1),
    xerr=[change.percent - change.low, change.high - change.percent],
    fmt="o",
    capsize=3,
)
plt.gca().invert_yaxis()
plt.xlabel(f"QPS against {base}, %")
plt.savefig("change.svg")

# %% Response times of events in microseconds. Percentiles have no interval: compare with those of the twin
latency = cells[keys].copy()
for name in ["avg", "p50", "p95", "p99", "max"]:
    latency[name] = cells[f"latency_{name}_us"].round(1)
of_base = latency[latency.system == base]
p95_of_base = latency[cell].merge(of_base, on=cell, how="left").p95
latency["p95_ratio"] = (latency.p95 / p95_of_base.values).round(2)
show(latency)

# %% CPU time of the server per operation in microseconds; *slower* means more
cpu = cells[keys].assign(
    cpu_us=cells.server_cpu_us.round(1),
    ratio=cells.cpu_ratio.round(2),
    low=cells.cpu_ratio_low.round(2),
    high=cells.cpu_ratio_high.round(2),
    verdict=cells.cpu_verdict,
)
show(cpu)

# %% Changes of the time per operation, and of the parts that add up to it, in microseconds
terms = others.filter(regex="^change_.*_us$").dropna(axis="columns", how="all")
terms.columns = terms.columns.str.removeprefix("change_").str.removesuffix("_us")
show(others[keys].join(terms.round(1)))

# %% How do the slices spread? `assay pack latest study.assay` and `unzip study.assay ledger.db` give a ledger of one
# study. The systems take turns within a round, so the ratio of two slices of a round spreads less than their rates.
import sqlite3

slices = pd.read_sql_query(
    """
    SELECT test, clients, tables, rows, name AS system, block, round, events / (elapsed_ns / 1e9) AS rate
    FROM slice JOIN system ON system.study = slice.study AND system.number = slice.system
    WHERE slice.study = ? AND outcome IN ('good', 'troubled')
    """,
    sqlite3.connect("ledger.db"),
    params=[cells.study[0]],
)
rates = slices.pivot(index=[*cell, "block", "round"], columns="system", values="rate")
ratios = rates.div(rates[base], axis="index").drop(columns=base)
ratios = ratios.melt(value_name="ratio", ignore_index=False).dropna().reset_index()
spread = ratios.groupby(keys)["ratio"].describe()[["count", "min", "25%", "50%", "75%", "max"]]
show(spread.astype({"count": int}).round(3).reset_index())
