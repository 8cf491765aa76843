"""Joins, groups and strings in DuckDB on two threads.  Argument: the number of rows."""
import sys

import duckdb

rows = int(sys.argv[1])
base = duckdb.connect()
base.execute("set threads = 2; select setseed(0.5)")
base.execute(f"""create table t as select i a, md5((i % {rows // 9})::varchar) b, list_value(i, i % 7, i % 11) l
                 from range({rows}) r(i)""")
for question in (
    "select count(*), max(n) from (select b, count(*) n, list(a) l from t group by b)",
    "select count(*) from t x join t y on x.b = y.b and x.a < y.a",
    "select max(length(s)) from (select string_agg(b, ',' order by a) s from t group by a % 500)",
    "select sum(v) from (select unnest(l) v from t)",
):
    assert base.execute(question).fetchone()[0] > 0
