//! Where a workload runs: on one node with a store of its own, or on nodes that share a PostgreSQL server.

use std::fmt;

/// The most nodes that are measured together.
const NODES_MAX: u8 = 9;

/// Where a workload runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// One node, SQLite.
    Alone,
    /// Nodes that share a PostgreSQL server, all on this machine.
    Shared {
        /// How many.
        nodes: u8,
    },
}

impl Place {
    /// Splits `herd=10000@2` into what to measure and where.
    pub(crate) fn split(text: &str) -> Result<(&str, Self), String> {
        let Some((what, nodes)) = text.split_once('@') else { return Ok((text, Self::Alone)) };
        let count = nodes.parse().ok().filter(|count| (1..=NODES_MAX).contains(count));
        let nodes = count.ok_or_else(|| format!("'{text}': from 1 to {NODES_MAX} nodes can be measured"))?;
        Ok((what, Self::Shared { nodes }))
    }

    pub(crate) fn is_shared(self) -> bool {
        self != Self::Alone
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => Ok(()),
            Self::Shared { nodes } => write!(f, "@{nodes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_nodes_comes_last() {
        assert_eq!(Place::split("get"), Ok(("get", Place::Alone)));
        assert_eq!(Place::split("herd=10@3"), Ok(("herd=10", Place::Shared { nodes: 3 })));
        for wrong in ["herd@", "herd@0", "herd@10", "herd@x"] {
            assert!(Place::split(wrong).is_err(), "{wrong}");
        }
    }
}
