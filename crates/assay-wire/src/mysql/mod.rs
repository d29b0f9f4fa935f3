//! The MySQL and MariaDB client protocol.
//!
//! [`Control`] is for set-up and questions: it keeps what it reads. [`Hot`] is for measured
//! statements: it counts rows, decodes nothing and does not allocate once it is warm.

pub mod codec;
mod constants;
mod control;
mod execute;
mod hot;
mod login;
mod scramble;
mod session;
mod walk;

pub use constants::CapabilityFlags;
pub use control::Control;
pub use hot::Hot;
pub use login::Login;
pub use session::Session;
pub use walk::Walker;
