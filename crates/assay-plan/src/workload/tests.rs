//! Parsing of workload files, and display of mistakes.

use assay_model::{
    Class, Dialect, Distribution, Generator, Hint as _, Range, Scalar, Schema, Transaction,
    UserData, UserRows, UserStep,
};
use proptest::prelude::*;

use super::*;

const SHOP: &str = r#"
[table.customer]
rows = "20k"
create = """
CREATE TABLE customer (id INT PRIMARY KEY, email VARCHAR(80), joined TIMESTAMP, balance DECIMAL(9,2))"""
after = ["CREATE UNIQUE INDEX customer_email ON customer (email)"]

[table.customer.columns]
id = { sequence = 1 }
email = { pattern = "@@@@@@.####\\@example.com" }
joined = { uniform = [2020-01-01, 2026-01-01T12:00:00] }
balance = { pareto = [0, 99.95], null = "5%" }

[table.country]
csv = "countries.csv"
create.mysql = "CREATE TABLE country (code CHAR(2)) ENGINE=InnoDB"
create.postgres = "CREATE TABLE country (code CHAR(2))"

[table.orders]
script = { mysql = "orders.mysql.sql", postgres = "orders.sql" }

[test.browse]
does = "reads a customer"
let.customer = { zipfian = "customer", s = 0.9, prefer = "high" }
steps = [
  "SELECT email FROM customer WHERE id = :customer",
  { sql = "SELECT code FROM country WHERE code = 'DE'", times = 3 },
  { think = ["1ms", "3ms"] },
]

[test.buy]
let = { customer = { uniform = "customer" }, total = 9.50 }
steps = [
  "BEGIN",
  { sql = "SELECT balance FROM customer WHERE id = :customer FOR UPDATE", keep = "balance" },
  { mysql = "INSERT orders VALUES (:customer, :balance)", postgres = "INSERT INTO o SELECT :customer, :balance::int" },
  "UPDATE customer SET balance = :total",
  "COMMIT;",
]

[test.day]
mix = { browse = 80, buy = 20.5 }
"#;

fn files(name: &str) -> Result<UserFile, String> {
    let content: &[u8] = match name {
        "countries.csv" => b"code,name\nDE,Germany\nFR,\n",
        "orders.sql" | "orders.mysql.sql" => b"CREATE TABLE orders (customer INT, total INT);",
        "dump.sql" => b"CREATE TABLE t (a TEXT);\nINSERT INTO t VALUES ('don\\'t; \\\\ x\\n');\n",
        "seen.jsonl" => b"[1, \"DE\", [1, 2]]\n[20, null, [3]]\n",
        "shop.sql" => b"-- MySQL dump 10.13\nCREATE TABLE `t` (`id` int);\n",
        "custom.dump" => b"PGDMP\x01\x0e",
        "wrong.jsonl" => b"[1]\n[1, 2]\n{}\n",
        _ => return Err("there is no such file".to_owned()),
    };
    Ok(UserFile {
        path: format!("/w/{name}"),
        sha256: "0".repeat(64),
        content: content.to_vec(),
        bytes: 0,
    })
}

fn read(text: &str) -> UserWorkload {
    read_workload("dir/shop.toml", text, &files).unwrap_or_else(|error| panic!("{error}"))
}

fn data(workload: &UserWorkload) -> &'static UserData {
    match &workload.tests[0].definition().schema {
        Schema::User(data) => data,
        _ => panic!("not a user's"),
    }
}

fn kinds(workload: &UserWorkload, test: usize) -> &'static [Transaction] {
    &workload.tests[test].definition().roles[0].script.mix
}

/// A user's test may be named like a sysbench script.
#[test]
fn names_of_scripts_mean_nothing_special() {
    let text = "[table.t]\nrows = 1\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY)\"\n\
                columns = { id = { sequence = 1 } }\n\
                [test.oltp_read_only]\nsteps = [\"SELECT id FROM t\"]\n";
    let missing = crate::select_of(read(text).tests, &["oltp_insert".to_owned()]).unwrap_err();
    assert!(matches!(missing, crate::PlanError::NoSuchTest { .. }), "{missing}");
}

#[test]
fn tables_have_rows_of_all_kinds() {
    let workload = read(SHOP);
    assert_eq!(workload.name, "shop");
    let tables = &data(&workload).tables;
    let counts: Vec<_> = tables.iter().map(|table| table.count()).collect();
    assert_eq!(counts, [Some(20_000), Some(2), None]);
    let UserRows::Generated { columns, .. } = &tables[0].rows else { panic!("{:?}", tables[0]) };
    let [id, _, joined, balance] = columns.as_slice() else { panic!("{columns:?}") };
    assert_eq!(id.values, Generator::Sequence { first: 1, each: 1 });
    let (low, high) = (1_577_836_800, 1_767_268_800);
    let draw = Distribution::Uniform;
    assert_eq!(joined.values, Generator::Time(Range { low, high, draw, is_reversed: false }));
    let Generator::Nullable { share, of } = &balance.values else { panic!("{balance:?}") };
    assert!((share - 0.05).abs() < 1e-12);
    let range =
        Range { low: 0, high: 9995, draw: Distribution::Pareto { h: 0.2 }, is_reversed: false };
    assert_eq!(**of, Generator::Decimal { range, decimals: 2 });
    let create = tables[1].create.first().unwrap();
    assert!(create.for_dialect(Dialect::MySql).unwrap().ends_with("InnoDB"));
    assert!(create.for_dialect(Dialect::Postgres).unwrap().ends_with("(code CHAR(2))"));
    assert!(tables[2].create.is_empty());
}

#[test]
fn the_statements_of_a_routine_are_part_of_its_definition() {
    let text = |after: &str| {
        format!(
            "[table.t]\nrows = 1\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY)\"\nafter = [\"{after}\"]\n\
             columns = {{ id = {{ sequence = 1 }} }}\n[test.one]\nsteps = [\"SELECT id FROM t\"]\n"
        )
    };
    let body = "BEGIN SET @a = 1; SET @b = 2; END";
    for (syntax, product) in [("", Dialect::MySql), ("-- a comment\\n", Dialect::Postgres)] {
        let routine = format!("{syntax}CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW {body}");
        let workload = read(&text(&format!("{routine};")));
        let after = data(&workload).tables[0].after[0].for_dialect(product).unwrap();
        assert_eq!(*after, routine.replace("\\n", "\n"));
    }
    for two in [
        "CREATE TABLE trigger_begin (id INT); SELECT 1",
        "CREATE TABLE t2 (event INT, begin INT); END",
        "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN END; DROP TABLE t",
        "CREATE TRIGGER begin_x BEFORE INSERT ON t FOR EACH ROW SET @a = 'BEGIN'; END",
    ] {
        assert_eq!(data(&read(&text(two))).tables[0].after.len(), 2, "{two}");
    }
}

#[test]
fn tests_are_transactions_and_mixes_of_them() {
    let workload = read(SHOP);
    let names: Vec<_> = workload.tests.iter().map(|test| (test.name(), test.class)).collect();
    assert_eq!(names, [("browse", Class::Read), ("buy", Class::Write), ("day", Class::Write)]);
    assert_eq!(workload.tests[0].does, "reads a customer");
    assert_eq!(workload.tests[1].does, "BEGIN, SELECT, INSERT, UPDATE, COMMIT");
    assert_eq!(workload.tests[2].does, "80% browse, 20% buy");
    let browse = &kinds(&workload, 0)[0];
    let range =
        Range { low: 1, high: 20_000, draw: Distribution::Zipfian { s: 0.9 }, is_reversed: true };
    assert_eq!(browse.variables[0].values, Some(Generator::Integer(range)));
    let UserStep::Send { sql, times, keep, .. } = &browse.steps[1] else { panic!("{browse:?}") };
    assert_eq!((*times, keep.as_slice()), (3, &[][..]));
    assert_eq!(sql.mysql, sql.postgres);
    let range = Range { low: 1000, high: 3000, draw: Distribution::Uniform, is_reversed: false };
    assert_eq!(browse.steps[2], UserStep::Sleep { us: Generator::Integer(range), when: None });
    let buy = &kinds(&workload, 1)[0];
    let constant = Generator::Constant(Scalar::Text("9.50".to_owned()));
    assert_eq!(buy.variables[1].values, Some(constant));
    assert_eq!((buy.variables[2].name.as_str(), &buy.variables[2].values), ("balance", &None));
    let UserStep::Send { sql, .. } = &buy.steps[2] else { panic!("{buy:?}") };
    assert_eq!(sql.mysql.as_ref().unwrap().variables, [0, 2]);
    assert_eq!(sql.postgres.as_ref().unwrap().pieces[2], "::int");
    let UserStep::Send { sql, .. } = &buy.steps[4] else { panic!("{buy:?}") };
    assert_eq!(sql.mysql.as_ref().unwrap().pieces, ["COMMIT"]);
    let day: Vec<_> = kinds(&workload, 2).iter().map(|it| (it.name.as_str(), it.weight)).collect();
    assert_eq!(day, [("browse", 80.0), ("buy", 20.5)]);
}

#[test]
fn other_rows_or_weights_are_other_work() {
    let digest = |text: &str| read(text).tests.last().unwrap().digest.clone();
    let usual = digest(SHOP);
    assert_eq!(digest(&SHOP.replace("reads a customer", "x")), usual);
    for (from, to) in [
        ("20.5", "21"),
        ("20k", "21k"),
        ("s = 0.9", "s = 0.91"),
        ("WHERE id", "WHERE  id"),
        ("orders.mysql.sql", "countries.csv"),
    ] {
        if to != "countries.csv" {
            assert_ne!(digest(&SHOP.replace(from, to)), usual, "{from}");
        }
    }
}

#[test]
fn definitions_may_have_several_statements() {
    let workload = read(
        "[table.t]\nrows = 1\n\
         create = { mysql = \"CREATE TABLE t (id INT)\", \
         postgres = \"CREATE TYPE m AS ENUM ('a'); CREATE TABLE t (id INT)\" }\n\
         after = [\"CREATE INDEX a ON t (id); CREATE INDEX b ON t (id);\", \"ANALYZE t\"]\n\
         columns = { id = { sequence = 1, null = \"100%\" } }\n[test.one]\nsteps = [\"SELECT id FROM t\"]\n",
    );
    let table = &data(&workload).tables[0];
    let create_count =
        |product| table.create.iter().filter_map(|it| it.for_dialect(product)).count();
    assert_eq!((create_count(Dialect::MySql), create_count(Dialect::Postgres)), (1, 2));
    assert_eq!(table.after.len(), 3);
    let UserRows::Generated { columns, .. } = &table.rows else { panic!("{table:?}") };
    assert!(matches!(columns[0].values, Generator::Nullable { share: 1.0, .. }));
    let workload_text = |share: &str| {
        format!(
            "[table.t]\nrows = 1\ncreate = \"CREATE TABLE t (id INT)\"\n\
             columns = {{ id = {{ sequence = 1, null = \"{share}\" }} }}\n\
             [test.one]\nsteps = [\"SELECT id FROM t\"]\n"
        )
    };
    let fault = read_workload("shop.toml", &workload_text("101%"), &files).unwrap_err().to_string();
    assert!(fault.contains("must be from 0% to 100%"), "{fault}");
}

/// With quadratic time, this would take minutes.
#[test]
fn a_statement_may_have_as_many_values_as_servers_take() {
    let names: Vec<String> = (0..65_535).map(|number| format!("v{number}")).collect();
    let lets: String = names.iter().map(|name| format!("let.{name} = 1\n")).collect();
    let text = |uses: &[String]| {
        format!(
            "[table.t]\nrows = 1\ncreate = \"CREATE TABLE t (id INT)\"\ncolumns = {{ id = 1 }}\n[test.one]\n\
             {lets}steps = [\"SELECT id FROM t WHERE id IN (:{})\"]\n",
            uses.join(", :")
        )
    };
    let workload = read(&text(&names));
    let mix = &workload.tests[0].definition().roles[0].script.mix;
    assert_eq!(mix[0].variables.len(), 65_535);
    let more: Vec<String> = names.iter().chain(&names[..1]).cloned().collect();
    let error = read_workload("shop.toml", &text(&more), &files).unwrap_err();
    assert!(error.to_string().contains("may use 65535 values"), "{error}");
}

fn mistaken() -> Vec<String> {
    let table = "[table.t]\nrows = 10\ncreate = \"CREATE TABLE t (a INT)\"\n\
                 columns = { a = { sequence = 1 } }\n";
    let with = |test: &str| format!("{table}[test.x]\n{test}");
    let of_column = |values: &str| {
        let table = table.replace("{ sequence = 1 }", values);
        format!("{table}[test.x]\nsteps = [\"SELECT 1\"]")
    };
    let of_table = |line: &str| format!("[table.t]\n{line}\n[test.x]\nsteps = [\"SELECT 1\"]");
    vec![
        String::new(),
        table.to_owned(),
        "tabel = 1".to_owned(),
        of_table("rows = 1"),
        of_table("rows = 1\ncolumns = { a = 1 }"),
        of_table("columns = { a = 1 }\ncreate = \"x\""),
        of_table("csv = \"none.csv\"\ncreate = \"x\""),
        of_table("csv = \"orders.sql\"\ncolumns = { a = 1 }"),
        of_table("csv = \"countries.csv\"\nrows = 5\ncreate = \"x\""),
        of_table("script = { mysql = \"countries.csv\", oracle = \"x\" }"),
        with("steps = [\"SELECT 1; SELECT 2\"]"),
        with("steps = [\"CREATE TABLE u (a INT)\", \"SELECT 1\"]"),
        with(
            "let.a = { unifrom = [1, 2] }\nsteps = [\"SELECT :a, :b\", \"SELECT :b, :c\", { times = 2 }]",
        ),
        "[table.t]\nrows = 1\nroes = 2\ncolumns = { a = 1 }\n[test.x]\nstep = 1\n[test.y]\n"
            .to_owned(),
        "[table.t\nrows = 1\n[test.x]\nsteps = [\"SELECT 1\n".to_owned(),
        of_column("{ unifrom = [1, 2] }"),
        of_column("{ uniform = [2, 1] }"),
        of_column("{ uniform = [1, 2.5e3] }"),
        of_column("{ uniform = [1, 2026-01-01] }"),
        of_column("{ uniform = \"u\" }"),
        of_column("{ uniform = [1, 2], text = 5 }"),
        of_column("{ uniform = [1, 2], prefer = \"low\" }"),
        of_column("{ zipfian = [1, 2], s = -1.0 }"),
        of_column("{ sequence = 2026-01-01 }"),
        of_column("{ one-of = [1, 2], weights = [1] }"),
        of_column("{ text = [5, 4] }"),
        of_column("[1, 2]"),
        with(""),
        with("steps = []"),
        with("steps = [{ think = \"10ms\" }]"),
        with("steps = [\"SELECT :a\"]"),
        with("let.id = 1\nsteps = [\"\"\"\nSELECT 1,\n  :idd\"\"\"]"),
        with("let.a = { sequence = 1 }\nsteps = [\"SELECT :a\"]"),
        with("let.\"a b\" = 1\nsteps = [\"SELECT 1\"]"),
        with("let.a = 1\nsteps = [\"SELECT 1\"]"),
        with("let.a = 1\nsteps = [\"SELECT '%:a%', :a\"]"),
        with("steps = [\"SELECT 'a\"]"),
        with("steps = [\"SELECT a FROM t WHERE id = ?\"]"),
        with("steps = [{ postgres = \"SELECT a FROM t WHERE id = $1\" }]"),
        with("let.a = 1\nsteps = [{ sql = \"SELECT :a\", keep = [\"a\"] }]"),
        with("steps = [{ sql = \"SELECT 1\", mysql = \"SELECT 2\" }]"),
        with("steps = [{ times = 2 }]"),
        with("steps = [{ sql = \"SELECT 1\", times = 0 }]"),
        with("steps = [{ sql = \"SELECT 1\", think = \"1s\" }]"),
        with("steps = [{ think = \"2m\" }, \"SELECT 1\"]"),
        with("steps = [\"SELECT 1\"]\nmix = { y = 1 }"),
        with("mix = { y = 1 }"),
        with("mix = { y = 1 }\n[test.y]\nmix = { x = 1 }"),
        with("mix = { y = 0 }\n[test.y]\nsteps = [\"SELECT 1\"]"),
        with("writes = 1\nsteps = [\"SELECT 1\"]"),
        format!("{table}[test.\"a b\"]\nsteps = [\"SELECT 1\"]"),
    ]
}

/// The syntax of one product does not refuse text meant for the other.
#[test]
fn a_text_for_all_products_may_have_the_quotes_of_one() {
    for (script, text) in
        [("dump.sql", r"SELECT 'it\'s', :a"), ("orders.sql", r"SELECT '\', $$it's$$, :a")]
    {
        let workload = read(&format!(
            "[table.t]\nscript = \"{script}\"\n[table.u]\nrows = 1\n\
             create = \"\"\"CREATE TABLE u (a TEXT COMMENT 'it\\\\'s; its')\"\"\"\n\
             columns = {{ a = 1 }}\n\
             [test.x]\nlet.a = {{ uniform = [1, 9] }}\nsteps = ['''{text}''']\n"
        ));
        let create = &data(&workload).tables[1].create;
        assert_eq!(create.len(), 1);
        assert_eq!(create[0].mysql, create[0].postgres);
        let UserStep::Send { sql, .. } = &kinds(&workload, 0)[0].steps[0] else {
            panic!("a pause")
        };
        let both = [&sql.mysql, &sql.postgres].map(|sql| sql.as_ref().unwrap().variables.clone());
        assert_eq!(both, [[0], [0]]);
    }
}

#[test]
fn a_dump_is_no_workload() {
    let dump = "-- MySQL dump 10.13\n--\nINSERT INTO `t` VALUES ('don\\'t \\\\');\n";
    let error = read_workload("dir/shop.sql", dump, &files).unwrap_err();
    assert!(error.to_string().contains("this is a dump"), "{error}");
    assert!(error.hints().iter().any(|hint| hint.contains("`dump = \"shop.sql\"`")));
}

#[test]
fn mistakes_are_shown_with_their_place() {
    let mut shown = String::new();
    for text in mistaken() {
        let error = read_workload("shop.toml", &text, &files).unwrap_err();
        shown += &format!("{error}\n");
        for hint in error.hints() {
            shown += &format!("    hint: {hint}\n");
        }
        shown += "\n";
    }
    insta::assert_snapshot!(shown);
}

/// The content of a table tells which one is meant, however its key is misspelt.
#[test]
fn a_misspelt_table_is_known_by_its_content() {
    let hint = |text: &str| read_workload("shop.toml", text, &files).unwrap_err().hints().join(" ");
    let misspelt = |one: &str, other: &str| hint(&SHOP.replace(one, other));
    let of_table = misspelt("[table.orders]", "[set.orders]");
    assert!(
        of_table.contains("did you mean `table`") && of_table.contains("`[table.orders]`"),
        "{of_table}"
    );
    let of_test = misspelt("[test.browse]", "[set.browse]");
    assert!(
        of_test.contains("did you mean `test`") && of_test.contains("`[test.browse]`"),
        "{of_test}"
    );
    let unnamed = hint("[set]\nrows = 1000\ncreate = \"CREATE TABLE t (id INT)\"\n");
    assert!(unnamed.contains("did you mean `table`"), "{unnamed}");
    let columns = misspelt("[table.customer.columns]", "[table.customer.set]");
    assert!(columns.contains("did you mean `columns`"), "{columns}");
    let study = hint("set = \"small\"\ncompare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n");
    assert!(study.contains("study file"), "{study}");
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(
        parts in prop::collection::vec(
            prop_oneof![
                "\\[(table|test)\\.[a-z]\\]\n",
                "[a-z-]{1,7} = ",
                "[\\[\\]{}\",:;=\\\\ \n]",
                "[0-9.-]{1,8}",
                Just("SELECT :a".to_owned()),
                Just("{ uniform = ".to_owned()),
                Just("steps = [".to_owned()),
            ],
            0..40,
        ),
    ) {
        let _ = read_workload("x.toml", &parts.concat(), &files);
        let _ = read_workload("x.pgbench", &parts.concat(), &files);
    }

    #[test]
    fn no_script_makes_it_panic(
        parts in prop::collection::vec(
            prop_oneof![
                "\\\\(set|sleep|if) [a-c:]{0,3} ?",
                Just("random".to_owned()),
                Just("_zipfian".to_owned()),
                "[(),*/%+ \n-]",
                "[0-9]{1,20}",
                Just("SELECT :a;".to_owned()),
            ],
            0..30,
        ),
    ) {
        let _ = read_workload("x.pgbench", &parts.concat(), &files);
    }
}

const SEEN: &str = r#"
[table.t]
rows = 1
create = "CREATE TABLE t (id INT PRIMARY KEY)"
columns = { id = { sequence = 1 } }

[test.a]
values = { file = "seen.jsonl", names = ["id", "code", "ids"], draw = "in-order" }
let.more = 5
steps = ["SELECT id FROM t WHERE id = :id AND code = :code AND id IN (:ids)", "SELECT :more, :id"]
"#;

#[test]
fn captured_values_are_variables_of_a_line() {
    let workload = read(SEEN);
    let [kind] = kinds(&workload, 0) else { panic!("one kind") };
    let captured = kind.captured.as_ref().unwrap();
    assert_eq!((captured.lines, captured.width), (2, 3));
    assert_eq!(captured.draw, assay_model::CapturedDraw::InOrder);
    let names: Vec<&str> = kind.variables.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["id", "code", "ids", "more"]);
    let captured = |number: usize| match &kind.variables[number].values {
        Some(Generator::Captured { column, of, .. }) => Some((*column, *of)),
        _ => None,
    };
    use assay_model::CapturedKind::{Integers, Lists, Texts};
    assert_eq!(
        [captured(0), captured(1), captured(2)],
        [Some((0, Integers)), Some((1, Texts)), Some((2, Lists))]
    );
    assert_eq!(captured(3), None);
    // The location of the file does not change the work.
    let moved = |name: &str| {
        let file = files(name)?;
        Ok(UserFile { path: format!("/elsewhere/{name}"), ..file })
    };
    let moved = read_workload("shop.toml", SEEN, &moved).unwrap();
    assert_eq!(moved.tests[0].digest, workload.tests[0].digest);
    let random = read(&SEEN.replace("in-order", "random"));
    assert_ne!(random.tests[0].digest, workload.tests[0].digest);
}

#[test]
fn mistakes_of_captured_values_are_told_together() {
    let message = |values: &str, steps: &str| {
        let (head, _) = SEEN.split_once("[test.a]").unwrap();
        let text = format!("{head}[test.a]\nvalues = {values}\nsteps = {steps}\n");
        read_workload("shop.toml", &text, &files).unwrap_err().to_string()
    };
    let one = "[\"SELECT :id\"]";
    let both = message("{ file = \"wrong.jsonl\", names = [\"id\"] }", one);
    assert!(both.contains("`wrong.jsonl`, line 2: 2 values, not 1"), "{both}");
    assert!(both.contains("`wrong.jsonl`, line 3: this is no JSON array"), "{both}");
    assert!(!both.contains("no variable"), "{both}");
    for (values, expected) in [
        ("{ names = [\"id\"] }", "lacks `file`"),
        ("{ file = \"seen.jsonl\" }", "lacks `names`"),
        ("{ file = \"no.jsonl\", names = [\"id\"] }", "there is no such file"),
        ("{ file = \"seen.jsonl\", names = [\"a\", \"a\", \"b\"] }", "named twice"),
        ("{ file = \"seen.jsonl\", names = [\"a b\"] }", "cannot name a variable"),
        ("{ file = \"seen.jsonl\", names = [\"id\"], draw = \"all\" }", "must be `random`"),
        ("{ file = \"seen.jsonl\", names = [\"id\", \"b\", \"c\"] }", "no statement uses `b`"),
        ("{ file = \"seen.jsonl\", nams = [\"id\"] }", "unknown key `nams`"),
    ] {
        let message = message(values, one);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_dump_takes_the_place_of_tables() {
    let tests = "[test.a]\nsteps = [\"SELECT 1\"]\n";
    let only = read(&format!("dump = \"shop.sql\"\n{tests}"));
    let own = data(&only);
    assert!(own.tables.is_empty() && own.dump(Dialect::MySql).is_some());
    assert!(own.lacks_dump(Dialect::Postgres) && !own.lacks_dump(Dialect::MySql));
    // A table created by the dump gets rows here.
    let filled = "[table.t]\nrows = 5\ncolumns = { id = { sequence = 1 } }\n";
    let workload = read(&format!("dump = \"shop.sql\"\n{filled}{tests}"));
    let own = data(&workload);
    assert_eq!((own.tables[0].create.len(), own.lacks(Dialect::MySql)), (0, None));
    for (dump, message) in [
        ("\"no.sql\"", "there is no such file"),
        ("\"custom.dump\"", "custom format"),
        ("\"countries.csv\"", "is no dump of a database"),
        ("{ postgres = \"shop.sql\" }", "the other family"),
        ("5", "a text"),
    ] {
        let error = read_workload("a.toml", &format!("dump = {dump}\n{tests}"), &files);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let without = read_workload("a.toml", &format!("{filled}{tests}"), &files).unwrap_err();
    assert!(without.to_string().contains("lacks `create`"), "{without}");
}
