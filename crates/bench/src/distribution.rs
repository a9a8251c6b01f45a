//! The distribution of measured times.

use std::time::Duration;

/// A sorted sample of times in milliseconds.
pub(crate) struct Distribution(Vec<f64>);

impl Distribution {
    /// From milliseconds in any order.
    pub(crate) fn of_milliseconds(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    pub(crate) fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        Self::of_milliseconds(times.into_iter().map(milliseconds).collect())
    }

    /// The quantile, in milliseconds; NaN for an empty sample.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let rank = (part * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.clamp(1, self.0.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn max(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_time_that_was_measured() {
        let distribution = Distribution::of_milliseconds((1..=100).rev().map(f64::from).collect());
        assert_eq!(distribution.quantile(0.5), 50.0);
        assert_eq!(distribution.quantile(0.99), 99.0);
        assert_eq!(distribution.quantile(0.0), 1.0);
        assert_eq!(distribution.max(), 100.0);
        assert!(Distribution::of_milliseconds(Vec::new()).quantile(0.5).is_nan());
    }
}
