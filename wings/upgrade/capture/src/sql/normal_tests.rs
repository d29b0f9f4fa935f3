//! Normal forms of statements of both dialects.

use assay_model::Dialect;

use super::normal::Normalizer;
use super::token::tokenize;
use crate::render::rendered;

/// The normal form with `?` for a value, `?*` for a list and `{ }` around rows.
fn normal(text: &str, dialect: Dialect) -> String {
    let (mut tokens, mut normalizer) = (Vec::new(), Normalizer::default());
    tokenize(text.as_bytes(), dialect, &mut tokens);
    normalizer.normalize(text.as_bytes(), &tokens, dialect);
    let markers = [("\u{1}", "?"), ("\u{2}", "?*"), ("\u{3}", "{"), ("\u{4}", "}")];
    let shown = String::from_utf8(normalizer.text().to_vec()).unwrap();
    let sql = rendered(normalizer.text(), normalizer.rows(), |_, _| "?".to_owned());
    if !text.contains('?') {
        assert_eq!(normalizer.params().count(), sql.matches('?').count(), "{text}");
    }
    markers.iter().fold(shown, |text, (from, to)| text.replace(from, to))
}

#[track_caller]
fn check(dialect: Dialect, pairs: &[(&str, &str)]) {
    for (text, expected) in pairs {
        assert_eq!(normal(text, dialect), *expected, "{text}");
    }
}

#[test]
fn literals_become_parameters() {
    check(
        Dialect::MySql,
        &[
            (
                "select  a,b from t\nwhere x=5 and y = 'z' -- c\n",
                "SELECT a, b FROM t WHERE x = ? AND y = ?",
            ),
            (
                "SELECT * FROM t WHERE x = -5 AND y-5 > +1.5e3",
                "SELECT * FROM t WHERE x = ? AND y - ? > ?",
            ),
            (
                "SELECT `a`.* FROM `t` WHERE id IN (1,-2,'x',NULL)",
                "SELECT `a`.* FROM `t` WHERE id IN (?*)",
            ),
            ("SELECT 1 FROM t WHERE id in(1)", "SELECT ? FROM t WHERE id IN (?*)"),
            (
                "SELECT a FROM t WHERE id IN (SELECT b FROM u WHERE c = 1)",
                "SELECT a FROM t WHERE id IN (SELECT b FROM u WHERE c = ?)",
            ),
            ("INSERT INTO t (a,b) VALUES (1,'x'),(2,NULL)", "INSERT INTO t (a, b) VALUES {(?, ?)}"),
            (
                "INSERT INTO t (a,b) VALUES (1,NOW()),(DEFAULT,NOW())",
                "INSERT INTO t (a, b) VALUES (?, NOW()), (DEFAULT, NOW())",
            ),
            (
                "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE n=VALUES(n)+1",
                "INSERT INTO t VALUES {(?)} ON DUPLICATE KEY UPDATE n = VALUES (n) + ?",
            ),
            (
                "SELECT a FROM t WHERE (a,b) IN ((1,2),(3,4))",
                "SELECT a FROM t WHERE (a, b) IN ({(?, ?)})",
            ),
            (
                "UPDATE t SET a=NULL, b=TRUE WHERE c IS NULL",
                "UPDATE t SET a = ?, b = ? WHERE c IS NULL",
            ),
            ("SELECT a FROM t LIMIT 10, 20", "SELECT a FROM t LIMIT ?, ?"),
            (
                "SELECT a FROM t WHERE d > NOW() - INTERVAL 5 DAY",
                "SELECT a FROM t WHERE d > NOW() - INTERVAL ? DAY",
            ),
            (
                "SELECT a FROM t WHERE d = DATE '2026-01-01' AND e < timestamp '2026-01-01 00:00:00'",
                "SELECT a FROM t WHERE d = CAST(? AS DATE) AND e < CAST(? AS DATETIME)",
            ),
            (
                "SELECT /*+ NO_ICP(t) */ /*!40001 SQL_NO_CACHE */ a /* c */ FROM t # x",
                "SELECT /*+ NO_ICP(t) */ /*!40001 SQL_NO_CACHE */ a FROM t",
            ),
            ("SELECT @a := 5, @@version", "SELECT @a := ?, @@version"),
            (
                "INSERT INTO t VALUES (_binary 'a\\0', _utf8mb4'x'),(_binary '', _utf8mb4 'y')",
                "INSERT INTO t VALUES {(?, ?)}",
            ),
            (
                "SELECT a FROM t WHERE b IN (_binary 'a', _binary'b') AND c = _latin1 x'e9' AND d = _binary x'00'",
                "SELECT a FROM t WHERE b IN (?*) AND c = CONVERT(CAST(? AS BINARY) USING latin1) AND d = ?",
            ),
            (
                "SELECT JSON_EXTRACT(d, _utf8mb4'$.a') FROM t WHERE b LIKE _utf8mb4'c' ESCAPE _utf8mb4'|'",
                "SELECT JSON_EXTRACT(d, _utf8mb4'$.a') FROM t WHERE b LIKE ? ESCAPE _utf8mb4'|'",
            ),
        ],
    );
}

#[test]
fn literals_of_postgres_become_parameters() {
    check(
        Dialect::Postgres,
        &[
            (
                "SELECT a::text, b::numeric(10,2) FROM t WHERE c = 'x'::char(3)",
                "SELECT a::text, b::numeric(10, 2) FROM t WHERE c = ?::char(3)",
            ),
            (
                "SELECT a FROM t WHERE id = ANY(ARRAY[1,2,3]) AND j->'k' = '1' AND l[1] = 2",
                "SELECT a FROM t WHERE id = ANY(ARRAY[?*]) AND j -> 'k' = ? AND l[1] = ?",
            ),
            (
                "SELECT a FROM t WHERE d > now() - interval '5 days'",
                "SELECT a FROM t WHERE d > now() - CAST(? AS INTERVAL)",
            ),
            (
                "SELECT a FROM t WHERE d > now() - interval '5' day",
                "SELECT a FROM t WHERE d > now() - INTERVAL '5' day",
            ),
            (
                "SELECT a FROM t WHERE id=$1 AND b=$2 LIMIT $3",
                "SELECT a FROM t WHERE id = ? AND b = ? LIMIT ?",
            ),
            (
                "SELECT a FROM t WHERE b = 5 * 60 AND c @@ to_tsquery('x')",
                "SELECT a FROM t WHERE b = 5 * 60 AND c @@ to_tsquery(?)",
            ),
            (
                "SELECT a FROM t WHERE d = E'\\n' OR d = $$x$$ OR u = uuid '0-1'",
                "SELECT a FROM t WHERE d = ? OR d = ? OR u = CAST(? AS uuid)",
            ),
            ("INSERT INTO \"T\" VALUES ($1,$2),($3,$4)", "INSERT INTO \"T\" VALUES {(?, ?)}"),
            (
                "SELECT a FROM t WHERE b > timestamptz '2026-01-02' AND c < timestamp(3) with time zone '2026-01-02'",
                "SELECT a FROM t WHERE b > CAST(? AS timestamptz) AND c < CAST(? AS TIMESTAMP(3) WITH TIME ZONE)",
            ),
            (
                "SELECT a FROM t WHERE b AT TIME ZONE 'UTC' = jsonb '{}' AND c = double precision '5' \
                 AND d = text $$x$$",
                "SELECT a FROM t WHERE b AT TIME ZONE 'UTC' = CAST(? AS jsonb) AND c = CAST(? AS double precision) \
                 AND d = CAST(? AS text)",
            ),
        ],
    );
}

#[test]
fn what_cannot_be_a_parameter_stays() {
    check(
        Dialect::MySql,
        &[
            (
                "select value from start as First where First.next = 5 limit 1 offset 2",
                "SELECT value FROM start AS First WHERE First.next = ? LIMIT ? offset ?",
            ),
            (
                "SELECT a, 5 FROM t ORDER BY 1, 2 DESC LIMIT 5",
                "SELECT a, ? FROM t ORDER BY 1, 2 DESC LIMIT ?",
            ),
            (
                "SELECT a*5, COUNT(*) FROM t WHERE b = 7 GROUP BY a*5, 1 HAVING COUNT(*) > 3",
                "SELECT a * 5, COUNT(*) FROM t WHERE b = ? GROUP BY a * 5, 1 HAVING COUNT(*) > ?",
            ),
            (
                "WITH d (n) AS (SELECT DATE('2025-10-01')) SELECT n, 7, COUNT(DISTINCT n) FROM d GROUP BY n",
                "WITH d (n) AS (SELECT DATE(?)) SELECT n, 7, COUNT(DISTINCT n) FROM d GROUP BY n",
            ),
            ("SELECT a + 1, COUNT(DISTINCT b) FROM t", "SELECT a + ?, COUNT(DISTINCT b) FROM t"),
            (
                "SELECT CAST(a AS DECIMAL(10,2)), CONVERT('5', CHAR(3)) FROM t",
                "SELECT CAST(a AS DECIMAL(10, 2)), CONVERT(?, CHAR(3)) FROM t",
            ),
            (
                "SELECT doc->'$.a', JSON_EXTRACT(doc, '$[0]') FROM t WHERE doc->>'$.b' = 'x'",
                "SELECT doc -> '$.a', JSON_EXTRACT(doc, '$[0]') FROM t WHERE doc ->> '$.b' = ?",
            ),
            (
                "SELECT a AS 'x', b 'y' FROM t WHERE c = _utf8'z' AND d LIKE 'e' ESCAPE '|' COLLATE 'utf8_bin'",
                "SELECT a AS 'x', b 'y' FROM t WHERE c = ? AND d LIKE ? ESCAPE '|' COLLATE 'utf8_bin'",
            ),
            ("SELECT b'01', N'x' FROM t WHERE a IS TRUE", "SELECT b'01', ? FROM t WHERE a IS TRUE"),
            (
                "SELECT GROUP_CONCAT(a ORDER BY b SEPARATOR ';') FROM t",
                "SELECT GROUP_CONCAT(a ORDER BY b SEPARATOR ';') FROM t",
            ),
        ],
    );
}

#[test]
fn any_tokens_are_normalized() {
    for text in [
        ")",
        "]]",
        "(",
        "VALUES (",
        "IN (",
        "IN ((1",
        "-",
        "CAST(",
        "ARRAY[",
        "VALUES (1),(",
        "(((((",
        ".",
    ] {
        for dialect in Dialect::ALL {
            normal(text, dialect);
            normal(&text.repeat(5000), dialect);
        }
    }
}
