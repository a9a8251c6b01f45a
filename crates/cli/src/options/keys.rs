//! What can be said of keys.

use clap::{Parser, Subcommand};

use super::ServerOrData;

/// Change the keys that secrets are sealed with.
///
/// Asks a running server, as an owner of everything, or changes the data of a stopped one.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeysOptions {
    #[command(subcommand)]
    pub(crate) verb: KeysVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysVerb {
    Status(KeysStatusOptions),
    Rotate(RotateKeysOptions),
    Retire(RetireKeyOptions),
    Generate(GenerateKeyOptions),
}

/// Show the keys, what each has sealed, and how far sealing anew has come.
#[derive(Debug, Parser)]
pub(crate) struct KeysStatusOptions {
    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

/// Have a new key seal from now on. Everything is sealed anew, by a running server in the background.
///
/// The new key is put into the key file. Where keys come from the environment or from systemd, the server can't change
/// them, and it is said what to do.
#[derive(Debug, Parser)]
pub(crate) struct RotateKeysOptions {
    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

/// Let a key go that nothing needs any more. Refused while anything is sealed with it.
#[derive(Debug, Parser)]
pub(crate) struct RetireKeyOptions {
    /// The number of the key.
    #[arg(value_name = "KEY")]
    pub(crate) key: u32,

    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

/// Make a key and print it, as a line for a key file, the environment or a systemd credential. It is kept nowhere.
#[derive(Debug, Parser)]
pub(crate) struct GenerateKeyOptions {
    /// Its number: higher than those that there are.
    #[arg(value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..4_294_967_295))]
    pub(crate) number: u32,
}

const EXAMPLES: &str = "Examples:
  punctual keys status
  punctual keys rotate --server https://scheduler.example.com --token-file ~/.punctual-token
  punctual keys retire 1
  punctual keys generate 2";
