import subprocess

from host import require

SCRIPT = """
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, town INTEGER);
CREATE TABLE town(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE sale(id INTEGER PRIMARY KEY, person INTEGER REFERENCES person, amount REAL, note BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
    INSERT INTO town SELECT i, printf('town %04d', i * 7919 % 500) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO person SELECT i, printf('%x', i * 2654435761 % 4294967296), i % 500 + 1 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    INSERT INTO sale SELECT i, i * 31 % 20000 + 1, i % 997 / 4.0, zeroblob(i % 400) FROM n;
CREATE INDEX sale_person ON sale(person, amount);
CREATE INDEX person_town ON person(town, name);
SELECT t.name, count(*), sum(s.amount), max(length(s.note))
    FROM sale s JOIN person p ON p.id = s.person JOIN town t ON t.id = p.town
    GROUP BY t.id ORDER BY 3 DESC, 1 LIMIT 50;
SELECT count(*) FROM (SELECT name, row_number() OVER (PARTITION BY town ORDER BY name) r FROM person) WHERE r <= 3;
SELECT length(group_concat(name, ',')) FROM person;
UPDATE sale SET note = randomblob(length(note) * 2) WHERE id % 3 = 0;
DELETE FROM sale WHERE id % 5 = 0;
CREATE VIRTUAL TABLE words USING fts5(body);
INSERT INTO words SELECT name || ' ' || town FROM person;
SELECT count(*) FROM words WHERE words MATCH '17';
VACUUM;
SELECT sum(length(note)), count(*) FROM sale;
PRAGMA foreign_key_check;
PRAGMA integrity_check;
"""


def answers_of(program, host, env):
    database = host.folder / ("plain.db" if env is not host.env else "hz3.db")
    with subprocess.Popen([program, database], env=env, stdin=-1, stdout=-1, stderr=-1) as shell:
        if env is host.env:
            host.assert_on_hz3(shell.pid)
        out, errors = shell.communicate(SCRIPT.encode())
    assert shell.returncode == 0 and errors == b""
    return out.decode().splitlines()


def test_answers_are_those_of_the_plain_program(host):
    program = require("sqlite3", "sqlite3")
    answers = answers_of(program, host, host.env)
    assert answers == answers_of(program, host, host.plain_env())
    assert answers[-1] == "ok"
    assert answers[-2].endswith("|80000")
    assert answers[50] == "1500"
