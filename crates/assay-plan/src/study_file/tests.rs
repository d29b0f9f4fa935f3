//! Study files read and written.
