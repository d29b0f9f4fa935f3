//! Queries of catalogs and tables that other users of the database cannot subvert.

use crate::connection::Connection;
use crate::error::WireResult;
use crate::options::Protocol;
use crate::value::ResultSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogSchema {
    /// Number in `pg_namespace`.
    pub oid: u32,
    pub name: String,
}

impl CatalogSchema {
    pub fn quoted(&self) -> String {
        format!("\"{}\"", self.name.replace('"', "\"\""))
    }
}

/// A search path without user-created objects.
const CATALOG_ONLY: &str = "pg_catalog, pg_temp";

impl Connection {
    /// Like [`Connection::query`], for one query of catalogs or settings. On Postgres only names of `pg_catalog` count,
    /// so functions and operators created by other users cannot change the query.
    pub fn query_catalog(&mut self, sql: &str) -> WireResult<ResultSet> {
        self.query_along(CATALOG_ONLY, sql)
    }

    /// Like [`Connection::query_catalog`], for a query that also names tables: those of `schema`, on Postgres.
    pub fn query_tables(
        &mut self,
        schema: Option<&CatalogSchema>,
        sql: &str,
    ) -> WireResult<ResultSet> {
        let path = schema.map(|it| format!("pg_catalog, {}, pg_temp", it.quoted()));
        self.query_along(path.as_deref().unwrap_or(CATALOG_ONLY), sql)
    }

    /// Runs the query in a separate transaction, so that a pool does not pass the search path to its next client.
    fn query_along(&mut self, path: &str, sql: &str) -> WireResult<ResultSet> {
        if self.protocol() == Protocol::MySql {
            return self.query(sql);
        }
        let found = self.query(&format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; SET LOCAL search_path = {path}; {sql}; COMMIT"
        ));
        if found.as_ref().is_err_and(|error| error.server_code().is_some()) {
            self.query("ROLLBACK")?;
        }
        found
    }

    /// The schema in which a Postgres server creates tables: the first existing one of the search path.
    pub fn schema(&mut self) -> WireResult<Option<CatalogSchema>> {
        if self.protocol() == Protocol::MySql {
            return Ok(None);
        }
        // The user's search path applies here, so every name is qualified.
        let found = self.query(
            "SELECT n.oid, n.nspname FROM pg_catalog.pg_namespace n \
             WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()",
        )?;
        let schema = |oid: &str, name: &str| {
            Some(CatalogSchema { oid: oid.parse().ok()?, name: name.to_owned() })
        };
        Ok(found.text(0, 0).zip(found.text(0, 1)).and_then(|(oid, name)| schema(oid, name)))
    }
}
