//! Scopes: what an operation is about, from one job up to everything.

use std::cmp::Ordering;

use crate::{CollectionKey, GroupKey, JobKey, Name};

/// What an operation is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The server and all that is on it.
    Everything,
    /// A subscription with its groups.
    Subscription(Name),
    /// A resource group with its collections.
    Group(GroupKey),
    /// A collection with its jobs.
    Collection(CollectionKey),
    /// A job.
    Job(JobKey),
}

/// The kind of a scope, from the widest to the narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// [`Scope::Everything`].
    Everything,
    /// [`Scope::Subscription`].
    Subscription,
    /// [`Scope::Group`].
    Group,
    /// [`Scope::Collection`].
    Collection,
    /// [`Scope::Job`].
    Job,
}

impl Scope {
    /// Its kind.
    pub fn level(&self) -> Level {
        match self {
            Self::Everything => Level::Everything,
            Self::Subscription(_) => Level::Subscription,
            Self::Group(_) => Level::Group,
            Self::Collection(_) => Level::Collection,
            Self::Job(_) => Level::Job,
        }
    }

    /// Whether a scope is this one or below it.
    pub fn covers(&self, other: &Self) -> bool {
        match self {
            Self::Everything => true,
            Self::Subscription(name) => other.subscription() == Some(name),
            Self::Group(key) => other.group() == Some(key),
            Self::Collection(key) => other.collection() == Some(key),
            Self::Job(_) => self == other,
        }
    }

    /// An order by names from the subscription down, in which a scope stands before all that is in it and that
    /// before what comes behind the scope.
    pub fn by_place(&self, other: &Self) -> Ordering {
        fn names(scope: &Scope) -> [Option<&Name>; 4] {
            let job = match scope {
                Scope::Job(key) => Some(&key.name),
                Scope::Everything | Scope::Subscription(_) | Scope::Group(_) | Scope::Collection(_) => None,
            };
            let (group, collection) = (scope.group(), scope.collection());
            [scope.subscription(), group.map(|key| &key.name), collection.map(|key| &key.name), job]
        }
        names(self).cmp(&names(other))
    }

    /// The subscription that it is in; none for everything.
    pub fn subscription(&self) -> Option<&Name> {
        match self {
            Self::Everything => None,
            Self::Subscription(name) => Some(name),
            Self::Group(_) | Self::Collection(_) | Self::Job(_) => {
                self.group().map(|group| &group.subscription)
            }
        }
    }

    /// The group that it is in; none for what is above.
    pub fn group(&self) -> Option<&GroupKey> {
        match self {
            Self::Everything | Self::Subscription(_) => None,
            Self::Group(key) => Some(key),
            Self::Collection(_) | Self::Job(_) => self.collection().map(|collection| &collection.group),
        }
    }

    /// The collection that it is in; none for what is above.
    pub fn collection(&self) -> Option<&CollectionKey> {
        match self {
            Self::Everything | Self::Subscription(_) | Self::Group(_) => None,
            Self::Collection(key) => Some(key),
            Self::Job(key) => Some(&key.collection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_covers_itself_and_what_is_below() {
        let collection = CollectionKey::new("s1", "g1", "c1");
        let other_group = GroupKey { subscription: "s1".into(), name: "g2".into() };
        let scopes = [
            Scope::Everything,
            Scope::Subscription("S1".into()),
            Scope::Group(collection.group.clone()),
            Scope::Collection(collection.clone()),
            Scope::Job(collection.job("j1")),
            Scope::Group(other_group),
            Scope::Subscription("s2".into()),
        ];
        // A row for each covering scope, a column for each covered one.
        let expected = [
            [1, 1, 1, 1, 1, 1, 1],
            [0, 1, 1, 1, 1, 1, 0],
            [0, 0, 1, 1, 1, 0, 0],
            [0, 0, 0, 1, 1, 0, 0],
            [0, 0, 0, 0, 1, 0, 0],
            [0, 0, 0, 0, 0, 1, 0],
            [0, 0, 0, 0, 0, 0, 1],
        ];
        for (above, row) in scopes.iter().zip(expected) {
            for (below, expected) in scopes.iter().zip(row) {
                assert_eq!(above.covers(below), expected == 1, "{above:?} covers {below:?}");
            }
        }
    }
}
