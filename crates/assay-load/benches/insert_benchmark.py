"""A client of the Insert Benchmark in Python, to compare the cost of clients with.

insert_benchmark.py fill|query mysql|postgres SOCKET DATABASE AMOUNT USER [PASSWORD]

`fill` inserts AMOUNT rows in statements of 100; `query` sends queries of the three kinds of ranges for AMOUNT seconds.
It prints the seconds that this took, and the number of rows or queries.
"""

import datetime
import random
import string
import sys
import time

HEAD = "INSERT INTO pi1 (dateandtime,cashregisterid,customerid,productid,price,data) VALUES "
TEXT = "".join(random.choices(string.ascii_letters + string.digits, k=4_000_000))
KINDS = [
    ("marketsegment", "productid >=", "productid, customerid, price", 10_000),
    ("registersegment", "cashregisterid >", "cashregisterid, customerid, price", 1_000),
    ("pdc", "price >=", "price, dateandtime, customerid", 500),
]


def connect(product, socket, database, user, password):
    if product == "postgres":
        import os

        import psycopg2

        directory, name = os.path.split(socket)
        port = name.rsplit(".", 1)[-1]
        connection = psycopg2.connect(
            host=directory, port=port, user=user, dbname=database, password=password or None
        )
    else:
        import MySQLdb

        connection = MySQLdb.connect(
            unix_socket=socket, user=user, passwd=password, db=database, charset="latin1"
        )
    if product == "postgres":
        connection.autocommit = True
    else:
        connection.autocommit(True)
    return connection


def row(now):
    length = random.randrange(10, 21)
    tail = length * 3 // 8
    at = random.randrange(len(TEXT) - tail)
    data = "a" * (length - tail) + TEXT[at : at + tail]
    return "('%s',%d,%d,%d,%.2f,'%s')" % (
        now,
        random.randrange(1_000),
        random.randrange(100_000),
        random.randrange(10_000),
        random.randrange(500),
        data,
    )


def fill(cursor, rows):
    for _ in range(rows // 100):
        now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        cursor.execute(HEAD + ",".join([row(now) for _ in range(100)]))
    return rows


def query(cursor, seconds, product):
    end = time.monotonic() + seconds
    queries = 0
    while time.monotonic() < end:
        index, compared, columns, below = random.choice(KINDS)
        forced = "" if product == "postgres" else " FORCE INDEX (pi1_%s)" % index
        cursor.execute(
            "SELECT %s FROM pi1%s WHERE (%s %d) ORDER BY %s LIMIT 10"
            % (columns, forced, compared, random.randrange(below), columns)
        )
        cursor.fetchall()
        queries += 1
    return queries


def main():
    work, product, socket, database, amount, user = sys.argv[1:7]
    password = sys.argv[7] if len(sys.argv) > 7 else ""
    cursor = connect(product, socket, database, user, password).cursor()
    started = time.monotonic()
    if work == "fill":
        done = fill(cursor, int(amount))
    else:
        done = query(cursor, int(amount), product)
    print(time.monotonic() - started, done)


main()
