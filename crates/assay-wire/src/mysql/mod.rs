//! The client protocol of MySQL and MariaDB.

pub mod binary;
pub mod codec;
mod constants;
mod execute;
mod login;
mod password;
mod session;
mod walk;

pub use constants::CapabilityFlags;
pub use login::MySqlLogin;
pub(crate) use session::MySqlSession;
pub use walk::PacketWalker;
