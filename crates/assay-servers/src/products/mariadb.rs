//! Servers of MariaDB, as far as they differ from MySQL.

use super::mysql::{BootstrapScripts, Family};

pub(super) const SERVERS: Family =
    Family { scripts: |_| Some(SCRIPTS), validates_since: None, reports_threads: true };

const SCRIPTS: BootstrapScripts = BootstrapScripts {
    before: "create database if not exists mysql;
use mysql;
SET @auth_root_socket=NULL;
SET @skip_auth_anonymous=1;
",
    files: &[
        ["mariadb_system_tables.sql", "mysql_system_tables.sql"],
        ["mariadb_performance_tables.sql", "mysql_performance_tables.sql"],
        ["mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"],
        ["maria_add_gis_sp_bootstrap.sql", "maria_add_gis_sp_bootstrap.sql"],
        ["mariadb_sys_schema.sql", "mysql_sys_schema.sql"],
    ],
    after: "",
    // New in 10.1.
    options: &["--loose-enforce-storage-engine="],
};
