//! The key file that secrets are sealed with.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use punctual_model::Mint;
use punctual_store::KeyRing;

use crate::config::Data;
use crate::exit::WrongUsage;

/// Reads the key file, or makes it on first start, readable by its owner only.
pub(super) fn open(data: &Data, mint: &dyn Mint) -> anyhow::Result<KeyRing> {
    let given = !data.key_file.as_os_str().is_empty();
    let path = if given { data.key_file.clone() } else { data.dir.join("keys") };
    match fs::read_to_string(&path) {
        Ok(text) => {
            check_permissions(&path)?;
            KeyRing::parse(&text).with_context(|| format!("could not use the key file {}", path.display()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound && !given => make(&data.dir, &path, mint),
        Err(error) => {
            Err(WrongUsage(format!("could not read the key file {}: {error}", path.display())).into())
        }
    }
}

fn make(dir: &Path, path: &PathBuf, mint: &dyn Mint) -> anyhow::Result<KeyRing> {
    let what = || format!("could not make the key file {}", path.display());
    fs::create_dir_all(dir).with_context(what)?;
    let ring = KeyRing::generate(mint);
    // Written beside and renamed, so that a crash leaves either no key file or a whole one; secrets
    // sealed with a key that was not kept would be lost.
    let beside = path.with_extension("new");
    let _ = fs::remove_file(&beside);
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).with_context(what)?;
    file.write_all(ring.render().as_bytes()).with_context(what)?;
    file.sync_all().with_context(what)?;
    fs::rename(&beside, path).with_context(what)?;
    fs::File::open(dir).and_then(|dir| dir.sync_all()).with_context(what)?;
    Ok(ring)
}

/// A key that others can read protects nothing.
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
