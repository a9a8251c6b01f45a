//! The key file, which has the keys that secrets are sealed with.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use punctual_model::RandomSource;
use punctual_store::{KeyRing, Vault};
use punctual_store_sqlite::{DataDirectory, layout};

use super::private;
use crate::config::Data;
use crate::exit::WrongUsage;

/// The keys, and what is left to do about their file.
pub(super) struct Keys {
    pub(super) ring: KeyRing,
    /// The temporary and the final name of a new key file that was not renamed yet.
    new: Option<(PathBuf, PathBuf)>,
}

impl Keys {
    /// Whether they were made by this start, or by one that did not complete.
    pub(super) fn are_new(&self) -> bool {
        self.new.is_some()
    }

    /// Gives a new key file its final name. Call it when the store is open, and so contains something sealed
    /// with the keys: a key file beside a store that knows nothing of it would mean that data was lost.
    pub(super) fn keep(&self) -> anyhow::Result<()> {
        let Some((new, path)) = &self.new else { return Ok(()) };
        private::rename(new, path).with_context(|| format!("could not make the key file {}", path.display()))
    }
}

/// Reads the key file, or makes it on first start. Does not make a new one if secrets were sealed with another.
pub(super) fn open(
    data: &Data,
    directory: &DataDirectory,
    random: &dyn RandomSource,
) -> anyhow::Result<Keys> {
    if !data.key_file.as_os_str().is_empty() {
        let path = &data.key_file;
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        check_permissions(path)?;
        return Ok(Keys { ring: parse(path, &text)?, new: None });
    }
    let path = directory.path().join(layout::KEYS);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Keys { ring: parse(&path, &text)?, new: None }),
        Err(error) if error.kind() == ErrorKind::NotFound => find_or_make(directory, path, random),
        Err(error) => Err(unreadable(&path, &error).into()),
    }
}

fn find_or_make(directory: &DataDirectory, path: PathBuf, random: &dyn RandomSource) -> anyhow::Result<Keys> {
    let new = directory.path().join(layout::NEW_KEYS);
    // A start that was killed has left them so; they may be the only copy of the keys that the store was sealed
    // with.
    let found = fs::read_to_string(&new).ok().and_then(|text| KeyRing::parse(&text).ok());
    if let Some(ring) = found
        && directory.fits(&Vault::new(&ring))
    {
        return Ok(Keys { ring, new: Some((new, path)) });
    }
    match directory.sealed_count().context("could not look for sealed secrets")? {
        0 => {}
        1 => return Err(missing(&path, "1 job has").into()),
        count => return Err(missing(&path, &format!("{count} jobs have")).into()),
    }
    if !directory.is_new() {
        tracing::warn!(path = %path.display(), "the key file was missing; no job has secrets, so it is made anew");
    }
    let ring = KeyRing::generate(random);
    private::make(&new, ring.render().as_bytes())
        .with_context(|| format!("could not make the key file {}", path.display()))?;
    Ok(Keys { ring, new: Some((new, path)) })
}

fn missing(path: &Path, who: &str) -> WrongUsage {
    WrongUsage(format!(
        "the key file {} is missing, and {who} secrets that were sealed with it: put it back from a backup, or name \
         it by data.key_file if it is kept elsewhere. No other was made, since it could not open them",
        path.display()
    ))
}

fn parse(path: &Path, text: &str) -> anyhow::Result<KeyRing> {
    KeyRing::parse(text).with_context(|| format!("could not use the key file {}", path.display()))
}

fn unreadable(path: &Path, error: &std::io::Error) -> WrongUsage {
    WrongUsage(format!("could not read the key file {}: {error}", path.display()))
}

/// A key that others can read protects nothing. A key file in another directory is left as it is.
fn check_permissions(path: &Path) -> anyhow::Result<()> {
    let mode = fs::metadata(path)
        .with_context(|| format!("could not look at {}", path.display()))?
        .permissions()
        .mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let hint = format!("chmod 600 {}", path.display());
    Err(WrongUsage(format!("the key file {} can be read by others: {hint}", path.display())).into())
}
