//! The state of a machine and the noise of its speed, which decide how small a change it can show.

mod delays;
mod error;
mod examine;
mod facts;
mod kernel_file;
mod pinned;
mod quota;
mod spectrum;
mod work;

pub use error::Error;
pub use examine::examine;
pub use spectrum::noise;
