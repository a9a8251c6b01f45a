//! The keys when a store is opened: read from where they come from, or made on first start.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use punctual_model::RandomSource;
use punctual_store::{KeyRing, Vault};
use punctual_store_sqlite::{DataDirectory, layout};

use super::source::{Given, Source, beside};
use crate::clock::real_now;
use crate::config::Data;
use crate::exit::WrongUsage;
use crate::{home, private};

/// The keys, and what is left to do about their file.
pub(crate) struct OpenedKeys {
    pub(crate) ring: KeyRing,
    pub(crate) source: Source,
    /// The temporary and the final name of a new key file that was not renamed yet.
    new: Option<(PathBuf, PathBuf)>,
}

impl OpenedKeys {
    /// Whether they were made by this start, or by one that did not complete.
    pub(crate) fn are_new(&self) -> bool {
        self.new.is_some()
    }

    /// Gives a new key file its final name. Call it when the store is open, and so contains something sealed
    /// with the keys: a key file beside a store that knows nothing of it would mean that data was lost.
    pub(crate) fn keep(&self) -> anyhow::Result<()> {
        let Some((new, path)) = &self.new else {
            self.tidy();
            return Ok(());
        };
        private::rename(new, path).with_context(|| format!("could not make the key file {}", path.display()))
    }

    /// Removes new keys that a database has refused: nothing is sealed with them.
    pub(crate) fn discard(&self) {
        if let Some((new, _)) = &self.new
            && let Err(error) = private::remove(new)
        {
            tracing::warn!(%error, path = %new.display(), "could not remove an unused new key file");
        }
    }

    /// Removes a file that a rotation left behind that was killed before it counted.
    fn tidy(&self) {
        let (Source::Own(path) | Source::File(path)) = &self.source else { return };
        let left = fs::canonicalize(path).map(|path| beside(&path)).and_then(|new| private::remove(&new));
        if let Err(error) = left {
            tracing::warn!(%error, path = %path.display(), "could not remove an unused new key file");
        }
    }
}

/// Reads the keys, or makes them on first start. Does not make new ones if secrets were sealed with others.
pub(crate) fn open(
    data: &Data,
    directory: &DataDirectory,
    random: &dyn RandomSource,
) -> anyhow::Result<OpenedKeys> {
    let source = Source::find(directory.path(), &data.key_file, Given::here())?;
    let own = directory.path().join(layout::KEYS);
    match source.read()? {
        Some(ring) => {
            if !matches!(source, Source::Own(_)) && own.exists() {
                tracing::warn!(
                    path = %own.display(),
                    "this key file is not used, since the keys come from {source}: if all is well, remove it"
                );
            }
            Ok(OpenedKeys { ring, source, new: None })
        }
        None => find_or_make(directory, source, own, random),
    }
}

/// The same for a database that several nodes share, which can't be looked at before there are keys: it refuses those that are
/// not its own.
pub(crate) fn open_shared(data: &Data, random: &dyn RandomSource) -> anyhow::Result<OpenedKeys> {
    let source = Source::find(&data.dir, &data.key_file, Given::here())?;
    // What is in that directory is not looked after as that of a server that has it for itself.
    let source = match source {
        Source::Own(path) if path.exists() => Source::File(path),
        other => other,
    };
    if let Some(ring) = source.read()? {
        return Ok(OpenedKeys { ring, source, new: None });
    }
    let (new, path) = (data.dir.join(layout::NEW_KEYS), data.dir.join(layout::KEYS));
    // A start that was killed has left them so; they may be the only copy of the keys that the database was sealed with.
    if let Some(ring) = Source::Own(new.clone()).read().ok().flatten() {
        return Ok(OpenedKeys { ring, source, new: Some((new, path)) });
    }
    let ring = KeyRing::generate_at(1, real_now(), random);
    let made =
        home::make_directory(&data.dir).and_then(|()| private::make(&new, ring.render().expose().as_bytes()));
    made.with_context(|| format!("could not make the key file {}", path.display()))?;
    Ok(OpenedKeys { ring, source, new: Some((new, path)) })
}

fn find_or_make(
    directory: &DataDirectory,
    source: Source,
    path: PathBuf,
    random: &dyn RandomSource,
) -> anyhow::Result<OpenedKeys> {
    let new = directory.path().join(layout::NEW_KEYS);
    // A start that was killed has left them so; they may be the only copy of the keys that the store was sealed
    // with.
    let found = Source::Own(new.clone()).read().ok().flatten();
    if let Some(ring) = found
        && directory.fits(&Vault::new(&ring))
    {
        return Ok(OpenedKeys { ring, source, new: Some((new, path)) });
    }
    match directory.sealed_count().context("could not look for sealed secrets")? {
        0 => {}
        1 => return Err(missing(&path, "1 job has").into()),
        count => return Err(missing(&path, &format!("{count} jobs have")).into()),
    }
    if !directory.is_new() {
        tracing::warn!(path = %path.display(), "the key file was missing; no job has secrets, so it is made anew");
    }
    let ring = KeyRing::generate_at(1, real_now(), random);
    private::make(&new, ring.render().expose().as_bytes())
        .with_context(|| format!("could not make the key file {}", path.display()))?;
    Ok(OpenedKeys { ring, source, new: Some((new, path)) })
}

fn missing(path: &Path, who: &str) -> WrongUsage {
    WrongUsage(format!(
        "the key file {} is missing, and {who} secrets that were sealed with it: put it back from a backup, or name \
         it by data.key_file if it is kept elsewhere. No other was made, since it could not open them",
        path.display()
    ))
}
