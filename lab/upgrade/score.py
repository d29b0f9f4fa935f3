#!/usr/bin/python3
"""What a tool found of what is true about two servers.

Reads what truth.py wrote, and the findings of a tool: the report of pt-upgrade, or CSV with the columns `statement` (a
name as in the truth, or its text) and `kind`, where a kind is one of those below. Prints a line for each kind: how many
are true, found, and false.

    score.py truth.jsonl --workload shop.toml forum.toml --pt-upgrade report.txt
    score.py truth.jsonl --workload shop.toml forum.toml --findings findings.csv
"""

import argparse
import csv
import json
import re
from pathlib import Path

from truth import fingerprint, names

KINDS = ("slower", "plan", "answers", "warnings", "error")
SLOWER = 1.10
# Between these ratios, the truth is not sure enough to call a finding right or wrong.
DOUBTFUL = (1.05, 1.15)
SECTIONS = {
    "Query time diffs": "slower",
    "Row diffs": "answers",
    "Warning diffs": "warnings",
    "Query errors diffs": "error",
}


def true_kinds(row):
    """What is true of a statement, and what is doubtful."""
    if row.get("write"):
        return set(), set()
    true, doubtful, time = set(), set(), row.get("cpu")
    if time and time["low"] > 1 and time["ratio"] >= SLOWER:
        true.add("slower")
    if time and (DOUBTFUL[0] < time["ratio"] < DOUBTFUL[1] or time["low"] <= 1 < SLOWER <= time["ratio"]):
        doubtful.add("slower")
    true |= {kind for kind, key in (("plan", "plans"), ("answers", "answers"), ("warnings", "warnings")) if row[key]}
    if row["conditions"] and not row["plans"]:
        doubtful.add("plan")
    if row["unstable"]:
        doubtful.add("answers")
    if row["errors"]["old"] != row["errors"]["new"]:
        true.add("error")
    return true - doubtful, doubtful


def of_pt_upgrade(report, known):
    """The findings of a report of pt-upgrade, as names and kinds."""
    found, kind = set(), None
    for line in Path(report).read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("# Query class"):
            kind = None
        elif section := re.match(r"## (.+ diffs): \d+", line):
            kind = SECTIONS.get(section[1])
        elif kind and re.match(r"\(?(SELECT|WITH)\b", line):
            found.add((known.get(fingerprint(line), fingerprint(line)), kind))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("truth")
    parser.add_argument("--workload", nargs="*", default=[])
    parser.add_argument("--pt-upgrade")
    parser.add_argument("--findings")
    options = parser.parse_args()
    rows = {row["name"]: row for row in map(json.loads, Path(options.truth).read_text().splitlines())}
    known = names(options.workload)
    if options.pt_upgrade:
        found = of_pt_upgrade(options.pt_upgrade, known)
    else:
        with open(options.findings, newline="", encoding="utf-8") as file:
            of_text = lambda it: known.get(fingerprint(it), it)
            found = {(of_text(row["statement"]), row["kind"]) for row in csv.DictReader(file)}
    for kind in KINDS:
        true = {name for name, row in rows.items() if kind in true_kinds(row)[0]}
        doubtful = {name for name, row in rows.items() if kind in true_kinds(row)[1]}
        named = {name for name, it in found if it == kind}
        false = named - true - doubtful
        print(f"{kind}: {len(true & named)} of {len(true)} found, {len(false)} false, {len(doubtful & named)} doubtful")
        print("  missed:", ", ".join(sorted(true - named)) or "none")
        print("  false:", ", ".join(sorted(false)) or "none")


if __name__ == "__main__":
    main()
