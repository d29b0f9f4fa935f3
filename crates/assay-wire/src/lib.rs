//! The client protocols of MySQL, MariaDB and Postgres. This crate knows nothing about measurements.
//!
//! A [`Connection`] has two kinds of calls. [`Connection::query`] and its relatives keep the result: they are for
//! set-up and inspection. [`Connection::execute`] and [`Connection::execute_text`] are for measured statements: they
//! count rows, decode nothing and do not allocate once they are warm.
//!
//! Parsers and encoders are pure functions over byte slices (`codec`, the login and the walker of each protocol). They
//! never block or panic, whatever the bytes. The sockets below them are a thin layer shared by both protocols.

mod budget;
mod catalog;
mod channel;
mod connection;
mod control;
mod der;
mod error;
mod handshake;
pub mod mysql;
mod options;
pub mod postgres;
mod stop;
mod stream;
mod tls_client;
mod tls_problem;
mod tls_records;
mod value;
mod waiter;
mod walk;

pub use catalog::CatalogSchema;
pub use connection::Connection;
pub use control::{OWN_FIRST, PING};
pub use error::{WireError, WireResult, code_name, code_of_state};
pub use options::{Address, ConnectOptions, Protocol, RequestDelay};
pub use stop::{Breaker, Stop, WatchedSocket};
pub use tls_client::{
    ChannelBindingMode, ClientIdentity, ServerKey, TlsClient, TlsMode, TlsOptions, TrustedRoots,
};
pub use tls_problem::TlsProblem;
pub use value::{
    AnswerColumn, AnswerSummary, NextPart, Notice, Param, ParamType, Reply, ReplyClass, ResultSet,
    StatementId, TakeRow, TakeValues,
};
