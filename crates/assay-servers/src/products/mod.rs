//! Products whose servers assay can start. A product is a folder or a file here, and a line in [`ALL`].

pub(crate) mod kind;
mod mariadb;
mod mysql;
mod postgres;

use assay_model::{Dialect, Product};
use assay_wire::{Connection, Protocol};
use kind::Servers;

use crate::error::{Result, ServersError};

pub(crate) use postgres::OF_DATA;

const ALL: &[(Product, &dyn Servers)] = &[
    (Product::MariaDb, &mariadb::SERVERS),
    (Product::MySql, &mysql::SERVERS),
    (Product::Postgres, &postgres::Postgres),
];

pub(crate) fn all_servers() -> impl Iterator<Item = &'static dyn Servers> {
    ALL.iter().map(|(_, servers)| *servers)
}

pub(crate) fn servers_of(product: Product) -> Result<&'static dyn Servers> {
    let found = ALL.iter().find(|(known, _)| *known == product);
    found.map(|(_, servers)| *servers).ok_or(ServersError::NoServers(product))
}

pub(crate) fn product_of(control: &Connection) -> Product {
    let dialect = match control.protocol() {
        Protocol::MySql => Dialect::MySql,
        Protocol::Postgres => Dialect::Postgres,
    };
    Product::of_server(dialect, control.server_version())
}
