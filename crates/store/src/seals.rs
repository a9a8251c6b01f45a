//! Seals: what is sealed with which key, sealing it anew, and letting a key go.
//!
//! A key goes through these steps, of which none is taken back:
//!
//! 1. It is *known*: the store has a text that is sealed with it, by which another key of the same number is told from it.
//! 2. It *seals*: from the transaction on that says so, nothing is written that another key has sealed. There is one such
//!    key, the newest of the ring. Where several nodes share a store, it may seal only when all of them know it; a store
//!    that one process owns does both steps at once.
//! 3. It only *opens*: a newer one seals. What it has sealed is sealed anew, a few jobs at a time.
//! 4. It is *retired*: nothing needs it, which is looked at in the transaction that retires it, and nobody opens anything
//!    with it any more.

use async_trait::async_trait;
use punctual_model::audit::AuditEntry;
use thiserror::Error;

use crate::{KeyRing, Trouble};

/// Seals anew, and says what each key is needed for.
#[async_trait]
pub trait Seals: Send + Sync {
    /// The keys that open, ascending by number, with what each has sealed. Reads an index of all sealed jobs.
    async fn keys(&self) -> Result<Vec<KeyUse>, Trouble>;

    /// Takes the keys of a ring; its newest one seals from now on. In one transaction with the note the secrets of the server
    /// itself are sealed with it; the jobs are left to [`reseal`](Self::reseal). When this is answered, no write that
    /// follows is sealed with another key. Does nothing more if that key seals already. Where other nodes do not know the key
    /// yet, it is known from now on and refused as [`KeyError::Waits`]; it seals by itself when the last of them knows it.
    async fn seal_with(&self, ring: &KeyRing, note: Option<AuditEntry>) -> Result<(), KeyError>;

    /// How far sealing anew has come.
    async fn resealing(&self) -> Result<Resealing, Trouble>;

    /// Looks at the next jobs, at most `limit`, and seals with the newest key what is not. A job that was written meanwhile
    /// is left as it is. One transaction, which also remembers where to go on, so that it survives a crash. Of a job nothing
    /// but its sealed form is changed: neither its revision nor its entry, and whoever waits for changes is not woken.
    async fn reseal(&self, limit: usize) -> Result<Resealing, Trouble>;

    /// Lets a key go, if nothing is sealed with it. What was read before is still opened; when this is answered, the key is
    /// gone from memory.
    async fn retire_key(&self, id: u32, note: Option<AuditEntry>) -> Result<(), KeyError>;
}

/// A key, and what it has sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The key's number.
    pub id: u32,
    /// Whether it seals what is written now.
    pub seals: bool,
    /// How many jobs have secrets that are sealed with it.
    pub job_count: u64,
    /// How many secrets of the server itself are.
    pub server_count: u64,
}

impl KeyUse {
    /// What needs the key, in words; none if nothing does.
    pub fn needed_by(&self) -> Option<String> {
        let counted = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let jobs = counted(self.job_count, "job", "jobs");
        let secrets = counted(self.server_count, "secret of the server", "secrets of the server");
        match (jobs, secrets) {
            (Some(jobs), Some(secrets)) => Some(format!("{jobs} and {secrets}")),
            (jobs, secrets) => jobs.or(secrets),
        }
    }
}

/// How far sealing anew has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resealing {
    /// The key that everything is to be sealed with.
    pub key: u32,
    /// How many jobs were looked at.
    pub visited_count: u64,
    /// How many jobs there are.
    pub job_count: u64,
    /// Whether all were. What is sealed with another key still, can't be opened.
    pub done: bool,
}

/// Why a key was not taken or not let go. Nothing was changed.
#[derive(Debug, Error)]
pub enum KeyError {
    /// There is no such key.
    #[error("there is no key {id}")]
    Unknown {
        /// Its number.
        id: u32,
    },
    /// It is the key that seals.
    #[error("key {id} is the one that seals: rotate first")]
    Seals {
        /// Its number.
        id: u32,
    },
    /// It is known here, and seals as soon as all nodes know it.
    #[error("key {id} seals as soon as all nodes know it, and these don't yet: {}; put it into their keys as well", .nodes.join(", "))]
    Waits {
        /// Its number.
        id: u32,
        /// The nodes that do not know it.
        nodes: Vec<String>,
    },
    /// Something is sealed with it.
    #[error("key {} is needed: {} sealed with it", .0.id, needed(.0))]
    Needed(KeyUse),
    /// A ring lacks a key that opens now.
    #[error("key {id} is missing among the new keys")]
    Missing {
        /// Its number.
        id: u32,
    },
    /// A ring has another key of the same number, or a newest one that is older than the one that seals.
    #[error("key {id} is another one among the new keys")]
    Different {
        /// Its number.
        id: u32,
    },
    /// The store failed.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

fn needed(key: &KeyUse) -> String {
    let verb = if key.job_count + key.server_count == 1 { "is" } else { "are" };
    format!("{} {verb}", key.needed_by().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_key_is_told_in_words() {
        let check = |job_count, server_count, expected: &str| {
            let error = KeyError::Needed(KeyUse { id: 1, seals: false, job_count, server_count });
            assert_eq!(error.to_string(), expected);
        };
        check(1, 0, "key 1 is needed: 1 job is sealed with it");
        check(12, 0, "key 1 is needed: 12 jobs are sealed with it");
        check(0, 1, "key 1 is needed: 1 secret of the server is sealed with it");
        check(2, 3, "key 1 is needed: 2 jobs and 3 secrets of the server are sealed with it");
    }
}
