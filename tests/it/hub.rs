//! The hub against real subscribers: HTTPS servers on this machine with certificates of a private authority.

mod authority;
mod command;
mod content;
mod crash;
mod disk;
mod failures;
mod guard;
mod handshake;
mod http;
mod rig;
mod subscriber;
mod table;
