//! A load drops only tables of an earlier load, and inspects everything before it drops anything.

use assay_load::{
    LoadError, Survey, Tables, UnfitReason, check_engine, fill, fill_cache, fill_over, numbers,
    survey,
};
use assay_model::{DataSet, Dialect, Engine, Product, TableForm};
use assay_servers::ServerInstance;
use assay_wire::ConnectOptions;

use super::bed::{Bed, SEED};

/// Statements that create a user's object in the way of two tables, its description, and a query that shows whether it
/// still exists.
struct InTheWay {
    make: &'static [&'static str],
    said: &'static str,
}

const TABLE: &str = "CREATE TABLE sbtest1 (precious int)";

const MARIADB: [InTheWay; 14] = [
    InTheWay {
        make: &["ALTER TABLE sbtest2 DROP k, ADD k INT GENERATED ALWAYS AS (7) STORED AFTER id"],
        said: "`sbtest2` has the columns (id integer, k integer null, c char(120), pad char(60))",
    },
    InTheWay {
        make: &["ALTER TABLE sbtest2 MODIFY c CHAR(120) NOT NULL DEFAULT '' INVISIBLE"],
        said: "`sbtest2` has a column `c` that is invisible",
    },
    InTheWay {
        make: &[
            "CREATE TABLE sbtest2 (`id int, k` int not null, c char(120) not null, pad char(60) not null)",
        ],
        said: "`sbtest2` has the columns (`id int, k` integer, c char(120), pad char(60))",
    },
    InTheWay {
        make: &[
            "CREATE TABLE sbtest2 (id int not null, k int default 0 not null, c char(120) default '' not null, \
                 pad char(60) default '' not null) ENGINE = MERGE UNION = ()",
        ],
        said: "`sbtest2` has the storage engine `MRG_MyISAM`",
    },
    InTheWay {
        make: &["CREATE FULLTEXT INDEX mine ON sbtest1 (c)"],
        said: "`sbtest1` has the index `mine`",
    },
    InTheWay {
        make: &["ALTER TABLE sbtest1 ADD CHECK (k >= 0)"],
        said: "`sbtest1` has a CHECK constraint",
    },
    InTheWay { make: &["ALTER TABLE sbtest1 COMMENT 'mine'"], said: "`sbtest1` has a comment" },
    InTheWay { make: &[TABLE], said: "`sbtest1` has the columns (precious integer null)" },
    InTheWay { make: &["CREATE VIEW sbtest2 AS SELECT 1"], said: "`sbtest2` is a view" },
    InTheWay { make: &["CREATE SEQUENCE sbtest2"], said: "`sbtest2` is a sequence" },
    InTheWay {
        make: &["CREATE TRIGGER mine BEFORE INSERT ON sbtest1 FOR EACH ROW SET @a = 1"],
        said: "`sbtest1` has the trigger `mine`",
    },
    InTheWay {
        make: &["CREATE TABLE others (id INT, FOREIGN KEY (id) REFERENCES sbtest1 (id))"],
        said: "`sbtest1` is referred to by a foreign key of `test.others`",
    },
    InTheWay {
        make: &["ALTER TABLE sbtest2 PARTITION BY HASH (id) PARTITIONS 2"],
        said: "`sbtest2` is partitioned",
    },
    InTheWay {
        make: &["ALTER TABLE sbtest2 ADD SYSTEM VERSIONING"],
        said: "`sbtest2` is a system-versioned table",
    },
];

const POSTGRES: [InTheWay; 18] = [
    InTheWay {
        make: &[
            "ALTER TABLE sbtest2 DROP k, DROP c, DROP pad, ADD k int GENERATED ALWAYS AS (id * 2) STORED NOT NULL, \
             ADD c char(120) DEFAULT '' NOT NULL, ADD pad char(60) DEFAULT '' NOT NULL",
        ],
        said: "`sbtest2` has a column `k` that is generated",
    },
    InTheWay {
        make: &[
            "ALTER TABLE sbtest2 ALTER k DROP DEFAULT, ALTER k ADD GENERATED ALWAYS AS IDENTITY",
        ],
        said: "`sbtest2` has a column `k` that is an identity",
    },
    InTheWay {
        make: &["CREATE POLICY mine ON sbtest2 USING (true)"],
        said: "`sbtest2` has the policy `mine`",
    },
    InTheWay {
        make: &["CREATE PUBLICATION mine FOR TABLE sbtest2"],
        said: "`sbtest2` is part of the publication `mine`",
    },
    InTheWay {
        make: &["ALTER TABLE sbtest2 ADD CONSTRAINT mine CHECK (k >= 0)"],
        said: "`sbtest2` has the constraint `mine`",
    },
    InTheWay { make: &["COMMENT ON COLUMN sbtest2.k IS 'mine'"], said: "`sbtest2` has a comment" },
    InTheWay {
        make: &["CREATE INDEX mine ON sbtest2 (lower(c))"],
        said: "`sbtest2` has the index `mine`",
    },
    InTheWay {
        make: &["CREATE TABLE mine (a int)", "DROP INDEX k_2", "CREATE INDEX k_2 ON mine (a)"],
        said: "`k_2` is an index of `mine`",
    },
    InTheWay { make: &[TABLE], said: "`sbtest1` has the columns (precious integer null)" },
    InTheWay { make: &["CREATE VIEW sbtest2 AS SELECT 1"], said: "`sbtest2` is a view" },
    InTheWay { make: &["CREATE SEQUENCE sbtest2"], said: "`sbtest2` is a sequence" },
    InTheWay {
        make: &["CREATE TABLE k_2 (a int)"],
        said: "`k_2` is a table, and an index needs its name",
    },
    InTheWay { make: &["CREATE TYPE sbtest2 AS ENUM ('a')"], said: "`sbtest2` is a type" },
    InTheWay { make: &["CREATE DOMAIN sbtest2 AS int"], said: "`sbtest2` is a type" },
    InTheWay {
        make: &[
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            "CREATE TRIGGER mine BEFORE INSERT ON sbtest1 FOR EACH ROW EXECUTE FUNCTION f()",
        ],
        said: "`sbtest1` has the trigger `mine`",
    },
    InTheWay {
        make: &["CREATE TABLE others (id int REFERENCES sbtest1)"],
        said: "`sbtest1` is part of the foreign key `others_id_fkey`",
    },
    InTheWay {
        make: &["CREATE TABLE sbtest2 (id int) PARTITION BY HASH (id)"],
        said: "`sbtest2` is partitioned or inherits",
    },
    InTheWay {
        make: &["CREATE TABLE heir () INHERITS (sbtest2)"],
        said: "`sbtest2` is partitioned or inherits",
    },
];

fn tables(product: Product) -> Tables {
    Tables {
        dialect: product.dialect(),
        engine: product.default_engine(),
        form: TableForm::default(),
        data: DataSet { tables: 2, rows: 100 },
        seed: SEED,
    }
}

fn load(options: &ConnectOptions, product: Product) -> Result<(), LoadError> {
    fill(options, &tables(product), &mut |_| ()).map(drop)
}

fn load_over(options: &ConnectOptions, there: &Survey, product: Product) -> Result<(), LoadError> {
    fill_over(options, &tables(product), there, &mut |_| ()).map(drop)
}

/// Empties the database for each case. A load refuses the case and leaves it unchanged. If the case asks for it,
/// everything is then dropped.
fn foreign_objects_are_not_dropped(mut bed: Bed, product: Product, cases: &[InTheWay]) {
    let is_mysql = product != Product::Postgres;
    let again = match is_mysql {
        true => ["DROP DATABASE test", "CREATE DATABASE test"],
        false => ["DROP SCHEMA public CASCADE", "CREATE SCHEMA public"],
    };
    for case in cases {
        for sql in again {
            bed.control.query(sql).unwrap();
        }
        let options = bed.options.clone();
        let mut control = assay_wire::Connection::connect(&options).unwrap();
        let makes = |word: &str| case.make.iter().any(|sql| sql.contains(word));
        // A table of an earlier load stands next to the object, and must stay too.
        load(&options, product).unwrap();
        for table in ["sbtest1", "sbtest2"] {
            if makes(&format!("TABLE {table} ("))
                || makes(&format!("VIEW {table} "))
                || makes(&format!("SEQUENCE {table}"))
                || makes(&format!("TYPE {table} "))
                || makes(&format!("DOMAIN {table} "))
            {
                control.query(&format!("DROP TABLE {table}")).unwrap();
            }
        }
        if makes("TABLE k_2") {
            control.query("DROP INDEX k_2").unwrap();
        }
        for sql in case.make {
            control.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let all = if is_mysql {
            "SELECT table_name, table_type, create_time FROM information_schema.tables \
             WHERE table_schema = 'test' ORDER BY 1"
        } else {
            "SELECT relname, relkind, oid FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
        };
        let before = control.query(all).unwrap();
        let error = load(&options, product).unwrap_err();
        assert!(matches!(error, LoadError::Foreign(_)), "{}: {error}", case.said);
        assert!(error.to_string().contains(case.said), "{error}, not {}", case.said);
        assert_eq!(control.query(all).unwrap(), before, "{}", case.said);

        // A table outside that refers to one of them never stays behind with a broken reference.
        let there = survey(&options, product.dialect(), 2).unwrap();
        if makes("TABLE others") {
            let error = load_over(&options, &there, product).unwrap_err();
            assert!(matches!(error, LoadError::Referenced { .. }), "{error}");
            assert_eq!(control.query(all).unwrap(), before);
        } else if makes("INHERITS") {
            assert!(load_over(&options, &there, product).is_err());
            assert_eq!(control.query(all).unwrap(), before);
        } else {
            load_over(&options, &there, product).unwrap();
            load(&options, product).unwrap();
        }
    }
}

#[test]
fn foreign_objects_in_mariadb_are_not_dropped() {
    // Messages name the database `test`.
    let bed = Bed::alone(Product::MariaDb, "10.11");
    foreign_objects_are_not_dropped(bed, Product::MariaDb, &MARIADB);
}

#[test]
fn foreign_objects_in_postgres_are_not_dropped() {
    let bed = Bed::shared(Product::Postgres, "16");
    foreign_objects_are_not_dropped(bed, Product::Postgres, &POSTGRES);
}

#[test]
fn system_databases_and_read_only_servers_are_refused() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    let unfit = |options: &ConnectOptions| match load(options, Product::MariaDb).unwrap_err() {
        LoadError::Unfit { unfit, .. } => unfit,
        other => panic!("{other}"),
    };
    for name in ["mysql", "sys", "information_schema"] {
        let options = ConnectOptions { database: Some(name.to_owned()), ..bed.options.clone() };
        assert_eq!(unfit(&options), UnfitReason::System, "{name}");
    }
    bed.control.query("CHANGE MASTER TO master_host = '127.0.0.1', master_port = 1").unwrap();
    assert_eq!(unfit(&bed.options), UnfitReason::Replica);
    bed.control.query("RESET SLAVE ALL").unwrap();
    bed.control.query("SET GLOBAL read_only = ON").unwrap();
    assert_eq!(unfit(&bed.options), UnfitReason::ReadOnly);
    bed.control.query("SET GLOBAL read_only = OFF").unwrap();
    load(&bed.options, Product::MariaDb).unwrap();
}

/// A foreign key in a database that the user may not see: the server itself refuses the drop.
#[test]
fn a_table_with_an_invisible_reference_is_kept() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    load(&bed.options, Product::MariaDb).unwrap();
    for sql in [
        "CREATE DATABASE hidden",
        "CREATE TABLE hidden.orders (id INT, FOREIGN KEY (id) REFERENCES test.sbtest1 (id))",
        "CREATE USER app IDENTIFIED BY ''",
        "GRANT ALL ON test.* TO app",
    ] {
        bed.control.query(sql).unwrap();
    }
    let app = ConnectOptions { user: "app".to_owned(), ..bed.options.clone() };
    let before = bed.rows("CHECKSUM TABLE test.sbtest1");
    assert!(load(&app, Product::MariaDb).is_err());
    assert_eq!(bed.rows("CHECKSUM TABLE test.sbtest1"), before);
}

/// assay does not set `foreign_key_checks = 0`: a child table that the user cannot see keeps its parent, even if
/// everything else is dropped.
#[test]
fn an_invisible_child_keeps_its_parent() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    load(&bed.options, Product::MariaDb).unwrap();
    for sql in [
        "ALTER TABLE sbtest1 ADD precious INT",
        "CREATE DATABASE hidden",
        "CREATE TABLE hidden.orders (id INT, FOREIGN KEY (id) REFERENCES test.sbtest2 (id))",
        "CREATE USER app IDENTIFIED BY ''",
        "GRANT ALL ON test.* TO app",
    ] {
        bed.control.query(sql).unwrap();
    }
    let app = ConnectOptions { user: "app".to_owned(), ..bed.options.clone() };
    let there = survey(&app, Dialect::MySql, 2).unwrap();
    let error = load_over(&app, &there, Product::MariaDb).unwrap_err();
    assert!(error.to_string().ends_with("; dropped already: sbtest1"), "{error}");
    assert_eq!(bed.number("SELECT COUNT(*) FROM sbtest2"), 100);
}

#[test]
fn tables_that_refer_to_each_other_are_dropped() {
    let mut bed = Bed::new();
    load(&bed.options, Product::MariaDb).unwrap();
    bed.control.query("UPDATE sbtest2 SET k = 1").unwrap();
    bed.control.query("ALTER TABLE sbtest2 ADD FOREIGN KEY (k) REFERENCES sbtest1 (id)").unwrap();
    let there = survey(&bed.options, Dialect::MySql, 2).unwrap();
    load_over(&bed.options, &there, Product::MariaDb).unwrap();
    let keys = "SELECT COUNT(*) FROM information_schema.referential_constraints \
                WHERE constraint_schema = DATABASE()";
    assert_eq!(bed.number(keys), 0);
}

#[test]
fn a_user_who_may_not_create_tables_or_see_triggers_drops_none() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    load(&bed.options, Product::MariaDb).unwrap();
    for sql in [
        "CREATE USER app IDENTIFIED BY ''",
        "GRANT SELECT, INSERT, ALTER, INDEX, DROP, TRIGGER ON test.* TO app",
        "CREATE USER blind IDENTIFIED BY ''",
        "GRANT SELECT, INSERT, ALTER, INDEX, DROP, CREATE ON test.* TO blind",
    ] {
        bed.control.query(sql).unwrap();
    }
    let app = ConnectOptions { user: "app".to_owned(), ..bed.options.clone() };
    assert_eq!(load(&app, Product::MariaDb).unwrap_err().server_code(), Some(1142));
    assert_eq!(bed.rows("SHOW TABLES"), [["sbtest1"], ["sbtest2"]]);
    let blind = ConnectOptions { user: "blind".to_owned(), ..bed.options.clone() };
    let error = load(&blind, Product::MariaDb).unwrap_err();
    assert!(error.to_string().contains("`sbtest1` may have triggers"), "{error}");
    let there = survey(&blind, Dialect::MySql, 3).unwrap();
    assert!(matches!(there.refuse_blindness().unwrap_err(), LoadError::Blind { .. }));

    let mut bed = Bed::shared(Product::Postgres, "16");
    bed.control.query("CREATE USER app").unwrap();
    bed.control.query("GRANT CREATE ON SCHEMA public TO app").unwrap();
    let app = ConnectOptions { user: "app".to_owned(), ..bed.options.clone() };
    load(&app, Product::Postgres).unwrap();
    bed.control.query("REVOKE CREATE ON SCHEMA public FROM app").unwrap();
    let error = load(&app, Product::Postgres).unwrap_err();
    assert!(matches!(error, LoadError::MayNotCreate { .. }), "{error}");
    assert_eq!(bed.number("SELECT count(*) FROM sbtest2"), 100);
}

/// Objects that an unprivileged user puts into `public` never run with this user's privileges, and hide nothing.
#[test]
fn surveys_of_postgres_run_no_code_of_other_users() {
    let mut bed = Bed::shared(Product::Postgres, "16");
    load(&bed.options, Product::Postgres).unwrap();
    let function = |signature: &str, returns: &str| {
        format!(
            "CREATE FUNCTION public.{signature} RETURNS {returns} LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'evil'; END $$"
        )
    };
    for sql in [
        &function("evil(name, name)", "text"),
        &function("evil_is(name, name)", "boolean"),
        &function("evil_like(text, text)", "boolean"),
        &function("current_schema()", "name"),
        &function("current_setting(text)", "text"),
        &function("rtrim(char)", "text"),
        &function("length(char)", "int"),
        &function("concat_ws(text, bigint, name)", "text"),
        "CREATE OPERATOR public.|| (leftarg = name, rightarg = name, function = public.evil)",
        "CREATE OPERATOR public.= (leftarg = name, rightarg = name, function = public.evil_is)",
        "CREATE OPERATOR public.~ (leftarg = text, rightarg = text, function = public.evil_like)",
        "CREATE TABLE public.pg_class (oid oid, relname name)",
        &format!("ALTER DATABASE {} SET search_path = public, pg_catalog", bed.database()),
        "CREATE VIEW sbtest3 AS SELECT 1 AS id",
        "CREATE TABLE others (id int REFERENCES sbtest1)",
    ] {
        bed.control.query(sql).unwrap();
    }
    let error = load(&bed.options, Product::Postgres).unwrap_err();
    assert!(error.to_string().contains("`sbtest1` is part of the foreign key"), "{error}");
    let data = DataSet { tables: 2, rows: 100 };
    assert_eq!(bed.content(data).rows, 200);
    fill_cache(&bed.options, Dialect::Postgres, &TableForm::default(), data).unwrap();
    let mut control = assay_wire::Connection::connect(&bed.options).unwrap();
    let mut there = numbers(&mut control, Dialect::Postgres).unwrap();
    there.sort_unstable();
    // The view is left out, because it would run its owner's code.
    assert_eq!(there, [1, 2]);
    assert!(!assay_servers::effective_settings(&mut control).unwrap().is_empty());
    let attached = assay_servers::AttachedServer::connect(bed.options.clone()).unwrap();
    assert!(attached.identity().unwrap().ends_with(&format!(" {}", bed.database())));
    // A table that a view reads is not dropped, and the error names the view.
    control.query("DROP TABLE others").unwrap();
    control.query("CREATE VIEW mine AS SELECT id FROM sbtest2").unwrap();
    let error = load(&bed.options, Product::Postgres).unwrap_err();
    let words = "cannot replace `sbtest2`: it is read by the view `public.mine`";
    assert_eq!(error.to_string(), words);
}

#[test]
fn a_missing_engine_is_reported_before_anything_is_dropped() {
    let bed = Bed::new();
    check_engine(&bed.options, Engine::InnoDb).unwrap();
    let error = check_engine(&bed.options, Engine::RocksDb).unwrap_err();
    assert!(matches!(error, LoadError::NoEngine(Engine::RocksDb)), "{error}");
}

/// The table in the first schema is dropped and recreated, even if another schema has a table of the same name.
#[test]
fn only_the_first_schema_of_a_search_path_is_used() {
    let mut bed = Bed::shared(Product::Postgres, "16");
    let search_path = format!("ALTER DATABASE {} SET search_path =", bed.database());
    for sql in [
        "CREATE SCHEMA first",
        "CREATE TABLE public.sbtest1 (precious int)",
        &format!("{search_path} first, public"),
    ] {
        bed.control.query(sql).unwrap();
    }
    load(&bed.options, Product::Postgres).unwrap();
    load(&bed.options, Product::Postgres).unwrap();
    let schemas = bed.rows(
        "SELECT schemaname, tablename FROM pg_tables WHERE tablename LIKE 'sbtest%' ORDER BY 1, 2",
    );
    assert_eq!(schemas, [["first", "sbtest1"], ["first", "sbtest2"], ["public", "sbtest1"]]);
    bed.control.query(&format!("{search_path} pg_catalog")).unwrap();
    let error = load(&bed.options, Product::Postgres).unwrap_err();
    assert!(matches!(error, LoadError::Unfit { unfit: UnfitReason::System, .. }), "{error}");
    bed.control.query(&format!("{search_path} nowhere")).unwrap();
    let error = load(&bed.options, Product::Postgres).unwrap_err();
    assert!(matches!(error, LoadError::Unfit { unfit: UnfitReason::NoSchema, .. }), "{error}");
}

/// A server stopped and restarted as a standby, whose primary never sends anything.
#[test]
fn a_postgres_replica_is_refused() {
    let prefix = assay_testkit::product_prefix(Product::Postgres, "16");
    let home = tempfile::tempdir().unwrap();
    let site = assay_testkit::site(home.path());
    let options =
        [assay_testkit::options(&prefix), vec!["--wal_level=replica".to_owned()]].concat();
    let primary =
        ServerInstance::start(&site, &prefix, &options, &assay_testkit::template(&prefix)).unwrap();
    let standby = home.path().join("standby");
    primary.stop_and_keep(&standby).unwrap();
    fs_err::write(standby.join("standby.signal"), "").unwrap();
    let replica = ServerInstance::start(&site, &prefix, &options, &standby).unwrap();
    let error = load(&replica.connect_options(), Product::Postgres).unwrap_err();
    assert!(matches!(error, LoadError::Unfit { unfit: UnfitReason::Replica, .. }), "{error}");
    replica.stop().unwrap();
}
