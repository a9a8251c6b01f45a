//! The figures that are read when somebody asks.
//!
//! What is not known is left out of the text, rather than shown as 0.

use std::fmt::Debug;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::{EncodeCounterValue, EncodeGaugeValue};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use punctual_model::inspect::{FindingKind, KindCount};

use crate::table::Table;

/// Reads a sample. Each call is one scrape, so it costs the same however many jobs there are, and takes a bounded time.
#[async_trait]
pub trait Sampler: Send + Sync {
    /// The figures now.
    async fn sample(&self) -> Sample;
}

/// A sample that never changes, for tests.
#[async_trait]
impl Sampler for Sample {
    async fn sample(&self) -> Sample {
        self.clone()
    }
}

/// The figures of one moment. What is none is not known, or there is none of it.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The version of the program.
    pub version: &'static str,
    /// The schedule's clock.
    pub clock: Option<Timestamp>,
    /// Whether a task of the server has ended although it must go on; the server stops then.
    pub failed: bool,
    /// The runner, if this process fires.
    pub runner: Option<RunnerSample>,
    /// What is due and not begun, if the inspector looks.
    pub backlog: Option<BacklogSample>,
    /// The jobs, if the store answers.
    pub jobs: Option<JobsSample>,
    /// The inspector.
    pub inspection: InspectionSample,
    /// The store.
    pub store: StoreSample,
    /// The disk that the store is on, if the store has files of its own.
    pub disk: Option<DiskSample>,
    /// Where this node stands among those that share the store.
    pub node: NodeSample,
    /// The connections of callers.
    pub connections: ConnectionsSample,
    /// When the certificate of the listener expires, if there is one.
    pub certificate_expires_at: Option<Timestamp>,
    /// The process.
    pub process: Option<ProcessSample>,
}

/// How busy the runner is.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunnerSample {
    /// How many claims may be held.
    pub slot_count_max: usize,
    /// How many claims are held.
    pub claim_count: usize,
    /// How many of them are due and wait for a slot of their target or their collection.
    pub parked_count: usize,
    /// How many attempts are in flight.
    pub in_flight_count: usize,
    /// How many attempts have ended and are not recorded yet.
    pub unrecorded_count: usize,
}

/// What is due and not begun.
#[derive(Clone, Copy, Debug, Default)]
pub struct BacklogSample {
    /// How many entries.
    pub count: u64,
    /// For how long the oldest has been due; zero if there is none.
    pub oldest_age: SignedDuration,
}

/// The jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobsSample {
    /// How many.
    pub count: u64,
    /// How many have failed for good.
    pub faulted_count: u64,
}

/// The inspector.
#[derive(Clone, Debug, Default)]
pub struct InspectionSample {
    /// Whether it runs.
    pub enabled: bool,
    /// The findings of each kind.
    pub counts: Vec<KindCount>,
    /// When it last looked at what is due, by the schedule's clock.
    pub looked_at: Option<Timestamp>,
    /// How many passes over all jobs are complete.
    pub pass_count: u64,
}

/// The store.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreSample {
    /// Whether it can be read: it has just answered.
    pub readable: bool,
    /// Whether it can be written, as far as is known.
    pub writable: bool,
    /// What is wrong with it as a whole, besides.
    pub problem_count: usize,
}

/// The disk that the store is on.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskSample {
    /// The data file and its write-ahead log.
    pub store_bytes: u64,
    /// What is free for this process.
    pub free_bytes: u64,
    /// The whole file system.
    pub size_bytes: u64,
}

/// Where a node stands among those that share a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeSample {
    /// Whether it may fire.
    pub may_fire: bool,
    /// Its position by lease, from 0.
    pub rank: u32,
    /// How many nodes fire.
    pub firing_count: u32,
    /// How far its clock is ahead of the shared one.
    pub clock_lead: SignedDuration,
}

/// The connections of callers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionsSample {
    /// How many are open.
    pub open_count: usize,
    /// How many may be open.
    pub count_max: usize,
    /// How many were refused because there were too many.
    pub refused_count: u64,
}

/// The process, as the operating system sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessSample {
    /// The processor time that it has used.
    pub cpu_seconds: f64,
    /// The memory that it has.
    pub resident_bytes: u64,
    /// The address space that it has.
    pub virtual_bytes: u64,
    /// The files and connections that it has open.
    pub descriptor_count: u64,
    /// How many it may have open.
    pub descriptor_count_max: Option<u64>,
    /// How many threads it has.
    pub thread_count: u64,
    /// When it was started.
    pub started_at: Option<Timestamp>,
}

impl Sample {
    /// The sample as metrics that never change.
    pub(crate) fn registry(&self) -> Registry {
        let mut figures = Figures(Registry::default());
        self.server(&mut figures);
        self.firing(&mut figures);
        self.findings(&mut figures);
        self.storage(&mut figures);
        self.cluster(&mut figures);
        if let Some(process) = &self.process {
            process.add(&mut figures);
        }
        figures.0
    }

    fn server(&self, figures: &mut Figures) {
        let version = Table::new([("version", &[self.version][..])], |_| ConstGauge::new(1_u64));
        figures.0.register("punctual_build_info", "Always 1; the label says which version runs", version);
        figures.gauge(
            "punctual_server_failed",
            "1 if a task has ended that must go on; the server stops",
            flag(self.failed),
        );
        if let Some(now) = self.clock {
            let help = "The time of the clock that schedules go by";
            figures.seconds("punctual_clock_timestamp", help, timestamp(now));
        }
        let ConnectionsSample { open_count, count_max, refused_count } = self.connections;
        figures.gauge("punctual_connections", "Connections of callers that are open", open_count);
        figures.gauge(
            "punctual_connections_limit",
            "Connections that callers may have open at once",
            count_max,
        );
        figures.counter(
            "punctual_connections_refused",
            "Connections that were closed because there were too many",
            refused_count,
        );
        if let Some(at) = self.certificate_expires_at {
            let help = "When the certificate that callers are served with expires";
            figures.seconds("punctual_tls_certificate_expiry_timestamp", help, timestamp(at));
        }
    }

    fn firing(&self, figures: &mut Figures) {
        if let Some(runner) = self.runner {
            figures.gauge("punctual_slots_limit", "Claims that may be held at once", runner.slot_count_max);
            figures.gauge(
                "punctual_claims_held",
                "Claims that are held: waiting for their time, or in flight",
                runner.claim_count,
            );
            figures.gauge(
                "punctual_claims_parked",
                "Claims that are due and wait because their target or their collection has no free slot",
                runner.parked_count,
            );
            figures.gauge(
                "punctual_attempts_in_flight",
                "Attempts that are under way",
                runner.in_flight_count,
            );
            figures.gauge(
                "punctual_attempts_unrecorded",
                "Attempts that have ended and are not recorded yet: they would be repeated after a crash",
                runner.unrecorded_count,
            );
        }
        if let Some(backlog) = self.backlog {
            figures.gauge(
                "punctual_backlog_entries",
                "Entries that are due and not begun, at the last look of the inspector; of those that nobody has claimed at \
                 most 1000 are counted",
                backlog.count,
            );
            figures.seconds(
                "punctual_backlog_oldest_age",
                "For how long the oldest of these has been due; 0 if there is none",
                backlog.oldest_age.as_secs_f64().max(0.0),
            );
        }
        if let Some(jobs) = self.jobs {
            figures.gauge("punctual_jobs", "Jobs in the store", jobs.count);
            figures.gauge(
                "punctual_jobs_faulted",
                "Jobs that have failed for good; counted up to 10000",
                jobs.faulted_count,
            );
        }
    }

    fn findings(&self, figures: &mut Figures) {
        let inspection = &self.inspection;
        figures.gauge("punctual_inspection_enabled", "1 if the inspector runs", flag(inspection.enabled));
        let kinds = FindingKind::ALL.map(FindingKind::name);
        let counts = FindingKind::ALL.map(|kind| inspection.counts.iter().find(|count| count.kind == kind));
        let open = |[at]: [usize; 1]| ConstGauge::new(counts[at].map_or(0, |count| count.open));
        let total = |[at]: [usize; 1]| ConstCounter::new(counts[at].map_or(0, |count| count.total));
        figures.0.register(
            "punctual_findings_open",
            "Findings of the inspector that are open, by kind; those of the clock stay for a day",
            Table::new([("kind", &kinds[..])], open),
        );
        figures.0.register(
            "punctual_findings",
            "Findings of the inspector since the start, by kind",
            Table::new([("kind", &kinds[..])], total),
        );
        if let Some(at) = inspection.looked_at {
            let help = "When the inspector last looked at what is due, by the clock that schedules go by";
            figures.seconds("punctual_inspection_last_look_timestamp", help, timestamp(at));
        }
        figures.counter(
            "punctual_inspection_passes",
            "Passes of the inspector over all jobs that are complete",
            inspection.pass_count,
        );
    }

    fn storage(&self, figures: &mut Figures) {
        let StoreSample { readable, writable, problem_count } = self.store;
        figures.gauge("punctual_store_readable", "1 if the store has just answered", flag(readable));
        figures.gauge(
            "punctual_store_writable",
            "1 if the store can be written as far as is known; 0 while the disk is full or broken: nothing fires then",
            flag(writable),
        );
        figures.gauge(
            "punctual_store_problems",
            "What is wrong with the store as a whole; doctor says what",
            problem_count,
        );
        if let Some(disk) = self.disk {
            figures.bytes("punctual_store_size", "The data file and its write-ahead log", disk.store_bytes);
            figures.bytes(
                "punctual_store_disk_free",
                "What is free for the server on the disk of the store",
                disk.free_bytes,
            );
            figures.bytes("punctual_store_disk_size", "The size of the disk of the store", disk.size_bytes);
        }
    }

    fn cluster(&self, figures: &mut Figures) {
        let NodeSample { may_fire, rank, firing_count, clock_lead } = self.node;
        figures.gauge(
            "punctual_node_may_fire",
            "1 if this node may fire: its lease is valid",
            flag(may_fire),
        );
        figures.gauge(
            "punctual_node_rank",
            "The position of this node among those that fire, from 0; that one keeps house",
            rank,
        );
        figures.gauge("punctual_nodes_firing", "Nodes that fire, as this one knows", firing_count);
        let help = "How far the clock of this node is ahead of the one that all nodes share";
        figures.seconds("punctual_node_clock_lead", help, clock_lead.as_secs_f64());
    }
}

impl ProcessSample {
    /// Their names are those that all Prometheus clients use.
    fn add(&self, figures: &mut Figures) {
        let cpu = ConstCounter::new(self.cpu_seconds);
        figures.0.register_with_unit("process_cpu", "Processor time that was used", Unit::Seconds, cpu);
        figures.bytes("process_resident_memory", "Memory that is used", self.resident_bytes);
        figures.bytes("process_virtual_memory", "Address space that is used", self.virtual_bytes);
        figures.gauge("process_open_fds", "Files and connections that are open", self.descriptor_count);
        if let Some(max) = self.descriptor_count_max {
            figures.gauge("process_max_fds", "Files and connections that may be open", max);
        }
        figures.gauge("process_threads", "Threads", self.thread_count);
        if let Some(at) = self.started_at {
            figures.seconds("process_start_time", "When the server was started", timestamp(at));
        }
    }
}

/// Collects figures for the library.
struct Figures(Registry);

impl Figures {
    fn gauge<N>(&mut self, name: &'static str, help: &'static str, value: N)
    where
        N: EncodeGaugeValue + Debug + Send + Sync + 'static,
    {
        self.0.register(name, help, ConstGauge::new(value));
    }

    fn counter<N>(&mut self, name: &'static str, help: &'static str, value: N)
    where
        N: EncodeCounterValue + Debug + Send + Sync + 'static,
    {
        self.0.register(name, help, ConstCounter::new(value));
    }

    fn bytes(&mut self, name: &'static str, help: &'static str, value: u64) {
        self.0.register_with_unit(name, help, Unit::Bytes, ConstGauge::new(value));
    }

    fn seconds(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.0.register_with_unit(name, help, Unit::Seconds, ConstGauge::new(value));
    }
}

fn flag(set: bool) -> u32 {
    u32::from(set)
}

fn timestamp(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}
