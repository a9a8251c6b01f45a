//! The settings of `[limits]`: what each caller may do.

use punctual_api::{CallerLimits, Rate};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// Larger is no limit, but a mistake.
const BURST_MAX: i64 = 1_000_000_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    #[serde(deserialize_with = "per_second")]
    reads_per_second: f64,
    #[serde(deserialize_with = "burst")]
    reads_burst: u32,
    #[serde(deserialize_with = "per_second")]
    writes_per_second: f64,
    #[serde(deserialize_with = "burst")]
    writes_burst: u32,
    #[serde(deserialize_with = "per_second")]
    body_bytes_per_second: f64,
    #[serde(deserialize_with = "burst")]
    body_bytes_burst: u32,
    in_flight: usize,
    sign_in_failures_per_minute: u32,
}

impl LimitsConfig {
    pub(crate) fn of_callers(&self) -> CallerLimits {
        let rate = |per_second: f64, burst: u32| {
            (per_second > 0.0).then(|| Rate { per_second, burst: f64::from(burst) })
        };
        let failures = self.sign_in_failures_per_minute;
        CallerLimits {
            reads: rate(self.reads_per_second, self.reads_burst),
            writes: rate(self.writes_per_second, self.writes_burst),
            body_bytes: rate(self.body_bytes_per_second, self.body_bytes_burst),
            in_flight_max: Some(self.in_flight).filter(|max| *max > 0),
            sign_in_failures: rate(f64::from(failures) / 60.0, failures),
        }
    }
}

fn per_second<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let rate = f64::deserialize(deserializer)?;
    if rate >= 0.0 && rate.is_finite() {
        return Ok(rate);
    }
    Err(Error::custom(format!("must be 0 or more, not {rate}")))
}

fn burst<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let burst = i64::deserialize(deserializer)?;
    let read = u32::try_from(burst).ok().filter(|_| (1..=BURST_MAX).contains(&burst));
    read.ok_or_else(|| Error::custom(format!("must be from 1 to {BURST_MAX}, not {burst}")))
}
