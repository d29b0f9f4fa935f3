//! Rules of the code base, checked by a test, and tasks too long for `main`.

pub mod ci;
mod circles;
pub mod command;
pub mod count_time;
pub mod dist;
pub mod docs;
pub mod fuzz;
pub mod golden;
pub mod record;
pub mod servers;
pub mod site;
pub mod suite;
pub mod tidy;
