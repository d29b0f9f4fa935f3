#!/usr/bin/python3
"""The truth about two servers, statement by statement, without assay.

Reads a slow log of MySQL 8, keeps a sample of the statements of each fingerprint, and sends every sampled statement
many times to both servers in alternation. Writes a line of JSON for each fingerprint: times, ratio with its interval,
plans, answers, warnings and errors. The ratio is that of the CPU times of the serving threads, which a busy machine
disturbs less than the times of the client. Needs Linux, Python 3.11 and python3-mysqldb.

    truth.py slow.log --old OLD.sock --new NEW.sock --workload shop.toml forum.toml --output truth.jsonl
"""

import argparse
import hashlib
import itertools
import json
import random
import re
import time
import tomllib
from pathlib import Path

from MySQLdb import _mysql

SEED = 1
SAMPLE = 40  # statements of a fingerprint
REPEATS = (5, 30)  # of each statement, at least and at most
IN_A_ROW = 2  # times that a server carries a statement out before it is the other's turn
PLANS = 12  # statements of a fingerprint whose plans are compared
RESAMPLES = 1000

LITERAL = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|:\w+|(?<![\w$.])-?\d+(?:\.\d+)?\b""")
LIST = re.compile(r"\(\s*\?(?:\s*,\s*\?)+\s*\)")
# What a plan is: its cost and the numbers of rows follow from statistics, which differ between equal servers.
NO_PLAN = {"cost_info", "filtered", "used_columns", "possible_keys", "message", "query_block_id"}
CONDITIONS = {"attached_condition", "index_condition", "ref", "using_MRR"}


def fingerprint(statement):
    """The statement without its literals."""
    return LIST.sub("(?)", LITERAL.sub("?", " ".join(statement.split()))).rstrip(" ;")


def names(files):
    """The name of each fingerprint of the workload files: file, test and number of the statement."""
    found = {}
    for file in files:
        for test, content in tomllib.loads(Path(file).read_text()).get("test", {}).items():
            for number, step in enumerate(content.get("steps", []), 1):
                sql = step if isinstance(step, str) else step.get("sql")
                if sql:
                    found.setdefault(fingerprint(sql), f"{Path(file).stem}/{test}#{number}")
    return found


def statements(log):
    """The statements of a slow log, with their times in seconds."""
    seconds, lines = None, []
    with open(log, encoding="utf-8", errors="replace") as text:
        for line in itertools.chain(text, ["# Time: end"]):
            if not line.startswith("# "):
                if not line.startswith(("SET timestamp=", "use ")):
                    lines.append(line)
                continue
            if lines and seconds is not None:
                yield "".join(lines).strip().rstrip(";"), seconds
            lines = []
            if line.startswith("# Query_time:"):
                seconds = float(line.split()[2])
            elif line.startswith("# Time:"):
                seconds = None


def read_log(log):
    """Calls, time and a sample of the statements of each fingerprint."""
    draw, found = random.Random(SEED), {}
    for text, seconds in statements(log):
        key = fingerprint(text)
        entry = found.setdefault(key, {"calls": 0, "seconds": 0.0, "sample": []})
        entry["calls"] += 1
        entry["seconds"] += seconds
        if len(entry["sample"]) < SAMPLE:
            entry["sample"].append(text)
        elif (place := draw.randrange(entry["calls"])) < SAMPLE:
            entry["sample"][place] = text
    return found


def cpu_time(task):
    """Seconds of CPU time of a thread."""
    return int((task / "schedstat").read_text().split()[0]) / 1e9


class Server:
    """A connection, and what it says to a statement."""

    def __init__(self, socket, database):
        self.link = _mysql.connect(unix_socket=socket, user="root", db=database)
        for sql in ("SET NAMES utf8mb4", "SET time_zone = '+00:00'"):
            self.link.query(sql)
        self.task = self.find_task()

    def rows(self, statement):
        self.link.query(statement)
        return self.link.store_result().fetch_row(0)

    def find_task(self):
        """The directory of the thread that serves this connection: the one that works and sleeps as it does."""
        pid = Path(self.rows("SELECT @@pid_file")[0][0].decode()).read_text().strip()
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        worked, slept = {it: [] for it in tasks}, {it: [] for it in tasks}
        for statement, noted in (("BENCHMARK(5000000, 1 + 1)", worked), ("SLEEP(0.1)", slept)) * 4:
            before = {it: cpu_time(it) for it in tasks}
            self.rows("SELECT " + statement)
            for it in tasks:
                noted[it].append(cpu_time(it) - before[it])
        return max(tasks, key=lambda it: min(worked[it]) - max(slept[it]))

    def time(self, statement):
        """Seconds of CPU time of the serving thread, and until the result is here; None if there is an error."""
        before, begin = cpu_time(self.task), time.perf_counter()
        try:
            self.link.query(statement)
            self.link.store_result()
        except _mysql.MySQLError:
            return None
        waited = time.perf_counter() - begin
        # The kernel accounts for the thread when it sleeps.
        while ") S " not in (self.task / "stat").read_text():
            pass
        return cpu_time(self.task) - before, waited

    def answer(self, statement):
        """The answer: rows, columns, codes of warnings; or the error."""
        try:
            self.link.query(statement)
            result = self.link.store_result()
        except _mysql.MySQLError as error:
            return {"error": error.args[0], "message": str(error.args[1])}
        rows = result.fetch_row(0)
        columns = [[it[0], it[1]] for it in result.describe()]
        self.link.query("SHOW WARNINGS")
        warnings = sorted({int(it[1]) for it in self.link.store_result().fetch_row(0)})
        digest = hashlib.sha256(repr(rows).encode()).hexdigest()
        return {"rows": len(rows), "digest": digest, "columns": columns, "warnings": warnings}

    def plan(self, statement):
        """The plan as a tree without costs, or None."""
        try:
            self.link.query("EXPLAIN FORMAT=JSON " + statement)
            text = self.link.store_result().fetch_row(0)[0][0]
        except _mysql.MySQLError:
            return None
        return json.loads(text)


def shape(plan, without=frozenset()):
    """The plan with the keys that say how it works."""
    if isinstance(plan, dict):
        kept = {key: shape(it, without) for key, it in plan.items() if key not in NO_PLAN | without}
        return {key: it for key, it in kept.items() if not key.startswith("rows_")}
    if isinstance(plan, list):
        return [shape(it, without) for it in plan]
    # With ANSI_QUOTES, names have other quotes.
    return plan.replace("`", '"') if isinstance(plan, str) else plan


def compare_plans(old, new, sample):
    """In how many statements the plans differ in access, order or operations, and in how many in conditions alone."""
    differ, conditions = [], 0
    for statement in sample[:PLANS]:
        one, other = old.plan(statement), new.plan(statement)
        if one is None or other is None:
            continue
        if shape(one, CONDITIONS) != shape(other, CONDITIONS):
            differ.append(statement)
        elif shape(one) != shape(other):
            conditions += 1
    return differ, conditions


def measure(old, new, sample, seconds):
    """The least times of each statement on both servers, which take turns: CPU times, and times of the client.

    A busy machine only adds to the time of a statement: its caches are cold, or it waits for a CPU.
    """
    times = [([], []) for _ in sample]
    begin = time.perf_counter()
    for turn in range(REPEATS[1]):
        took = time.perf_counter() - begin
        if took > 4 * seconds or (turn >= REPEATS[0] and took > seconds):
            break
        for number, statement in enumerate(sample):
            order = ((old, 0), (new, 1)) if (turn + number) % 2 == 0 else ((new, 1), (old, 0))
            for server, side in order:
                times[number][side].extend(filter(None, (server.time(statement) for _ in range(IN_A_ROW))))
            if turn == 0 and time.perf_counter() - begin > 2 * seconds:
                break
    both = [it for it in times if it[0] and it[1]]
    return [[tuple(min(took[kind] for took in side) for side in it) for it in both] for kind in (0, 1)]


def ratio(pairs):
    """The time of the new server divided by that of the old one, with the 95% interval of a bootstrap."""
    draw = random.Random(SEED)
    total = lambda chosen: sum(it[1] for it in chosen) / sum(it[0] for it in chosen)
    drawn = sorted(total(draw.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return total(pairs), drawn[RESAMPLES // 40], drawn[-RESAMPLES // 40]


def compare_answers(old, new, sample):
    """What differs between the answers, with the number of statements in which it does."""
    kinds = {"answers": 0, "columns": 0, "warnings": 0, "unstable": 0}
    errors = {"old": {}, "new": {}}
    for statement in sample:
        one, other = old.answer(statement), new.answer(statement)
        for side, it in (("old", one), ("new", other)):
            if "error" in it:
                errors[side][it["error"]] = errors[side].get(it["error"], 0) + 1
        if "error" in one or "error" in other:
            continue
        kinds["unstable"] += one["digest"] != old.answer(statement)["digest"]
        kinds["answers"] += one["digest"] != other["digest"]
        kinds["columns"] += one["columns"] != other["columns"]
        kinds["warnings"] += one["warnings"] != other["warnings"]
    return kinds | {"errors": errors}


def judge(old, new, entry, seconds):
    """All that is true of a fingerprint."""
    sample = entry["sample"]
    found = compare_answers(old, new, sample)
    plans, conditions = compare_plans(old, new, sample)
    found |= {"sampled": len(sample), "plans": len(plans), "conditions": conditions, "plan_example": plans[:1]}
    for kind, pairs in zip(("cpu", "client"), measure(old, new, sample, seconds)):
        if pairs:
            middle, low, high = (round(it, 4) for it in ratio(pairs))
            means = [round(1e6 * sum(it[side] for it in pairs) / len(pairs), 1) for side in (0, 1)]
            found[kind] = {"old_us": means[0], "new_us": means[1], "ratio": middle, "low": low, "high": high}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log")
    parser.add_argument("--old", required=True, help="socket of the old server")
    parser.add_argument("--new", required=True, help="socket of the new server")
    parser.add_argument("--database", default="sbtest")
    parser.add_argument("--workload", nargs="*", default=[], help="workload files, for the names of statements")
    parser.add_argument("--only", nargs="*", help="names of the statements to measure [default: all]")
    parser.add_argument("--seconds", type=float, default=6, help="for each fingerprint, if statements are slow")
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    known = names(options.workload)
    old, new = (Server(it, options.database) for it in (options.old, options.new))
    entries = read_log(options.log)
    ranked = sorted(entries.items(), key=lambda it: -it[1]["seconds"])
    with open(options.output, "w", encoding="utf-8") as output:
        for key, entry in ranked:
            name = known.get(key, key)
            if options.only and name not in options.only:
                continue
            head = {"name": name, "fingerprint": key, "calls": entry["calls"], "seconds": round(entry["seconds"], 3)}
            reads = re.match(r"\(*\s*(SELECT|WITH)\b", key, re.I) and not key.endswith("FOR UPDATE")
            found = judge(old, new, entry, options.seconds) if reads else {"write": True}
            print(json.dumps(head | found), file=output, flush=True)


if __name__ == "__main__":
    main()
