//! What the machine itself can do: the figures of the server are read beside these.

pub(crate) mod disk;
pub(crate) mod http;
pub(crate) mod sqlite;
