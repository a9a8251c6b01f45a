//! Finds the scope that the path of a request names.

use percent_encoding::percent_decode_str;
use punctual_model::{CollectionKey, GroupKey, JobKey, Name, Scope};

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
