//! The state of a machine and the noise of its speed, which limit the smallest change it can show; and real-time
//! priority, which protects from other processes.

mod delays;
mod error;
mod examine;
mod facts;
mod kernel_file;
mod pinned;
mod quota;
mod realtime;
mod spectrum;
mod work;

pub use error::Error;
pub use examine::{Recording, examine};
pub use realtime::{Heirs, Level, Throttling, Watch, realtime_access, set_level};
pub use spectrum::noise;
