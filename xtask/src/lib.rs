//! Rules of the code base, checked by a test.

pub mod tidy;
