//! The client protocol of Postgres, version 3: every server since 7.4.

pub mod codec;
mod execute;
mod login;
mod probe;
mod session;
mod walk;

pub use login::PostgresLogin;
pub(crate) use probe::is_spoken_at;
pub(crate) use session::{PostgresSession, may_go_without_tls};
pub use walk::MessageWalker;
