//! The hub against real subscribers: HTTPS servers on this machine with certificates of a private authority.

mod authority;
mod clock;
mod command;
mod content;
mod crash;
mod disk;
mod failures;
mod guard;
mod handover;
mod handshake;
mod http;
mod rig;
mod subscriber;
mod table;
