//! The workloads: what the server is asked to do, and the targets.

mod access;
mod create;
mod get;
mod herd;
mod idle;
mod limits;
mod many;
mod queues;
mod slow;
mod steady;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;

use crate::figure::Figure;
use crate::server::{Role, Server};

/// How long each limit of the machine is measured.
const LIMIT_TIME: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    Limits,
    Create { jobs: usize },
    Get,
    Many { jobs: usize },
    Herd { jobs: usize },
    Steady { rate: u32, seconds: u32 },
    Idle { jobs: usize },
    Slow,
    Access,
    Queues,
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
}

impl Setup {
    /// A temporary directory, deleted when it is dropped.
    fn fresh(&self) -> anyhow::Result<tempfile::TempDir> {
        tempfile::tempdir_in(&self.dir).context("could not make a directory")
    }

    fn start(&self, dir: &Path, role: Role) -> anyhow::Result<(Server, Duration)> {
        self.start_with(dir, role, &[])
    }

    /// With settings in the environment.
    fn start_with(
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
        vec![
            Self::Limits,
            Self::Create { jobs: 20_000 },
            Self::Create { jobs: 100_000 },
            Self::Get,
            Self::Many { jobs: 100_000 },
            Self::Herd { jobs: 10_000 },
            Self::Herd { jobs: 100_000 },
            Self::Steady { rate: 1_000, seconds: 60 },
            Self::Steady { rate: 10_000, seconds: 10 },
            Self::Idle { jobs: 1_000_000 },
            Self::Slow,
            Self::Access,
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
            Self::Queues => "how fast are messages put into real queues?",
        }
    }

    pub(crate) fn measure(self, setup: &Setup) -> anyhow::Result<Report> {
        match self {
            Self::Limits => limits::measure(setup),
            Self::Create { jobs } => create::measure(setup, jobs),
            Self::Get => get::measure(setup),
            Self::Many { jobs } => many::measure(setup, jobs),
            Self::Herd { jobs } => herd::measure(setup, jobs),
            Self::Steady { rate, seconds } => steady::measure(setup, rate, seconds),
            Self::Idle { jobs } => idle::measure(setup, jobs),
            Self::Slow => slow::measure(setup),
            Self::Access => access::measure(setup),
            Self::Queues => queues::measure(setup),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limits => f.write_str("limits"),
            Self::Create { jobs } => write!(f, "create={jobs}"),
            Self::Get => f.write_str("get"),
            Self::Many { jobs } => write!(f, "many={jobs}"),
            Self::Herd { jobs } => write!(f, "herd={jobs}"),
            Self::Steady { rate, seconds } => write!(f, "steady={rate},{seconds}"),
            Self::Idle { jobs } => write!(f, "idle={jobs}"),
            Self::Slow => f.write_str("slow"),
            Self::Access => f.write_str("access"),
            Self::Queues => f.write_str("queues"),
        }
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, argument) = text.split_once('=').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let jobs = |default: usize| argument.map_or(Ok(default), |text| count(text, 10_000_000));
        let workload = match name {
            "limits" => Self::Limits,
            "create" => Self::Create { jobs: jobs(20_000)? },
            "get" => Self::Get,
            "many" => Self::Many { jobs: jobs(100_000)? },
            "herd" => Self::Herd { jobs: jobs(10_000)? },
            "idle" => Self::Idle { jobs: jobs(1_000_000)? },
            "slow" => Self::Slow,
            "access" => Self::Access,
            "queues" => Self::Queues,
            "steady" => {
                let (rate, seconds) = argument.unwrap_or("1000,60").split_once(',').ok_or_else(|| {
                    format!("'{text}': a rate and a number of seconds are needed, such as steady=1000,60")
                })?;
                Self::Steady { rate: count(rate, 100_000)?, seconds: count(seconds, 3_600)? }
            }
            _ => return Err(format!("'{name}' is no workload")),
        };
        if argument.is_some()
            && matches!(workload, Self::Limits | Self::Get | Self::Slow | Self::Access | Self::Queues)
        {
            return Err(format!("{name} takes no number"));
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
        for workload in Workload::all().into_iter().chain([Workload::Queues]) {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        for wrong in ["x", "herd=", "herd=0", "herd=99999999", "steady=1000", "get=5", "queues=5"] {
            assert!(wrong.parse::<Workload>().is_err(), "{wrong}");
        }
    }
}
