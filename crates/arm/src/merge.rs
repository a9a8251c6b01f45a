//! Merging a PATCH onto what is stored, by the rules of JSON merge patch (RFC 7396).
//!
//! One thing differs from the RFC: a null stays where it is instead of taking the member away. The
//! readers treat both the same, but for secrets, which the stored document does not show: there a null
//! means "remove", and absence "keep".

use serde_json::{Map, Value};

/// Merges `patch` onto `base`. Arrays are replaced whole.
pub(crate) fn merge(base: &mut Value, patch: Value) {
    match patch {
        Value::Object(members) => {
            if !base.is_object() {
                *base = Value::Object(Map::new());
            }
            let Value::Object(base) = base else { return };
            for (name, value) in members {
                if name == "headers" {
                    drop_respelt(base.get_mut("headers"), &value);
                }
                // `insert` would do for both, but keeps no nested members.
                match base.get_mut(&name) {
                    Some(old) => merge(old, value),
                    None => {
                        base.insert(name, value);
                    }
                }
            }
        }
        other => *base = other,
    }
}

/// Header names mean the same in every letter case: the spelling of the patch wins.
fn drop_respelt(headers: Option<&mut Value>, patch: &Value) {
    let (Some(Value::Object(headers)), Value::Object(patch)) = (headers, patch) else { return };
    headers.retain(|name, _| {
        patch.contains_key(name) || !patch.keys().any(|other| other.eq_ignore_ascii_case(name))
    });
}

/// Moves each `retryPolicy` that stands in a `request` by mistake to where it belongs, so that it
/// replaces the stored one.
pub(crate) fn move_misplaced_retry(action: &mut Value) {
    let mut next = Some(action);
    while let Some(Value::Object(action)) = next {
        if !action.contains_key("retryPolicy")
            && let Some(Value::Object(request)) = action.get_mut("request")
            && let Some(policy) = request.remove("retryPolicy")
        {
            action.insert("retryPolicy".into(), policy);
        }
        next = action.get_mut("errorAction");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_merge_arrays_replace_and_nulls_stay() {
        let check = |mut base: Value, patch: Value, expected: Value| {
            merge(&mut base, patch);
            assert_eq!(base, expected);
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
        let mut action = json!({"request": {"uri": "u", "retryPolicy": 1},
            "errorAction": {"retryPolicy": 2, "request": {"retryPolicy": 3}}});
        move_misplaced_retry(&mut action);
        assert_eq!(action["retryPolicy"], 1);
        assert_eq!(action["errorAction"]["retryPolicy"], 2);
    }
}
