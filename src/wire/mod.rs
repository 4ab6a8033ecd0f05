//! Parsers and renderers of formats: independent of the domain, without clock and I/O.

pub mod conditional;
pub mod date;
pub mod etag;
pub mod fold;
pub mod form;
pub mod forwarded;
pub mod json;
pub mod negotiate;
pub mod network;
pub mod sentence;
pub mod text;
pub mod trace;
pub mod xml;
