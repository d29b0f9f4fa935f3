//! The MySQL and MariaDB client protocol.
//!
//! [`Control`] is for set-up and questions: it keeps what it reads. [`Hot`] is for measured
//! statements: it counts rows, decodes nothing and does not allocate once it is warm.

pub mod codec;
mod control;
mod execute;
mod hot;
mod login;
mod options;
mod session;
mod walk;

pub use crate::{Address, Error};
pub use control::{Control, ResultSet};
pub use execute::{Param, ParamType};
pub use hot::{Hot, StatementId};
pub use login::Login;
pub use mysql_common::constants::CapabilityFlags;
pub use options::{Charset, ConnectOptions};
pub use session::Session;
pub use walk::{Counted, Reply, Walker};
