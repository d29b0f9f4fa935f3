//! MariaDB, as far as it differs from MySQL.

use super::{ProductFacts, mysql};
use crate::Engine;

pub(super) const FACTS: ProductFacts = ProductFacts {
    word: "mariadb",
    other_names: &["maria", "mariadb-server"],
    example: "11.8",
    says: Some("mariadb"),
    log_files: None,
    words_since: (10, 0, 0),
    engine_elsewhere: None,
    servers: &["mariadbd", "mysqld"],
    client: "mariadb",
    config_groups: &["mysqld", "server", "mariadb", "mariadbd", "client-server"],
    published_as: &[("ma", Engine::InnoDb)],
    sorts_groups: |_| Some("in MariaDB, GROUP BY also sorts"),
    ..mysql::FACTS
};
