//! The JSON of requests and answers: a tree that borrows its texts.
//!
//! Objects are lists of members, in their order: those of this API are small, so a linear search is faster than
//! a map, and building one needs no hashing and no copies. Of members with the same name the last one counts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A JSON value. Serialize it, or take it as [bytes](Json::to_bytes).
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// An array.
    List(Vec<Json<'a>>),
    /// An object.
    Object(Members<'a>),
}

/// The members of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Json<'a> {
    /// The bytes of an answer.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a tree of texts and numbers is always JSON")
    }

    /// Converts it to the type of `serde_json`.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("a tree of texts and numbers is always JSON")
    }

    /// A member of an object.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.as_object()?.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Json<'a>> {
        match self {
            Self::Object(members) => members.get_mut(name),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn as_object(&self) -> Option<&Members<'a>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }
}

impl<'a> Members<'a> {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(8))
    }

    /// Adds a member; the caller knows that its name is new.
    pub(crate) fn insert(&mut self, name: impl Into<Cow<'a, str>>, value: Json<'a>) {
        self.0.push((name.into(), value));
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.0.iter().rev().find(|(one, _)| one == name).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Json<'a>> {
        self.0.iter_mut().rev().find(|(one, _)| one == name).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Json<'a>> {
        let last = self.0.iter().rposition(|(one, _)| one == name)?;
        let (_, value) = self.0.remove(last);
        self.0.retain(|(one, _)| one != name);
        Some(value)
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    pub(crate) fn into_vec(self) -> Vec<(Cow<'a, str>, Json<'a>)> {
        self.0
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [(Cow<'a, str>, Json<'a>)] {
        &mut self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Json<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Json<'_> {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Json<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Json<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<&[i64]> for Json<'_> {
    fn from(numbers: &[i64]) -> Self {
        Self::List(numbers.iter().copied().map(Self::Integer).collect())
    }
}

impl<'a> From<Vec<Json<'a>>> for Json<'a> {
    fn from(items: Vec<Json<'a>>) -> Self {
        Self::List(items)
    }
}

impl<'a> From<Members<'a>> for Json<'a> {
    fn from(members: Members<'a>) -> Self {
        Self::Object(members)
    }
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Integer(whole),
                None => Self::Float(number.as_f64().unwrap_or(f64::MAX)),
            },
            Value::String(text) => text.as_str().into(),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| (name.as_str().into(), value.into()));
                Self::Object(Members(members.collect()))
            }
        }
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(i64::try_from(number).map_or(Json::Float(number as f64), Json::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Json::Float(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut members = Members::new();
        while let Some((Name(name), value)) = access.next_entry()? {
            members.insert(name, value);
        }
        Ok(Json::Object(members))
    }
}

/// A member's name, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_tree_and_common_type_say_the_same() {
        let text = r#"{"a":[1,-2,1.5,true,null,"x\ny"],"b\t":{"c":{}},"big":18446744073709551615}"#;
        let tree: Json<'_> = serde_json::from_str(text).unwrap();
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Json::from(&value), tree);
        assert_eq!(tree.get("a").unwrap().to_value(), value["a"]);
        assert_eq!(serde_json::from_slice::<Json<'_>>(&tree.to_bytes()).unwrap(), tree);
    }

    #[test]
    fn the_last_member_of_a_name_counts() {
        let mut tree: Json<'_> = serde_json::from_str(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(tree.get("a"), Some(&Json::Integer(3)));
        let Json::Object(members) = &mut tree else { panic!("it is an object") };
        assert_eq!(members.remove("a"), Some(Json::Integer(3)));
        assert_eq!(members.get("a"), None);
    }
}
