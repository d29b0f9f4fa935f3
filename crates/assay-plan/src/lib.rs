//! (see README)
