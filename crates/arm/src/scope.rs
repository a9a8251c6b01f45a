//! Finds the scope that the path of a request names.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use punctual_model::{CollectionKey, GroupKey, JobKey, Name, Scope};

use crate::id;
use crate::reader::shown;

/// A path with each run of slashes as one: az writes two where a resource has no parent.
pub fn collapsed(path: &str) -> Cow<'_, str> {
    if !path.contains("//") {
        return Cow::Borrowed(path);
    }
    let mut collapsed = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter != '/' || !collapsed.ends_with('/') {
            collapsed.push(letter);
        }
    }
    Cow::Owned(collapsed)
}

/// Splits a path into the narrowest scope that it names and the rest, without slashes around it:
/// `/subscriptions/s/resourceGroups/g/providers` is the group `g` and `providers`. Fixed segments match in any
/// letter case, names keep theirs. A slash at the end is ignored. None if the path does not begin with a slash,
/// or if a name is empty or not UTF-8.
pub fn split_path(path: &str) -> Option<(Scope, &str)> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    let Some((subscription, rest)) = named(path, &["subscriptions"]) else {
        return Some((Scope::Everything, path));
    };
    let subscription = name(subscription)?;
    let Some((group, tail)) = named(rest, &["resourceGroups"]) else {
        return Some((Scope::Subscription(subscription), rest));
    };
    let group = GroupKey { subscription, name: name(group)? };
    let Some((collection, rest)) = named(tail, &["providers", "Microsoft.Scheduler", "jobCollections"])
    else {
        return Some((Scope::Group(group), tail));
    };
    let collection = CollectionKey { group, name: name(collection)? };
    let Some((job, tail)) = named(rest, &["jobs"]) else {
        return Some((Scope::Collection(collection), rest));
    };
    Some((Scope::Job(JobKey { collection, name: name(job)? }), tail))
}

/// Reads the scope of a grant: everything, a subscription, a group or a collection, whether it exists or not. Says
/// what is wrong with it.
pub fn read_scope(text: &str) -> Result<Scope, String> {
    let unknown = || {
        let known =
            "/, /subscriptions/{s}, /subscriptions/{s}/resourceGroups/{g} or the id of a job collection";
        format!("'{}' is no scope: use {known}", shown(text))
    };
    // No name in a scope has a percent sign, so that nothing needs to be encoded.
    let scope = match split_path(text) {
        Some((scope, "")) if !text.contains('%') && !text.contains("//") => scope,
        Some(_) | None => return Err(unknown()),
    };
    let checked = match &scope {
        Scope::Everything => Ok(()),
        Scope::Subscription(name) => id::check_subscription(name),
        Scope::Group(key) => id::check_group(key),
        Scope::Collection(key) => id::check_collection(key),
        Scope::Job(_) => {
            return Err("names a job: grants are given on its collection".to_owned());
        }
    };
    checked.map(|()| scope).map_err(|error| error.message.trim_end_matches('.').to_owned())
}

/// The segment after these literals, and the rest; none if the path does not begin with them or ends there.
fn named<'a>(path: &'a str, literals: &[&str]) -> Option<(&'a str, &'a str)> {
    let mut rest = path;
    for literal in literals {
        let (segment, behind) = rest.split_once('/')?;
        if !segment.eq_ignore_ascii_case(literal) {
            return None;
        }
        rest = behind;
    }
    Some(rest.split_once('/').unwrap_or((rest, "")))
}

fn name(segment: &str) -> Option<Name> {
    let decoded = percent_decode_str(segment).decode_utf8().ok()?;
    (!decoded.is_empty()).then(|| Name::new(decoded.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_narrowest_scope_that_is_whole() {
        let check =
            |path: &str, expected: Option<(Scope, &str)>| assert_eq!(split_path(path), expected, "{path}");
        let group = GroupKey { subscription: "s".into(), name: "g".into() };
        let collection = CollectionKey::new("s", "g", "c");
        let base = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
        check("/", Some((Scope::Everything, "")));
        check("/healthz", Some((Scope::Everything, "healthz")));
        check("/subscriptions", Some((Scope::Everything, "subscriptions")));
        check("/subscriptions/s", Some((Scope::Subscription("s".into()), "")));
        check("/subscriptions/s/resourceGroups", Some((Scope::Subscription("s".into()), "resourceGroups")));
        check("/subscriptions/s/resourceGroups/g/", Some((Scope::Group(group.clone()), "")));
        let tail = "providers/Microsoft.Scheduler/jobCollections";
        check(base, Some((Scope::Group(group.clone()), tail)));
        check(&format!("{base}/c"), Some((Scope::Collection(collection.clone()), "")));
        check(&format!("{base}/c/jobs/"), Some((Scope::Collection(collection.clone()), "jobs")));
        check(&format!("{base}/c/jobs/j%20k"), Some((Scope::Job(collection.job("j k")), "")));
        check(&format!("{base}/c/jobs/j/run/1"), Some((Scope::Job(collection.job("j")), "run/1")));
        let other = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/x/y";
        check(other, Some((Scope::Group(group), "providers/Microsoft.Storage/x/y")));
    }

    #[test]
    fn the_scope_of_a_grant_is_read() {
        let check = |text: &str, expected: Result<Scope, &str>| {
            assert_eq!(
                read_scope(text).map_err(|why| why.replace(&format!("'{text}'"), "it")),
                expected.map_err(str::to_owned),
                "{text}"
            );
        };
        let collection = CollectionKey::new("s", "g", "c");
        let base = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";
        check("/", Ok(Scope::Everything));
        check("/subscriptions/s", Ok(Scope::Subscription("s".into())));
        check("/subscriptions/S/resourcegroups/G/", Ok(Scope::Group(collection.group.clone())));
        check(base, Ok(Scope::Collection(collection)));
        let none = "it is no scope: use /, /subscriptions/{s}, /subscriptions/{s}/resourceGroups/{g} or the id of a job \
                    collection";
        for wrong in
            ["", "s1", "//", "/healthz", "/subscriptions", "/subscriptions/s/x", "/subscriptions/%73"]
        {
            check(wrong, Err(none));
        }
        check(&format!("{base}/jobs/j"), Err("names a job: grants are given on its collection"));
        let name = "The subscription name 's s' is invalid: it must be 1 to 64 letters, digits, '-' and '_'";
        check("/subscriptions/s s", Err(name));
    }

    #[test]
    fn runs_of_slashes_are_one() {
        let check = |path: &str, expected: &str| assert_eq!(collapsed(path), expected, "{path}");
        check("/a/b", "/a/b");
        check("//a///b//", "/a/b/");
        check("//", "/");
        check("", "");
    }

    #[test]
    fn a_path_with_a_bad_name_names_nothing() {
        for path in ["", "healthz", "/subscriptions//x", "/subscriptions/s/resourceGroups/%ff"] {
            assert_eq!(split_path(path), None, "{path}");
        }
    }

    #[test]
    fn fixed_segments_match_in_any_case_and_names_keep_theirs() {
        let path =
            "/Subscriptions/S1/RESOURCEGROUPS/Rg/Providers/microsoft.SCHEDULER/JobCollections/JC/JOBS/Jobs";
        let Some((Scope::Job(key), "")) = split_path(path) else { panic!("{path} is a job") };
        assert_eq!(key.name.as_str(), "Jobs");
        assert_eq!(key.collection.name.as_str(), "JC");
        assert_eq!(key.collection.group.name.as_str(), "Rg");
        assert_eq!(key.collection.group.subscription.as_str(), "S1");
    }
}
