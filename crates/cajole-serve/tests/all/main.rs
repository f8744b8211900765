//! The service, as clients see it.

mod client;
mod faults;
mod openapi;
mod refused;
mod same_bytes;
