//! The client protocol of MySQL and MariaDB.

pub mod codec;
mod execute;
mod login;
mod session;
mod walk;

pub use login::Login;
pub use mysql_common::constants::CapabilityFlags;
pub(crate) use session::Session;
pub use walk::Walker;
