//! The Postgres client protocol, version 3: every server since 7.4.
//!
//! [`Control`] is for set-up and questions: it keeps what it reads. [`Hot`] is for measured
//! statements: it counts rows, decodes nothing and does not allocate once it is warm.

pub mod codec;
mod control;
mod execute;
mod hot;
mod login;
mod session;
mod walk;

pub use control::Control;
pub use hot::Hot;
pub use login::Login;
pub(crate) use session::is_spoken_at;
pub use walk::Walker;
