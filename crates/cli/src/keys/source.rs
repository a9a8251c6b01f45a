//! Where keys come from: a file, an environment variable, or a credential that systemd hands over.
//!
//! Only a file can be written. It is replaced as a whole: the new one is complete on disk before it takes the place of the
//! old one, so that a crash leaves one or the other. No error shows a key.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use punctual_model::Secret;
use punctual_store::{KeyRing, KeyRingError};
use punctual_store_sqlite::layout;

use crate::exit::WrongUsage;
use crate::private;

/// The environment variable that has keys.
const VARIABLE: &str = "PUNCTUAL_KEYS";
/// Where systemd puts credentials, and what ours is called there.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";
const CREDENTIAL: &str = "punctual-keys";

/// The largest key file: a hundred keys with comments fit.
const BYTES_MAX: u64 = 64 * 1024;

/// What the environment says about keys.
#[derive(Default)]
pub(crate) struct Given {
    /// The content of the variable.
    keys: Option<OsString>,
    credentials: Option<PathBuf>,
}

impl Given {
    /// Reads the environment of this process.
    pub(crate) fn here() -> Self {
        let credentials = std::env::var_os(CREDENTIALS).map(PathBuf::from);
        Self { keys: std::env::var_os(VARIABLE), credentials }
    }
}

/// Where the keys of a server come from.
pub(crate) enum Source {
    /// The file `keys` of the data directory, made on first start.
    Own(PathBuf),
    /// A file that the settings name.
    File(PathBuf),
    /// An environment variable, with its content.
    Variable(Secret),
    /// A credential that systemd hands over.
    Credential(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(path) | Self::File(path) => write!(f, "the key file {}", path.display()),
            Self::Variable(_) => write!(f, "the environment variable {VARIABLE}"),
            Self::Credential(_) => write!(f, "the systemd credential {CREDENTIAL}"),
        }
    }
}

impl Source {
    /// Finds out where the keys come from. Two places are refused: nobody could tell which of them holds.
    pub(crate) fn find(dir: &Path, key_file: &Path, given: Given) -> Result<Self, WrongUsage> {
        let mut found = Vec::new();
        if !key_file.as_os_str().is_empty() {
            found.push(Self::File(key_file.to_owned()));
        }
        if let Some(keys) = given.keys {
            // An empty one is most likely a secret that was not found, and another key must not be made instead.
            let wrong = |why: &str| WrongUsage(format!("environment variable {VARIABLE}: {why}"));
            let keys = keys.into_string().map_err(|_| wrong("is not UTF-8"))?;
            if keys.trim().is_empty() {
                return Err(wrong("is empty; put keys into it, or unset it"));
            }
            found.push(Self::Variable(Secret::new(keys)));
        }
        if let Some(path) = given.credentials.map(|dir| dir.join(CREDENTIAL)).filter(|path| path.exists()) {
            found.push(Self::Credential(path));
        }
        if found.len() > 1 {
            let places: Vec<String> = found.iter().map(ToString::to_string).collect();
            return Err(WrongUsage(format!(
                "keys are in {} places: {}. Leave them in one, so that nobody has to guess which holds",
                found.len(),
                places.join(", ")
            )));
        }
        Ok(found.pop().unwrap_or_else(|| Self::Own(dir.join(layout::KEYS))))
    }

    /// The keys; none if they are to be made on first start.
    pub(crate) fn read(&self) -> Result<Option<KeyRing>, WrongUsage> {
        let unusable =
            |error: KeyRingError| WrongUsage(format!("could not use {self}: {}", all(&error.problems)));
        match self {
            Self::Own(path) => match read(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                read => {
                    let (text, _) = read.map_err(|error| self.unreadable(&error))?;
                    KeyRing::parse(text.expose()).map(Some).map_err(unusable)
                }
            },
            Self::File(path) => {
                let (text, metadata) = read(path).map_err(|error| self.unreadable(&error))?;
                check(path, &metadata)?;
                KeyRing::parse(text.expose()).map(Some).map_err(unusable)
            }
            Self::Variable(text) => KeyRing::parse_inline(text.expose()).map(Some).map_err(unusable),
            Self::Credential(path) => {
                // systemd sees to who may read it, by other means than the mode.
                let (text, _) = read(path).map_err(|error| self.unreadable(&error))?;
                KeyRing::parse_inline(text.expose()).map(Some).map_err(unusable)
            }
        }
    }

    /// Where the file is, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Own(path) | Self::File(path) => Some(path),
            Self::Variable(_) | Self::Credential(_) => None,
        }
    }

    /// Whether the server can change it: a file, though perhaps not this one.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Self::Own(_) | Self::File(_))
    }

    /// Whether somebody could have changed it since the start.
    pub(crate) fn may_change(&self) -> bool {
        !matches!(self, Self::Variable(_))
    }

    /// Puts other keys in the place of those that there are.
    pub(crate) fn write(&self, ring: &KeyRing) -> io::Result<()> {
        let (Self::Own(path) | Self::File(path)) = self else {
            return Err(ErrorKind::Unsupported.into());
        };
        // A link stays a link to the file.
        let path = fs::canonicalize(path)?;
        let new = beside(&path);
        private::make(&new, ring.render().expose().as_bytes())?;
        let renamed = private::rename(&new, &path);
        if renamed.is_err() {
            // It has a key that does not count. If this fails as well, the next start removes it.
            let _ = private::remove(&new);
        }
        renamed
    }

    fn unreadable(&self, error: &io::Error) -> WrongUsage {
        WrongUsage(format!("could not read {self}: {error}"))
    }
}

/// The name of a new file until it is complete.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

fn read(path: &Path) -> io::Result<(Secret, Metadata)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    // Sized at once, so that no copy is left behind.
    let size = metadata.len().min(BYTES_MAX) + 1;
    let mut text = String::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    let text = Secret::new(text);
    if text.expose().len() as u64 > BYTES_MAX {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is too long for a key file"));
    }
    Ok((text, metadata))
}

/// A key that others can read protects nothing. A key file in another directory is left as it is.
fn check(path: &Path, metadata: &Metadata) -> Result<(), WrongUsage> {
    let path = path.display();
    let mut problems = Vec::new();
    if metadata.permissions().mode() & 0o077 != 0 {
        problems.push(format!("can be read by others: chmod 600 {path}"));
    }
    let (owner, process) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != process && owner != 0 {
        problems.push(format!(
            "belongs to user {owner}, who can change it, and this process runs as user {process}: chown {process} {path}"
        ));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(WrongUsage(format!("the key file {path} {}", problems.join("; and it "))))
}

fn all(problems: &[String]) -> String {
    match problems {
        [problem] => problem.clone(),
        several => format!("it has {} problems:\n  {}", several.len(), several.join("\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(keys: Option<&str>, credentials: Option<&Path>) -> Given {
        Given { keys: keys.map(OsString::from), credentials: credentials.map(Path::to_owned) }
    }

    #[test]
    fn keys_come_from_one_place_and_two_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let credential = dir.path().join(CREDENTIAL);
        let find = |key_file: &str, keys: Option<&str>, credentials: bool| {
            let given = given(keys, credentials.then_some(dir.path()));
            Source::find(Path::new("data"), Path::new(key_file), given).map(|source| source.to_string())
        };
        assert_eq!(find("", None, true).unwrap(), "the key file data/keys", "there is no credential of ours");
        fs::write(&credential, "").unwrap();
        assert_eq!(find("", None, false).unwrap(), "the key file data/keys");
        assert_eq!(find("/k", None, false).unwrap(), "the key file /k");
        assert_eq!(find("", Some("1 x"), false).unwrap(), "the environment variable PUNCTUAL_KEYS");
        assert_eq!(find("", None, true).unwrap(), "the systemd credential punctual-keys");
        let told = find("/k", Some("secret"), true).unwrap_err().0;
        assert!(
            told.starts_with(
                "keys are in 3 places: the key file /k, the environment variable PUNCTUAL_KEYS, the systemd credential \
                 punctual-keys."
            ) && !told.contains("secret"),
            "{told}"
        );
        let told = find("", Some(" "), false).unwrap_err().0;
        assert!(told.contains("PUNCTUAL_KEYS: is empty"), "{told}");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_a_link_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let random = crate::random::SystemRandom::default();
        let ring = KeyRing::generate(&random);
        let (path, link) = (dir.path().join("real"), dir.path().join("link"));
        private::make(&path, ring.render().expose().as_bytes()).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let source = Source::File(link.clone());
        assert_eq!(source.read().unwrap().unwrap(), ring);
        let next = ring.with_new_key(jiff::Timestamp::UNIX_EPOCH, &random).unwrap();
        source.write(&next).unwrap();
        assert_eq!(source.read().unwrap().unwrap(), next);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!beside(&path).exists());
        let read_only = Source::Variable(Secret::new("1 x"));
        assert!(read_only.write(&next).is_err());
        fs::write(&path, "x".repeat(70_000)).unwrap();
        assert!(source.read().unwrap_err().0.contains("too long"));
    }
}
