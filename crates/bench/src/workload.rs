//! The workloads: what the server is asked to do, and the targets.

mod access;
mod create;
mod flat;
mod get;
mod herd;
mod idle;
mod limits;
mod many;
mod queues;
mod rest;
mod slow;
mod steady;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;

use crate::figure::Figure;
use crate::place::Place;
use crate::server::{Role, Server};

/// How long each limit of the machine is measured.
const LIMIT_TIME: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    Limits,
    Create { jobs: usize, place: Place },
    Get,
    Many { jobs: usize },
    Herd { jobs: usize, place: Place },
    Steady { rate: u32, seconds: u32, place: Place },
    Idle { jobs: usize },
    Slow,
    Access,
    Queues,
    Rest { place: Place },
    Flat { rate: u32, seconds: u32, place: Place },
}

/// The result of one run.
pub(crate) struct Report {
    pub(crate) figures: Vec<Figure>,
    /// Errors, however fast the run was.
    pub(crate) faults: Vec<String>,
}

/// The binary under test and where it runs.
pub(crate) struct Setup {
    pub(crate) server: PathBuf,
    pub(crate) dir: PathBuf,
    /// The addresses of queue services, if there are any.
    pub(crate) azurite: Option<String>,
    pub(crate) rabbitmq: Option<String>,
    /// The directory with the programs of PostgreSQL, if there is one.
    pub(crate) postgres: Option<PathBuf>,
}

impl Setup {
    /// A temporary directory, deleted when it is dropped.
    pub(crate) fn fresh(&self) -> anyhow::Result<tempfile::TempDir> {
        tempfile::tempdir_in(&self.dir).context("could not make a directory")
    }

    pub(crate) fn start(&self, dir: &Path, role: Role) -> anyhow::Result<(Server, Duration)> {
        self.start_with(dir, role, &[])
    }

    /// With settings in the environment.
    pub(crate) fn start_with(
        &self,
        dir: &Path,
        role: Role,
        settings: &[(&'static str, String)],
    ) -> anyhow::Result<(Server, Duration)> {
        Server::start(&self.server, dir, role, settings)
    }
}

impl Workload {
    /// The workloads that need nothing but the machine.
    pub(crate) fn all() -> Vec<Self> {
        let place = Place::Alone;
        vec![
            Self::Limits,
            Self::Create { jobs: 20_000, place },
            Self::Create { jobs: 100_000, place },
            Self::Get,
            Self::Many { jobs: 100_000 },
            Self::Herd { jobs: 10_000, place },
            Self::Herd { jobs: 100_000, place },
            Self::Steady { rate: 1_000, seconds: 60, place },
            Self::Steady { rate: 10_000, seconds: 10, place },
            Self::Idle { jobs: 1_000_000 },
            Self::Slow,
            Self::Access,
        ]
    }

    /// The workloads of nodes that share a PostgreSQL server.
    pub(crate) fn shared() -> Vec<Self> {
        let [one, two, three] = [1, 2, 3].map(|nodes| Place::Shared { nodes });
        vec![
            Self::Create { jobs: 20_000, place: one },
            Self::Herd { jobs: 10_000, place: one },
            Self::Herd { jobs: 10_000, place: two },
            Self::Herd { jobs: 10_000, place: three },
            Self::Steady { rate: 1_000, seconds: 60, place: one },
            Self::Steady { rate: 1_000, seconds: 60, place: three },
            Self::Rest { place: one },
            Self::Rest { place: three },
            Self::Flat { rate: 1_000, seconds: 600, place: one },
        ]
    }

    /// The question that it answers.
    pub(crate) fn question(self) -> &'static str {
        match self {
            Self::Limits => "what can the machine do by itself?",
            Self::Create { .. } => "how fast are new jobs put, durably, over 16 connections?",
            Self::Get => "how fast is one job read, over 16 connections?",
            Self::Many { .. } => "what do many jobs cost, how fast are a start and a list?",
            Self::Herd { .. } => "how fast are jobs fired that are due at one instant?",
            Self::Steady { .. } => "how punctual is a steady stream?",
            Self::Idle { .. } => "what do jobs cost that do nothing?",
            Self::Slow => "what does a target that hangs do to the others, at 1,000 a second?",
            Self::Access => "what does it cost to ask who calls, and to log what they did?",
            Self::Rest { .. } => "what do nodes ask of their database that have nothing to do?",
            Self::Flat { .. } => "do tables and indexes grow while jobs recur?",
            Self::Queues => "how fast are messages put into real queues?",
        }
    }

    pub(crate) fn measure(self, setup: &Setup) -> anyhow::Result<Report> {
        match self {
            Self::Limits => limits::measure(setup),
            Self::Create { jobs, place } => create::measure(setup, jobs, place),
            Self::Get => get::measure(setup),
            Self::Many { jobs } => many::measure(setup, jobs),
            Self::Herd { jobs, place } => herd::measure(setup, jobs, place),
            Self::Steady { rate, seconds, place } => steady::measure(setup, rate, seconds, place),
            Self::Idle { jobs } => idle::measure(setup, jobs),
            Self::Slow => slow::measure(setup),
            Self::Access => access::measure(setup),
            Self::Queues => queues::measure(setup),
            Self::Rest { place } => rest::measure(setup, place),
            Self::Flat { rate, seconds, place } => flat::measure(setup, rate, seconds, place),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limits => f.write_str("limits"),
            Self::Create { jobs, place } => write!(f, "create={jobs}{place}"),
            Self::Get => f.write_str("get"),
            Self::Many { jobs } => write!(f, "many={jobs}"),
            Self::Herd { jobs, place } => write!(f, "herd={jobs}{place}"),
            Self::Steady { rate, seconds, place } => write!(f, "steady={rate},{seconds}{place}"),
            Self::Idle { jobs } => write!(f, "idle={jobs}"),
            Self::Slow => f.write_str("slow"),
            Self::Access => f.write_str("access"),
            Self::Queues => f.write_str("queues"),
            Self::Rest { place } => write!(f, "rest{place}"),
            Self::Flat { rate, seconds, place } => write!(f, "flat={rate},{seconds}{place}"),
        }
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, place) = Place::split(text)?;
        let (name, argument) = what.split_once('=').map_or((what, None), |(name, rest)| (name, Some(rest)));
        let jobs = |default: usize| argument.map_or(Ok(default), |text| count(text, 10_000_000));
        let stream = |default: &'static str| {
            let (rate, seconds) = argument.unwrap_or(default).split_once(',').ok_or_else(|| {
                format!("'{text}': a rate and a number of seconds are needed, such as {name}={default}")
            })?;
            Ok::<_, String>((count(rate, 100_000)?, count(seconds, 3_600)?))
        };
        let workload = match name {
            "limits" => Self::Limits,
            "create" => Self::Create { jobs: jobs(20_000)?, place },
            "get" => Self::Get,
            "many" => Self::Many { jobs: jobs(100_000)? },
            "herd" => Self::Herd { jobs: jobs(10_000)?, place },
            "idle" => Self::Idle { jobs: jobs(1_000_000)? },
            "slow" => Self::Slow,
            "access" => Self::Access,
            "queues" => Self::Queues,
            "rest" if place.is_shared() => Self::Rest { place },
            "steady" => {
                let (rate, seconds) = stream("1000,60")?;
                Self::Steady { rate, seconds, place }
            }
            "flat" if place.is_shared() => {
                let (rate, seconds) = stream("1000,600")?;
                Self::Flat { rate, seconds, place }
            }
            "rest" | "flat" => return Err(format!("'{text}' is for nodes that share a database: {text}@1")),
            _ => return Err(format!("'{name}' is no workload")),
        };
        if argument.is_some()
            && matches!(
                workload,
                Self::Limits | Self::Get | Self::Slow | Self::Access | Self::Queues | Self::Rest { .. }
            )
        {
            return Err(format!("{name} takes no number"));
        }
        // The others are measured on one node only.
        if place.is_shared() && !workload.to_string().contains('@') {
            return Err(format!("{name} is not measured on several nodes"));
        }
        Ok(workload)
    }
}

fn count<N: FromStr + PartialOrd + From<u8> + fmt::Display>(text: &str, max: N) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| (N::from(1)..=max).contains(number));
    number.ok_or_else(|| format!("'{text}' is not a number that can be measured here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_reads_what_it_writes() {
        for workload in Workload::all().into_iter().chain(Workload::shared()).chain([Workload::Queues]) {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        for wrong in [
            "x",
            "herd=",
            "herd=0",
            "herd=99999999",
            "steady=1000",
            "get=5",
            "queues=5",
            "get@2",
            "rest",
            "rest=5@1",
            "herd=10@0",
        ] {
            assert!(wrong.parse::<Workload>().is_err(), "{wrong}");
        }
    }
}
