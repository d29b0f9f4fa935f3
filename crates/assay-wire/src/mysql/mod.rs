//! The client protocol of MySQL and MariaDB.

pub mod binary;
pub mod codec;
mod constants;
mod execute;
mod login;
mod scramble;
mod session;
mod walk;

pub use constants::CapabilityFlags;
pub use login::Login;
pub(crate) use session::Session;
pub use walk::Walker;
