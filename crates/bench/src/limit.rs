//! What the machine itself can do, for comparison with the figures of the server.

pub(crate) mod disk;
pub(crate) mod http;
pub(crate) mod sqlite;
