//! What the server counts and measures, and how Prometheus reads it.
//!
//! There are two kinds of figures. [`Metrics`] has those that somebody counts while something happens: attempts, claims,
//! requests, batches. A [`Sample`] has those that are there anyway and are read when somebody asks: slots in use, findings,
//! the size of the store. A [`Sampler`] provides it. [`Metrics::encode`] writes both as one text.
//!
//! - Every label value exists from the start, at 0: a rate over the first event is right, and whoever calls the server
//!   can't make new series.
//! - Counting takes no allocation and no hash of labels: each child is found by its position.
//! - `docs/reference/metrics.md` is made of what is encoded, by a test.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that can't set up should stop"))]

mod format;
mod label;
mod metrics;
mod sample;
mod table;

pub use format::Format;
pub use metrics::{Attempt, ClaimEnd, Metrics};
pub use sample::{
    BacklogSample, ConnectionsSample, DiskSample, InspectionSample, JobsSample, NodeSample, ProcessSample,
    RunnerSample, Sample, Sampler, StoreSample,
};
