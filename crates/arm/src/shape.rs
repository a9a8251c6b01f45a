//! The members that a request may have, and the unknown members that it has.
//!
//! Under Punctual's own api-version an unknown member is a problem, since it usually is a typing mistake. Under
//! older ones it is ignored, as the original service did, and named in a header of the answer. Known are the
//! members that are read, those that our answers have in the same position, and those that any resource may
//! have: clients send back what they received.

use crate::json::Json;
use crate::reader::{Path, Problems, parse_object, shown};
use crate::suggestion::nearest;
use crate::{ApiVersion, action};

/// The most unknown members that are named; a body can have thousands.
const NAMED_MAX: usize = 50;

/// The longest value of the header that names them, in bytes.
const HEADER_BYTES_MAX: usize = 1024;

/// A member that is known. Those of actions stand beside what reads them.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    below: Below,
    /// Whether it is known only under Punctual's own api-version.
    own: bool,
}

/// What a member may contain.
#[derive(Clone, Copy)]
enum Below {
    /// A plain value, or a map whose names are the caller's own.
    Anything,
    /// An object, or a list of them, with these members.
    Members(&'static [Member]),
}

pub(crate) const fn value(name: &'static str) -> Member {
    Member { name, below: Below::Anything, own: false }
}

const fn own_value(name: &'static str) -> Member {
    Member { name, below: Below::Anything, own: true }
}

pub(crate) const fn object(name: &'static str, members: &'static [Member]) -> Member {
    Member { name, below: Below::Members(members), own: false }
}

/// What any resource may have, at the top and in its properties: az adds a location to jobs, and clients send
/// back the rest.
const OF_A_RESOURCE: [&str; 6] = ["id", "name", "type", "location", "tags", "status"];

/// A job collection.
pub(crate) const COLLECTION: &[Member] = &[object("properties", COLLECTION_PROPERTIES)];

const COLLECTION_PROPERTIES: &[Member] =
    &[object("sku", &[value("name")]), value("state"), object("quota", QUOTA)];

const QUOTA: &[Member] = &[
    value("maxJobCount"),
    value("maxJobOccurrence"),
    object("maxRecurrence", &[value("frequency"), value("interval")]),
];

/// A token of a caller; its name is among those that any resource may have.
pub(crate) const TOKEN: &[Member] = &[object("grants", &[value("role"), value("scope")]), value("expiresAt")];

/// The new secret of a token.
pub(crate) const TOKEN_ROTATION: &[Member] = &[value("expiresAt")];

/// A sign-in with a token.
pub(crate) const SIGN_IN: &[Member] = &[value("token")];

/// A job.
pub(crate) const JOB: &[Member] = &[object("properties", JOB_PROPERTIES)];

/// The properties of a job.
pub(crate) const JOB_PROPERTIES: &[Member] =
    &[value("startTime"), object("action", &action::SHAPE), object("recurrence", RECURRENCE), value("state")];

/// What a preview is asked for with; its properties are checked by themselves.
pub(crate) const PREVIEW: &[Member] =
    &[value("properties"), value("name"), value("now"), value("count"), value("method")];

/// What the effect of a change is asked for with.
pub(crate) const DIFF: &[Member] = &[value("properties"), value("method")];

/// A recurrence.
pub(crate) const RECURRENCE: &[Member] = &[
    value("frequency"),
    value("interval"),
    value("count"),
    value("endTime"),
    object("schedule", SCHEDULE),
    own_value("timeZone"),
];

const SCHEDULE: &[Member] = &[
    value("minutes"),
    value("hours"),
    value("weekDays"),
    value("monthDays"),
    object("monthlyOccurrences", &[value("day"), value("occurrence"), value("Occurrence")]),
    value("months"),
];

/// The unknown members of a body under an api-version that ignores them, as the value of a header.
pub(crate) fn ignored(body: &[u8], shape: &'static [Member], version: ApiVersion) -> Option<String> {
    if version.has_additions() {
        return None;
    }
    // The endpoint refuses a body that is no JSON.
    let document = parse_object(body).ok()?;
    Unknown::of(&document, shape, version).to_header()
}

/// The unknown members of a document.
#[derive(Debug, Default)]
pub(crate) struct Unknown {
    /// Each with its path and a suggestion.
    named: Vec<(String, Option<String>)>,
    count: usize,
}

impl Unknown {
    /// Finds the unknown members of a document with this shape under an api-version.
    pub(crate) fn of(document: &Json<'_>, shape: &'static [Member], version: ApiVersion) -> Self {
        let mut unknown = Self::default();
        unknown.look(document, shape, Path::Root, (shape, version.has_additions()));
        unknown
    }

    /// Finds the unknown members of the properties of a job; what is around them is not checked.
    pub(crate) fn of_properties(properties: &Json<'_>, version: ApiVersion) -> Self {
        let mut unknown = Self::default();
        let path = Path::Member(&Path::Root, "properties");
        unknown.look(properties, JOB_PROPERTIES, path, (JOB, version.has_additions()));
        unknown
    }

    fn look(
        &mut self,
        value: &Json<'_>,
        members: &'static [Member],
        path: Path<'_>,
        whole: (&'static [Member], bool),
    ) {
        match value {
            Json::Object(given) => {
                let of_a_resource = of_a_resource(path);
                for (name, value) in given.iter() {
                    let known = members.iter().find(|one| one.name == name && (whole.1 || !one.own));
                    match known.map(|one| one.below) {
                        None if of_a_resource.contains(&name) => {}
                        None => self.add(name, members, path, whole),
                        Some(Below::Anything) => {}
                        Some(Below::Members(below)) => {
                            self.look(value, below, Path::Member(&path, name), whole);
                        }
                    }
                }
            }
            Json::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look(item, members, Path::Item(&path, index), whole);
                }
            }
            Json::Null | Json::Bool(_) | Json::Integer(_) | Json::Float(_) | Json::Text(_) => {}
        }
    }

    fn add(
        &mut self,
        name: &str,
        siblings: &'static [Member],
        path: Path<'_>,
        (shape, own): (&'static [Member], bool),
    ) {
        self.count += 1;
        if self.named.len() == NAMED_MAX {
            return;
        }
        let siblings = siblings.iter().filter(|one| own || !one.own).map(|one| one.name);
        let meant = nearest(name, siblings.chain(of_a_resource(path).iter().copied())).map(str::to_owned);
        let meant = meant.or_else(|| elsewhere(name, shape, &mut Vec::new(), own));
        self.named.push((Path::Member(&path, &shown(name)).to_string(), meant));
    }

    /// Adds each of them as a problem.
    pub(crate) fn add_to(&self, problems: &mut Problems) {
        for (path, meant) in &self.named {
            let message = match meant {
                Some(meant) => format!("unknown member, did you mean {meant}?"),
                None => "unknown member".to_owned(),
            };
            problems.add_at(path, message);
        }
        if self.count > self.named.len() {
            problems.add_at("", format!("{} more unknown members", self.count - self.named.len()));
        }
    }

    /// Their paths as the value of a header; none if there are none.
    pub(crate) fn to_header(&self) -> Option<String> {
        let mut header = String::new();
        let mut named_count = 0;
        for (path, _) in &self.named {
            let separator = if header.is_empty() { "" } else { ", " };
            let escaped = escape(path);
            if header.len() + separator.len() + escaped.len() > HEADER_BYTES_MAX {
                break;
            }
            header += separator;
            header += &escaped;
            named_count += 1;
        }
        if self.count > named_count {
            header += &format!(", and {} more", self.count - named_count);
        }
        (self.count > 0).then_some(header)
    }
}

/// The members that any resource may have in this position.
fn of_a_resource(path: Path<'_>) -> &'static [&'static str] {
    match path {
        Path::Root | Path::Member(Path::Root, "properties") => &OF_A_RESOURCE,
        Path::Member(..) | Path::Item(..) => &[],
    }
}

/// The path of a known member of this name in another position.
fn elsewhere(
    name: &str,
    members: &'static [Member],
    above: &mut Vec<&'static str>,
    own: bool,
) -> Option<String> {
    let known = members.iter().find(|one| one.name.eq_ignore_ascii_case(name) && (own || !one.own));
    if let Some(known) = known {
        return Some(above.iter().chain([&known.name]).copied().collect::<Vec<_>>().join("."));
    }
    // An error action has the members of an action, which were searched already.
    members.iter().filter(|one| one.name != "errorAction").find_map(|one| match one.below {
        Below::Anything => None,
        Below::Members(below) => {
            above.push(one.name);
            let found = elsewhere(name, below, above, own);
            above.pop();
            found
        }
    })
}

/// A path in the few characters that every client and every log accepts; others are escaped by byte: `%0A`.
fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-[]$".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped += &format!("%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn problems(body: &Value, shape: &'static [Member], version: ApiVersion) -> Vec<String> {
        let mut problems = Problems::default();
        Unknown::of(&body.into(), shape, version).add_to(&mut problems);
        problems.into_vec().iter().map(ToString::to_string).collect()
    }

    fn header(body: &Value) -> Option<String> {
        Unknown::of(&body.into(), JOB, ApiVersion::V2016_03).to_header()
    }

    #[test]
    fn every_unknown_member_is_named_with_what_was_meant() {
        let body = json!({
            "propertys": {},
            "properties": {
                "recurrance": {"frequency": "Day"},
                "schedule": {},
                "action": {
                    "Type": "Http",
                    "request": {"url": "x", "headers": {"anything": "goes"}, "xyzzy": 1},
                    "errorAction": {"queueMessage": {"sastoken": "t"}},
                },
                "recurrence": {"schedule": {"hour": [1], "monthlyOccurrences": [{"day": "Monday", "nth": 1}]}},
            },
        });
        assert_eq!(
            problems(&body, JOB, ApiVersion::V2026_11),
            [
                "propertys: unknown member, did you mean properties?",
                "properties.recurrance: unknown member, did you mean recurrence?",
                "properties.schedule: unknown member, did you mean properties.recurrence.schedule?",
                "properties.action.Type: unknown member, did you mean type?",
                "properties.action.request.url: unknown member, did you mean uri?",
                "properties.action.request.xyzzy: unknown member",
                "properties.action.errorAction.queueMessage.sastoken: unknown member, did you mean sasToken?",
                "properties.recurrence.schedule.hour: unknown member, did you mean hours?",
                "properties.recurrence.schedule.monthlyOccurrences[0].nth: unknown member",
            ]
        );
    }

    #[test]
    fn what_clients_send_back_is_known_and_maps_are_free() {
        let body = json!({
            "id": "i", "name": "n", "type": "t", "location": "l", "tags": {"any": "thing"}, "status": {"x": 1},
            "properties": {
                "state": "enabled", "status": {"executionCount": 1, "lastExecutionTime": "x"},
                "action": {"type": "Http", "request": {"headers": {"X-Any": "v"},
                    "retryPolicy": {"retryCount": 1}, "authentication": {
                        "type": "ClientCertificate", "certificateThumbprint": "x", "certificateExpiration": "x",
                        "certificateExpirationDate": "x", "certificateSubjectName": "x"}},
                    "serviceBusTopicMessage": {"customMessageProperties": {"any": "thing"}}},
            },
        });
        assert_eq!(problems(&body, JOB, ApiVersion::V2026_11), [""; 0]);
        let collection = json!({"id": "i", "type": "t", "tags": {"any": "thing"}, "properties": {
            "sku": {"name": "Free"}, "quota": {"maxRecurrence": {"frequency": "day", "interval": 1}}}});
        assert_eq!(problems(&collection, COLLECTION, ApiVersion::V2026_11), [""; 0]);
        assert_eq!(header(&body), None);
    }

    #[test]
    fn the_header_is_short_and_safe_whatever_the_names_are() {
        let zone = json!({"properties": {"recurrence": {"frequency": "day", "timeZone": "Europe/Berlin"}}});
        assert_eq!(header(&zone).unwrap(), "properties.recurrence.timeZone");
        let odd = json!({"a b": 1, "c\r\nd": 2, "é,": 3, "": 4});
        assert_eq!(header(&odd).unwrap(), "a%20b, c%0D%0Ad, %C3%A9%2C, ");
        let many: Value = (0..9_999).map(|index| (format!("member{index}"), json!(1))).collect();
        let listed = header(&many).unwrap();
        assert!(listed.len() < 1100 && listed.ends_with(", and 9949 more"), "{listed}");
        let long: Value = (0..9).map(|index| (format!("{index}{}", "ü".repeat(9_999)), json!(1))).collect();
        let listed = header(&long).unwrap();
        assert!(listed.len() < 1100 && listed.is_ascii(), "{listed}");
        assert!(problems(&many, JOB, ApiVersion::V2026_11).last().unwrap().starts_with("9949 more unknown"));
    }
}
