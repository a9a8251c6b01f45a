//! Resource ids, names and types, and what a name may be.

use punctual_model::{CollectionKey, GroupKey, JobKey, Name, Scope};

use crate::ApiError;
use crate::reader::shown;

/// The provider's namespace.
pub const NAMESPACE: &str = "Microsoft.Scheduler";
/// The type of a collection.
pub const COLLECTION_TYPE: &str = "Microsoft.Scheduler/jobCollections";
/// The type of a job.
pub const JOB_TYPE: &str = "Microsoft.Scheduler/jobCollections/jobs";
/// The type of a history record.
pub const HISTORY_TYPE: &str = "Microsoft.Scheduler/jobCollections/jobs/history";

/// `/subscriptions/{s}/resourceGroups/{rg}`.
pub fn group(key: &GroupKey) -> String {
    format!("/subscriptions/{}/resourceGroups/{}", key.subscription, key.name)
}

/// The id of a collection.
pub fn collection(key: &CollectionKey) -> String {
    format!(
        "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Scheduler/jobCollections/{}",
        key.group.subscription, key.group.name, key.name
    )
}

/// The id of a job.
pub fn job(key: &JobKey) -> String {
    let CollectionKey { group, name } = &key.collection;
    format!(
        "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Scheduler/jobCollections/{name}/jobs/{}",
        group.subscription, group.name, key.name
    )
}

/// The id of whatever a scope is; `/` for everything.
pub fn scope(scope: &Scope) -> String {
    match scope {
        Scope::Everything => "/".to_owned(),
        Scope::Subscription(name) => format!("/subscriptions/{name}"),
        Scope::Group(key) => group(key),
        Scope::Collection(key) => collection(key),
        Scope::Job(key) => job(key),
    }
}

/// The name that a job has in answers: `collection/job`.
pub fn job_name(key: &JobKey) -> String {
    format!("{}/{}", key.collection.name, key.name)
}

/// Checks the names of a new collection, its group and its subscription.
pub fn check_collection(key: &CollectionKey) -> Result<(), ApiError> {
    check_group(&key.group)?;
    let name = key.name.as_str();
    let fits = (1..=100).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'));
    let rule = "1 to 100 characters: a letter, then letters, digits, '-' and '_'";
    refuse_unless(fits, "job collection", &key.name, rule)
}

/// Checks the name of a new job; that of its collection was checked when it was created.
pub fn check_job(key: &JobKey) -> Result<(), ApiError> {
    let name = key.name.as_str();
    let fits = (1..=260).contains(&name.chars().count())
        && name.trim() == name
        && !matches!(name, "." | "..")
        && !name.chars().any(|one| {
            one.is_control() || matches!(one, '/' | '?' | '#' | '\\' | '%' | '&' | '<' | '>' | '*')
        });
    let rule = "1 to 260 characters, none of them / ? # \\ % & < > * or a control character, \
                without blanks around it";
    refuse_unless(fits, "job", &key.name, rule)
}

/// Checks the names of a new group and of its subscription.
pub fn check_group(key: &GroupKey) -> Result<(), ApiError> {
    check_subscription(&key.subscription)?;
    let name = key.name.as_str();
    let fits = (1..=90).contains(&name.chars().count())
        && !name.ends_with('.')
        && name.chars().all(|one| one.is_alphanumeric() || matches!(one, '-' | '_' | '.' | '(' | ')'));
    let rule = "1 to 90 letters, digits, '-', '_', '.', '(' and ')', not ending with a period";
    refuse_unless(fits, "resource group", &key.name, rule)
}

/// Judges the name of a subscription.
pub fn check_subscription(name: &Name) -> Result<(), ApiError> {
    let written = name.as_str();
    let fits = (1..=64).contains(&written.len())
        && written.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'));
    refuse_unless(fits, "subscription", name, "1 to 64 letters, digits, '-' and '_'")
}

fn refuse_unless(fits: bool, what: &str, name: &Name, rule: &str) -> Result<(), ApiError> {
    if fits {
        return Ok(());
    }
    let message = format!("The {what} name '{}' is invalid: it must be {rule}.", shown(name.as_str()));
    Err(ApiError::bad_request(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_have_the_shapes_that_clients_split() {
        let key = CollectionKey::new("S1", "Rg", "Jc").job("J1");
        assert_eq!(
            job(&key),
            "/subscriptions/S1/resourceGroups/Rg/providers/Microsoft.Scheduler/jobCollections/Jc/jobs/J1"
        );
        assert_eq!(job(&key), format!("{}/jobs/J1", collection(&key.collection)));
        assert!(collection(&key.collection).starts_with(&group(&key.collection.group)));
        assert_eq!(job_name(&key), "Jc/J1");
    }

    #[test]
    fn names_are_judged() {
        let check = |name: &str, as_collection: bool, as_job: bool, as_group: bool| {
            let key = CollectionKey::new("s", "g", name);
            assert_eq!(check_collection(&key).is_ok(), as_collection, "collection {name:?}");
            assert_eq!(
                check_job(&CollectionKey::new("s", "g", "c").job(name)).is_ok(),
                as_job,
                "job {name:?}"
            );
            let key = GroupKey { subscription: "s".into(), name: name.into() };
            assert_eq!(check_group(&key).is_ok(), as_group, "group {name:?}");
        };
        check("jc17867", true, true, true);
        check("WebJobs-SouthCentralUS", true, true, true);
        check("http_job", true, true, true);
        check("0b5c3c1e-4fa8-4e46-a967-a9214aed43ab", false, true, true);
        check("my job", false, true, false);
        check("group(1).x", false, true, true);
        check("ends.", false, true, false);
        check("Zoë", false, true, true);
        check("", false, false, false);
        check("..", false, false, false);
        check(" x", false, false, false);
        check("a/b", false, false, false);
        check("a%b", false, false, false);
        check("a\nb", false, false, false);
        check(&"a".repeat(100), true, true, false);
        check(&"a".repeat(261), false, false, false);
    }
}
