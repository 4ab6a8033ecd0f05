//! Several servers that know nothing of each other, and answer as one.

mod balancer;
mod identity;
mod rolling;
