//! Client protocols of database servers, apart from anything that is measured with them.
//!
//! [`Control`] is for set-up and questions: it keeps what it reads. [`Hot`] is for measured
//! statements: it counts rows, decodes nothing and does not allocate once it is warm. Both speak
//! what [`ConnectOptions::protocol`] says.
//!
//! Parsers and encoders are pure functions over byte slices (`codec` and `Walker` of each
//! protocol): they never block and never panic, whatever the bytes. Sockets are a thin layer under
//! them.

mod control;
mod error;
mod hot;
mod inbox;
pub mod mysql;
mod options;
mod patience;
pub mod postgres;
mod stop;
mod stream;
mod value;
mod waiter;

pub use control::{Control, Schema};
pub use error::{Error, code_name, code_of_state};
pub use hot::Hot;
pub use options::{ConnectOptions, Protocol};
pub use stop::{Breaker, Stop, Watched};
pub use stream::Address;
pub use value::{Counted, Param, ParamType, Reply, ResultSet, StatementId};
