//! Names and the keys made of them.
//!
//! Names compare without regard to letter case and keep the case they were created with.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A resource name: compared in lower case, shown as written. Cheap to clone, because every firing clones keys.
#[derive(Clone)]
pub struct Name {
    shown: Arc<str>,
    /// Only if it differs: most names are in lower case, and two reference counts cost twice as much.
    folded: Option<Arc<str>>,
}

impl Name {
    /// A name as it was written.
    pub fn new(shown: impl Into<Arc<str>>) -> Self {
        let shown = shown.into();
        let is_folded = shown.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        let folded = (!is_folded).then(|| shown.to_lowercase().into());
        Self { shown, folded }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// In lower case: what names are compared and sorted by.
    pub fn folded(&self) -> &str {
        self.folded.as_deref().unwrap_or(&self.shown)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl From<&str> for Name {
    fn from(shown: &str) -> Self {
        Self::new(shown)
    }
}

impl From<String> for Name {
    fn from(shown: String) -> Self {
        Self::new(shown)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.folded() == other.folded()
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.folded().cmp(other.folded())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.folded().hash(state);
    }
}

/// A resource group of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    /// The subscription's id, any text.
    pub subscription: Name,
    /// The group's name.
    pub name: Name,
}

/// A job collection of a resource group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionKey {
    /// The group it is in.
    pub group: GroupKey,
    /// The collection's name.
    pub name: Name,
}

/// A job of a collection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey {
    /// The collection it is in.
    pub collection: CollectionKey,
    /// The job's name.
    pub name: Name,
}

impl CollectionKey {
    /// The key of the three names.
    pub fn new(subscription: impl Into<Name>, group: impl Into<Name>, name: impl Into<Name>) -> Self {
        let group = GroupKey { subscription: subscription.into(), name: group.into() };
        Self { group, name: name.into() }
    }

    /// The key of a job in this collection.
    pub fn job(&self, name: impl Into<Name>) -> JobKey {
        JobKey { collection: self.clone(), name: name.into() }
    }
}

/// The identity of a job: new for each job and never used again, so that a job that was deleted and created
/// again under the same name is another job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub i64);
