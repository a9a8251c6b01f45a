//! What can be said of tokens.

use clap::{Parser, Subcommand};
use jiff::Span;
use punctual_model::access::Role;

use super::ServerOrData;

/// Say who may call the server, and what they may do.
///
/// Asks a running server, as an owner, or changes the data of a stopped one. The token that says who asks is taken
/// from the environment variable PUNCTUAL_TOKEN, or from a file.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TokenOptions {
    #[command(subcommand)]
    pub(crate) verb: TokenVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    Create(CreateTokenOptions),
    List(ListTokensOptions),
    Revoke(RevokeTokenOptions),
    Rotate(RotateTokenOptions),
}

/// Make a token. Its secret goes to standard output, this once.
///
/// Roles and scopes are taken in pairs. Each role includes the ones before it: reader, operator (run, enable,
/// disable), contributor, owner (tokens). Scopes are /, /subscriptions/{s}, /subscriptions/{s}/resourceGroups/{g} and
/// ids of job collections.
#[derive(Debug, Parser)]
pub(crate) struct CreateTokenOptions {
    /// What the caller is called.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// What the caller may do: reader, operator, contributor or owner.
    #[arg(long, value_name = "ROLE", required = true, value_parser = read_role)]
    pub(crate) role: Vec<Role>,

    /// Where.
    #[arg(long, value_name = "SCOPE", required = true)]
    pub(crate) scope: Vec<String>,

    /// How long it lives, such as 90d or 12h; for ever if nothing is said.
    #[arg(long, value_name = "DURATION", value_parser = read_lifetime)]
    pub(crate) expires: Option<Span>,

    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

/// Show all tokens, without their secrets.
#[derive(Debug, Parser)]
pub(crate) struct ListTokensOptions {
    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

/// Have a token refused from now on.
#[derive(Debug, Parser)]
pub(crate) struct RevokeTokenOptions {
    /// The name or the id of the token.
    #[arg(value_name = "TOKEN")]
    pub(crate) token: String,

    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

/// Give a token another secret, which goes to standard output, this once. The old one is refused from now on.
#[derive(Debug, Parser)]
pub(crate) struct RotateTokenOptions {
    /// The name or the id of the token.
    #[arg(value_name = "TOKEN")]
    pub(crate) token: String,

    /// How long it lives from now on; without it, it expires when it did before.
    #[arg(long, value_name = "DURATION", value_parser = read_lifetime)]
    pub(crate) expires: Option<Span>,

    #[command(flatten)]
    pub(crate) from: ServerOrData,
}

const EXAMPLES: &str = "Examples:
  punctual token create admin --role owner --scope / --data /var/lib/punctual
  punctual token create ci --role contributor --scope /subscriptions/s1 --expires 90d
  punctual token list --server https://scheduler.example.com --token-file ~/.punctual-token
  punctual token revoke ci";

fn read_role(text: &str) -> Result<Role, String> {
    let names = Role::ALL.map(Role::name).join(", ");
    Role::parse(text).ok_or_else(|| format!("is not one of {names}"))
}

fn read_lifetime(text: &str) -> Result<Span, String> {
    let wrong = "is not a duration such as 90d, 12h or 1y";
    let span: Span = text.trim().parse().map_err(|_| wrong.to_owned())?;
    if span.is_positive() { Ok(span) } else { Err("must be longer than nothing".to_owned()) }
}
