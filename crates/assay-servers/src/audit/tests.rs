//! Findings of made-up systems.
