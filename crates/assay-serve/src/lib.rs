//! Pages over HTTP on loopback, for reading only.
//!
//! Any program of this machine can connect. So every path begins with a token that only the user knows. Any page that
//! the user's browser shows can make the browser connect. So a request must name this server as its host, which a
//! page of another site cannot make a browser do once its name was rebound to loopback, and no other site may embed
//! or read an answer.

mod pages;
mod request;
mod server;

pub use pages::Page;
pub use request::{HEAD_MAX, Read, Refusal, Request, read_request};
pub use server::Server;
