//! The children of a metric with labels: one for each combination of label values, all of them there from the start.
//!
//! The family of the library makes children when they are first used and finds them by a hash of their labels, under a
//! lock. Here the values of all labels are known, so a child is found by the positions of its values, and the
//! output is always in the same order.

use std::fmt::{self, Debug};
use std::sync::Arc;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;

/// The name of a label, and all its values.
pub(crate) type Dimension<'a> = (&'static str, &'a [&'static str]);

/// The label values of one child.
type Labels<const N: usize> = [(&'static str, &'static str); N];

/// All children of a metric with `N` labels.
#[derive(Debug)]
pub(crate) struct Table<M, const N: usize> {
    sizes: [usize; N],
    children: Arc<[(Labels<N>, M)]>,
}

impl<M, const N: usize> Clone for Table<M, N> {
    fn clone(&self) -> Self {
        Self { sizes: self.sizes, children: Arc::clone(&self.children) }
    }
}

impl<M, const N: usize> Table<M, N> {
    /// Makes a child for each combination of values. `make` is told the positions of its values.
    pub(crate) fn new(dimensions: [Dimension<'_>; N], make: impl Fn([usize; N]) -> M) -> Self {
        let sizes = dimensions.map(|(_, values)| values.len());
        let count: usize = sizes.iter().product();
        let child = |index: usize| {
            let place = place(sizes, index);
            let mut labels = dimensions.map(|(name, _)| (name, ""));
            for (label, ((_, values), at)) in labels.iter_mut().zip(dimensions.iter().zip(place)) {
                label.1 = values[at];
            }
            (labels, make(place))
        };
        Self { sizes, children: (0..count).map(child).collect() }
    }

    /// The child whose values have these positions.
    pub(crate) fn at(&self, place: [usize; N]) -> &M {
        let index = self.sizes.iter().zip(place).fold(0, |index, (size, at)| {
            debug_assert!(at < *size, "a label has no value number {at}");
            index * size + at
        });
        &self.children[index].1
    }
}

/// The positions of the values of a child; the last label changes fastest.
fn place<const N: usize>(sizes: [usize; N], mut index: usize) -> [usize; N] {
    let mut place = [0; N];
    for (at, size) in place.iter_mut().zip(sizes).rev() {
        *at = index % size;
        index /= size;
    }
    place
}

impl<M: EncodeMetric + Debug, const N: usize> EncodeMetric for Table<M, N> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        self.children.iter().try_for_each(|(labels, child)| child.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        self.children.first().map_or(MetricType::Unknown, |(_, child)| child.metric_type())
    }

    fn is_empty(&self) -> bool {
        self.children.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn every_combination_of_values_is_there_from_the_start_and_in_order() {
        let table =
            Table::new([("a", &["1", "2"][..]), ("b", &["x", "y", "z"][..])], |_| <Counter>::default());
        table.at([1, 2]).inc_by(5);
        table.at([0, 1]).inc();
        let mut registry = Registry::default();
        registry.register("it", "Something", table);
        let mut text = String::new();
        text::encode(&mut text, &registry).unwrap();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "it_total{a=\"1\",b=\"x\"} 0",
                "it_total{a=\"1\",b=\"y\"} 1",
                "it_total{a=\"1\",b=\"z\"} 0",
                "it_total{a=\"2\",b=\"x\"} 0",
                "it_total{a=\"2\",b=\"y\"} 0",
                "it_total{a=\"2\",b=\"z\"} 5",
                "# EOF"
            ]
        );
    }
}
