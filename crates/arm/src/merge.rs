//! Merges a PATCH onto what is stored, by the rules of JSON merge patch (RFC 7396).
//!
//! One thing differs from the RFC: a null stays instead of removing the member. Readers treat both the same,
//! except for secrets, which the stored document does not contain: there a null means "remove", and absence
//! "keep".

use crate::json::{Json, Members};

/// Merges `patch` onto `base`. Arrays are replaced as a whole.
pub(crate) fn merge<'a>(base: &mut Json<'a>, patch: Json<'a>) {
    let Json::Object(members) = patch else {
        *base = patch;
        return;
    };
    if base.as_object().is_none() {
        *base = Json::Object(Members::new());
    }
    let Json::Object(base) = base else { return };
    if let Some(Json::Object(headers)) = members.get("headers")
        && let Some(Json::Object(stored)) = base.get_mut("headers")
    {
        drop_respelt(stored, headers);
    }
    // Only members that exist can be merged, which keeps a patch of thousands of members cheap.
    let known = base.len();
    for (name, value) in members.into_vec() {
        match base.as_mut_slice()[..known].iter_mut().find(|(one, _)| *one == name) {
            Some((_, old)) => merge(old, value),
            None => base.insert(name, value),
        }
    }
}

/// Header names are equal in every letter case: the spelling of the patch wins.
fn drop_respelt(headers: &mut Members<'_>, patch: &Members<'_>) {
    headers.retain(|name| {
        patch.get(name).is_some() || !patch.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    });
}

/// Moves each `retryPolicy` that is in a `request` by mistake to where it belongs, so that it replaces the
/// stored one.
pub(crate) fn move_misplaced_retry(action: &mut Json<'_>) {
    let mut next = Some(action);
    while let Some(Json::Object(action)) = next {
        if action.get("retryPolicy").is_none()
            && let Some(Json::Object(request)) = action.get_mut("request")
            && let Some(policy) = request.remove("retryPolicy")
        {
            action.insert("retryPolicy", policy);
        }
        next = action.get_mut("errorAction");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn members_merge_arrays_replace_and_nulls_stay() {
        let check = |base: Value, patch: Value, expected: Value| {
            let mut base = Json::from(&base);
            merge(&mut base, Json::from(&patch));
            assert_eq!(base.to_value(), expected);
        };
        check(json!({"a": 1, "b": {"c": 2}}), json!({"b": {"d": 3}}), json!({"a": 1, "b": {"c": 2, "d": 3}}));
        check(json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]}));
        check(json!({"a": {"b": 1}}), json!({"a": null}), json!({"a": null}));
        check(json!({"a": 1}), json!({"a": {"b": null}}), json!({"a": {"b": null}}));
        check(
            json!({"headers": {"Content-Type": "a", "X": "b"}}),
            json!({"headers": {"content-type": "c"}}),
            json!({"headers": {"X": "b", "content-type": "c"}}),
        );
    }

    #[test]
    fn misplaced_policies_move_up_at_every_level() {
        let action = json!({"request": {"uri": "u", "retryPolicy": 1},
            "errorAction": {"retryPolicy": 2, "request": {"retryPolicy": 3}}});
        let mut action = Json::from(&action);
        move_misplaced_retry(&mut action);
        let action = action.to_value();
        assert_eq!(action["retryPolicy"], 1);
        assert_eq!(action["errorAction"]["retryPolicy"], 2);
    }
}
