//! Whether nothing can be written now.
//!
//! The first write that finds no space begins an outage, the first that is done ends it. During an outage nothing is
//! claimed or begun, since what becomes of it could not be recorded; but every few seconds one is let through, to find
//! out whether it is over.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use punctual_store::Trouble;
use tokio::time::Instant;

use crate::error::{Class, PgError};

/// How long after a write that found no space nothing is tried.
const PAUSE: Duration = Duration::from_secs(5);

/// Whether nothing can be written: when that was last noticed.
#[derive(Default)]
pub(crate) struct Outage(Mutex<Option<Instant>>);

impl Outage {
    /// Notes a failure.
    pub(crate) fn note(&self, error: &PgError) {
        if error.class() == Class::Full && self.set(Some(Instant::now())).is_none() {
            tracing::error!("the database has no space left; nothing is claimed until it can write again");
        }
    }

    /// Something was written.
    pub(crate) fn over(&self) {
        if self.noticed().is_some() && self.set(None).is_some() {
            tracing::info!("the database can write again");
        }
    }

    /// Refuses what could not be recorded.
    pub(crate) fn check(&self, doing: &'static str) -> Result<(), Trouble> {
        match self.noticed() {
            Some(noticed) if noticed.elapsed() < PAUSE => Err(Trouble::Full { doing }),
            _ => Ok(()),
        }
    }

    /// The outage, if there is one.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.noticed().map(|_| Trouble::Full { doing: "write" })
    }

    fn noticed(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was before.
    fn set(&self, noticed: Option<Instant>) -> Option<Instant> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), noticed)
    }
}
