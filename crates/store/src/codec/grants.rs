//! What a token grants, as it is stored: a version, and for each grant the number of its role and the names of
//! its scope from the subscription down.

use punctual_model::access::{Grant, Role};
use punctual_model::{CollectionKey, GroupKey, Scope};

use super::{CodecError, Number, VERSION};

/// Encodes grants.
pub fn encode_grants(grants: &[Grant]) -> Vec<u8> {
    let pairs: Vec<(u8, Vec<&str>)> =
        grants.iter().map(|grant| (grant.role.number(), names(&grant.scope))).collect();
    let mut document = vec![VERSION];
    serde_json::to_writer(&mut document, &pairs).expect("numbers and texts can be written to memory");
    document
}

/// Decodes grants.
pub fn decode_grants(document: &[u8]) -> Result<Vec<Grant>, CodecError> {
    let (&version, body) = document.split_first().ok_or(CodecError::UnknownVersion)?;
    if version != VERSION {
        return Err(CodecError::UnknownVersion);
    }
    let pairs: Vec<(i64, Vec<String>)> =
        serde_json::from_slice(body).map_err(|error| CodecError::Damaged { column: error.column() })?;
    let grant = |(role, names): (i64, Vec<String>)| {
        let role = Role::from_number(role).ok_or(CodecError::Invalid { what: "role" })?;
        Ok(Grant { role, scope: scope(&names).ok_or(CodecError::Invalid { what: "scope" })? })
    };
    pairs.into_iter().map(grant).collect()
}

pub(super) fn names(scope: &Scope) -> Vec<&str> {
    let names = [
        scope.subscription(),
        scope.group().map(|group| &group.name),
        scope.collection().map(|collection| &collection.name),
        match scope {
            Scope::Job(key) => Some(&key.name),
            Scope::Everything | Scope::Subscription(_) | Scope::Group(_) | Scope::Collection(_) => None,
        },
    ];
    names.into_iter().flatten().map(punctual_model::Name::as_str).collect()
}

pub(super) fn scope(names: &[String]) -> Option<Scope> {
    match names {
        [] => Some(Scope::Everything),
        [subscription] => Some(Scope::Subscription(subscription.as_str().into())),
        [subscription, group] => {
            let (subscription, name) = (subscription.as_str().into(), group.as_str().into());
            Some(Scope::Group(GroupKey { subscription, name }))
        }
        [subscription, group, name] => {
            Some(Scope::Collection(CollectionKey::new(subscription.as_str(), group.as_str(), name.as_str())))
        }
        [subscription, group, collection, name] => {
            let collection = CollectionKey::new(subscription.as_str(), group.as_str(), collection.as_str());
            Some(Scope::Job(collection.job(name.as_str())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_does_not_change() {
        let collection = CollectionKey::new("s1", "g1", "c1");
        let grants = [
            Grant { role: Role::Reader, scope: Scope::Everything },
            Grant { role: Role::Owner, scope: Scope::Subscription("s1".into()) },
            Grant { role: Role::Operator, scope: Scope::Group(collection.group.clone()) },
            Grant { role: Role::Contributor, scope: Scope::Collection(collection.clone()) },
            Grant { role: Role::Reader, scope: Scope::Job(collection.job("j1")) },
        ];
        let document = encode_grants(&grants);
        let expected =
            r#"1[[0,[]],[3,["s1"]],[1,["s1","g1"]],[2,["s1","g1","c1"]],[0,["s1","g1","c1","j1"]]]"#;
        assert_eq!(std::str::from_utf8(&document).unwrap(), expected);
        assert_eq!(decode_grants(&document).unwrap(), grants);
    }

    #[test]
    fn what_is_damaged_grants_nothing() {
        let check = |document: &[u8], expected: &str| {
            assert_eq!(decode_grants(document).unwrap_err().to_string(), expected);
        };
        check(b"", "the document has a version that this program does not know");
        check(b"2[]", "the document has a version that this program does not know");
        check(b"1[[9,[]]]", "the document has no valid role");
        check(br#"1[[0,["a","b","c","d","e"]]]"#, "the document has no valid scope");
        check(b"1[[0]]", "the document is damaged at column 4");
    }
}
