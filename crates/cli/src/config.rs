//! The settings of a server: defaults, file, environment, command line, in this order.
//!
//! `config.default.toml` is the defaults, the documentation and an example in one; it is compiled in, and a
//! test sees to it that it has every setting.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use crate::exit::WrongUsage;

/// The defaults.
pub(crate) const DEFAULTS: &str = include_str!("../../../config.default.toml");

/// The prefix of settings in the environment.
const PREFIX: &str = "PUNCTUAL_";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) data: Data,
    pub(crate) tls: Tls,
    pub(crate) clock: ClockConfig,
    pub(crate) api: Api,
    pub(crate) runner: RunnerConfig,
    pub(crate) inspector: InspectorConfig,
    pub(crate) actions: ActionsConfig,
    pub(crate) history: History,
    pub(crate) log: Log,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) listen: String,
    pub(crate) role: Role,
    pub(crate) public_url: String,
    pub(crate) stop_grace_seconds: u64,
}

/// What a process does.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    All,
    Api,
    Runner,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    pub(crate) dir: PathBuf,
    pub(crate) key_file: PathBuf,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    pub(crate) mode: TlsMode,
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TlsMode {
    Off,
    SelfSigned,
    Files,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClockConfig {
    pub(crate) start: String,
    pub(crate) speed: f64,
    pub(crate) patience_seconds: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Api {
    pub(crate) locations: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunnerConfig {
    pub(crate) slots: usize,
    pub(crate) slots_per_target: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InspectorConfig {
    pub(crate) enabled: bool,
    pub(crate) look_seconds: u64,
    pub(crate) tolerance_seconds: u64,
    pub(crate) pass_seconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionsConfig {
    pub(crate) oauth_authority: String,
    pub(crate) storage_queue_endpoint: String,
    pub(crate) service_bus_amqp_endpoint: String,
    pub(crate) service_bus_rest_endpoint: String,
    pub(crate) service_bus_sasl: SaslConfig,
    pub(crate) service_bus_queue_address: String,
    pub(crate) service_bus_topic_address: String,
    pub(crate) egress_allow: Vec<String>,
    pub(crate) egress_deny: Vec<String>,
    pub(crate) ca_file: PathBuf,
}

/// How an AMQP connection shows who it is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SaslConfig {
    Cbs,
    Plain,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct History {
    pub(crate) retention_days: i64,
    pub(crate) records_per_job_max: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: String,
    pub(crate) format: LogFormat,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// A setting that stands above others, such as one of the command line.
pub(crate) struct Override {
    pub(crate) section: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: String,
}

/// Puts the layers together.
pub(crate) fn load(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
    overrides: Vec<Override>,
) -> Result<Config, WrongUsage> {
    let mut settings: Table = DEFAULTS.parse().expect("the defaults are TOML: a test reads them");
    let known = settings.clone();
    if let Some(path) = file {
        overlay_file(&mut settings, path)?;
    }
    for (name, text) in environment {
        let Some((section, key)) = name.strip_prefix(PREFIX).and_then(|name| name.split_once("__")) else {
            continue;
        };
        let (section, key) = (section.to_lowercase(), key.to_lowercase());
        let value = typed(&known, &section, &key, &text)
            .map_err(|why| WrongUsage(format!("environment variable {name}: {why}")))?;
        set(&mut settings, &section, &key, value);
    }
    for Override { section, key, value } in overrides {
        let value = typed(&known, section, key, &value)
            .map_err(|why| WrongUsage(format!("setting {section}.{key}: {why}")))?;
        set(&mut settings, section, key, value);
    }
    Value::Table(settings).try_into().map_err(|error: toml::de::Error| {
        WrongUsage(format!("the settings are not usable: {}", error.message()))
    })
}

fn overlay_file(settings: &mut Table, path: &Path) -> Result<(), WrongUsage> {
    let wrong =
        |why: String| WrongUsage(format!("could not use the configuration {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let file: Table = text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    let mut unknown = Vec::new();
    for (section, members) in file {
        let known = settings.get_mut(&section).and_then(Value::as_table_mut);
        let (Some(known), Value::Table(members)) = (known, members) else {
            unknown.push(section);
            continue;
        };
        for (key, value) in members {
            match known.get_mut(&key) {
                Some(old) => *old = value,
                None => unknown.push(format!("{section}.{key}")),
            }
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    Err(wrong(format!("there is no setting {}; config.default.toml lists them all", unknown.join(", "))))
}

/// A text as the type that the default has.
fn typed(known: &Table, section: &str, key: &str, text: &str) -> Result<Value, String> {
    let default = known.get(section).and_then(|section| section.get(key));
    match default {
        None => Err(format!("there is no setting {section}.{key}")),
        Some(Value::String(_)) => Ok(Value::String(text.to_owned())),
        Some(Value::Integer(_)) => {
            text.parse().map(Value::Integer).map_err(|_| "must be a whole number".into())
        }
        Some(Value::Float(_)) => text.parse().map(Value::Float).map_err(|_| "must be a number".into()),
        Some(Value::Boolean(_)) => {
            text.parse().map(Value::Boolean).map_err(|_| "must be true or false".into())
        }
        // A list is written with commas.
        Some(Value::Array(_)) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        Some(Value::Table(_) | Value::Datetime(_)) => Err("can only be set in a file".into()),
    }
}

fn set(settings: &mut Table, section: &str, key: &str, value: Value) {
    if let Some(section) = settings.get_mut(section).and_then(Value::as_table_mut) {
        section.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_environment(pairs: &[(&str, &str)]) -> Result<Config, WrongUsage> {
        let pairs = pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        load(None, pairs, Vec::new())
    }

    #[test]
    fn the_defaults_are_whole() {
        let config = from_environment(&[]).unwrap();
        assert_eq!(config.server.listen, "127.0.0.1:8380");
        assert_eq!(config.server.role, Role::All);
        assert_eq!(config.tls.mode, TlsMode::Off);
    }

    #[test]
    fn later_layers_win() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("punctual.toml");
        std::fs::write(&path, "[server]\nlisten = \"127.0.0.1:1\"\nrole = \"api\"\n").unwrap();
        let environment = [("PUNCTUAL_SERVER__LISTEN".to_owned(), "127.0.0.1:2".to_owned())];
        let config = load(Some(&path), environment.clone().into_iter(), Vec::new()).unwrap();
        assert_eq!((config.server.listen.as_str(), config.server.role), ("127.0.0.1:2", Role::Api));
        let flag = Override { section: "server", key: "listen", value: "127.0.0.1:3".into() };
        let config = load(Some(&path), environment.into_iter(), vec![flag]).unwrap();
        assert_eq!(config.server.listen, "127.0.0.1:3");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |pairs: &[(&str, &str)], part: &str| {
            let error = from_environment(pairs).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check(&[("PUNCTUAL_SERVER__LISTN", "x")], "PUNCTUAL_SERVER__LISTN: there is no setting server.listn");
        check(&[("PUNCTUAL_CLOCK__SPEED", "fast")], "PUNCTUAL_CLOCK__SPEED: must be a number");
        check(&[("PUNCTUAL_SERVER__ROLE", "king")], "king");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("punctual.toml");
        std::fs::write(&path, "[server]\nlisten = \"x\"\nport = 1\n[sever]\n").unwrap();
        let error = load(Some(&path), std::iter::empty(), Vec::new()).unwrap_err().to_string();
        assert!(error.contains("server.port, sever"), "{error}");
    }

    #[test]
    fn lists_are_written_with_commas() {
        let config = from_environment(&[("PUNCTUAL_API__LOCATIONS", "West US, Mars")]).unwrap();
        assert_eq!(config.api.locations, ["West US", "Mars"]);
    }
}
