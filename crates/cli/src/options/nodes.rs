//! What can be said of nodes.

use clap::{Parser, Subcommand};

use super::ServerOrData;

/// Show the nodes that share a database, or have one fire nothing.
///
/// Asks any of them, or with --store the database itself.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct NodesOptions {
    #[command(subcommand)]
    pub(crate) verb: Option<NodesVerb>,

    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodesVerb {
    Drain(DrainNodeOptions),
    Undrain(DrainNodeOptions),
}

/// Have a node fire nothing, and give back what it has not begun; or, with undrain, have it fire again.
///
/// It goes on serving, finishes what is in flight, and fires again when it is started anew.
#[derive(Debug, Parser)]
pub(crate) struct DrainNodeOptions {
    /// What the node is called.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

const EXAMPLES: &str = "Examples:
  punctual nodes
  punctual nodes drain gva-1
  punctual nodes undrain gva-1 --server https://scheduler.example.com --token-file ~/.punctual-token
  punctual nodes --store postgres://punctual@db.example/punctual --key-file /etc/punctual/keys";
