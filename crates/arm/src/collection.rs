//! Job collections: from a request to the model and back.

use crate::json::{Json, Members};
use jiff::Timestamp;
use punctual_model::{
    Collection, CollectionKey, CollectionState, Limits, MaxRecurrence, PlanLimits, Quota, Sku,
};
use punctual_recurrence::Frequency;

use crate::action::texts;
use crate::merge::merge;
use crate::reader::{Object, Path, Problems, parse_object, shown};
use crate::shape::{self, Unknown};
use crate::{ApiError, ApiVersion, Locations, id, location, quota};

/// Limits of the resource manager.
const TAG_COUNT_MAX: usize = 50;
const TAG_NAME_CHARS_MAX: usize = 512;
const TAG_VALUE_CHARS_MAX: usize = 256;

/// What reading a collection depends on besides the body.
#[derive(Clone, Copy, Debug)]
pub struct CollectionContext<'a> {
    /// The request's.
    pub version: ApiVersion,
    /// The regions that collections may be in.
    pub locations: &'a Locations,
    /// What the server allows.
    pub limits: Limits,
    /// The time of the request.
    pub now: Timestamp,
}

/// Reads the body of a PUT: the new collection, with the revision of the existing one.
pub fn read_put(
    body: &[u8],
    key: &CollectionKey,
    existing: Option<&Collection>,
    context: &CollectionContext<'_>,
) -> Result<Collection, ApiError> {
    let document = parse(body)?;
    let unknown = Unknown::of(&document, shape::COLLECTION, context.version);
    read_document(&document, key, existing, &unknown, context)
}

/// Reads the body of a PATCH onto the stored collection: absent members keep their value, null removes, tags
/// are replaced as a whole.
pub fn read_patch(
    body: &[u8],
    existing: &Collection,
    context: &CollectionContext<'_>,
) -> Result<Collection, ApiError> {
    let patch = parse(body)?;
    let unknown = Unknown::of(&patch, shape::COLLECTION, context.version);
    let mut document = answer(existing, context.version);
    if let Some(quota) = existing.quota.as_ref()
        && let Some(occurrences) = quota.job_occurrence_max
        && let Some(Json::Object(shown)) =
            document.get_mut("properties").and_then(|properties| properties.get_mut("quota"))
    {
        shown.insert("maxJobOccurrence", occurrences.into());
    }
    if patch.get("tags").is_some()
        && let Json::Object(members) = &mut document
    {
        members.remove("tags");
    }
    merge(&mut document, patch);
    read_document(&document, &existing.key, Some(existing), &unknown, context)
}

/// The unknown members of a body, which are ignored under this api-version, as the value of a header.
pub fn ignored(body: &[u8], version: ApiVersion) -> Option<String> {
    shape::ignored(body, shape::COLLECTION, version)
}

fn parse(body: &[u8]) -> Result<Json<'_>, ApiError> {
    parse_object(body)
        .map_err(|why| ApiError::bad_request(format!("Malformed Job Collection Object: {why}.")))
}

fn read_document(
    document: &Json<'_>,
    key: &CollectionKey,
    existing: Option<&Collection>,
    unknown: &Unknown,
    context: &CollectionContext<'_>,
) -> Result<Collection, ApiError> {
    let mut problems = Problems::default();
    if context.version.has_additions() {
        unknown.add_to(&mut problems);
    }
    let collection = read_members(document, key, existing, context, &mut problems)?;
    match collection {
        Some(collection) if problems.is_empty() => Ok(collection),
        _ => Err(ApiError::invalid(&problems.into_vec())),
    }
}

/// `None` only with a problem. Regions have errors of their own, which come before other problems.
fn read_members(
    document: &Json<'_>,
    key: &CollectionKey,
    existing: Option<&Collection>,
    context: &CollectionContext<'_>,
    problems: &mut Problems,
) -> Result<Option<Collection>, ApiError> {
    let Some(document) = Object::of(document, Path::Root, problems) else { return Ok(None) };
    if document.text("name", problems).is_some_and(|name| key.name != name.into()) {
        document.note("name", format!("must be '{}', as in the URL", key.name), problems);
    }
    let location = read_location(&document, key, existing, context.locations, problems)?;
    let tags = read_tags(&document, problems);
    let properties = document.get("properties");
    let path = document.at("properties");
    let properties = properties.and_then(|value| Object::of(value, path, problems));
    let properties = properties.as_ref();
    let sku = properties.and_then(|properties| read_sku(properties, existing, context.version, problems));
    let sku = sku.unwrap_or(Sku::Standard);
    let state = properties.and_then(|properties| read_state(properties, problems));
    let state = state.or(existing.map(|collection| collection.state)).unwrap_or(CollectionState::Enabled);
    let quota = properties.and_then(|properties| read_quota(properties, context.limits.of(sku), problems));
    let Some(location) = location else { return Ok(None) };
    Ok(Some(Collection {
        key: existing.map_or_else(|| key.clone(), |collection| collection.key.clone()),
        location,
        tags,
        sku,
        state,
        quota,
        created_at: existing.map_or(context.now, |collection| collection.created_at),
        revision: existing.map_or(0, |collection| collection.revision),
    }))
}

/// A collection stays in its region, even if that is not on the list any more.
fn read_location(
    document: &Object<'_>,
    key: &CollectionKey,
    existing: Option<&Collection>,
    locations: &Locations,
    problems: &mut Problems,
) -> Result<Option<String>, ApiError> {
    let written = document.text("location", problems);
    match (written, existing) {
        (None, Some(collection)) => Ok(Some(collection.location.clone())),
        (None, None) => {
            if document.get("location").is_none() {
                document.note("location", "is required", problems);
            }
            Ok(None)
        }
        (Some(written), Some(collection)) if location::same(written, &collection.location) => {
            Ok(Some(collection.location.clone()))
        }
        (Some(written), existing) => {
            let known =
                locations.find(written).ok_or_else(|| ApiError::unknown_location(written, locations))?;
            match existing {
                None => Ok(Some(known.to_owned())),
                Some(collection) => Err(ApiError::location_change(key, &collection.location, known)),
            }
        }
    }
}

/// Reads the `tags` of a resource.
pub(crate) fn read_tags(document: &Object<'_>, problems: &mut Problems) -> Vec<(String, String)> {
    let tags = document.texts("tags", problems);
    if tags.len() > TAG_COUNT_MAX {
        document.note("tags", format!("must be at most {TAG_COUNT_MAX}, not {}", tags.len()), problems);
    }
    for (name, value) in &tags {
        let fits = (1..=TAG_NAME_CHARS_MAX).contains(&name.chars().count())
            && value.chars().count() <= TAG_VALUE_CHARS_MAX;
        if !fits {
            let message = format!(
                "'{}' must have a name of 1 to {TAG_NAME_CHARS_MAX} characters and a value of at most \
                 {TAG_VALUE_CHARS_MAX}",
                shown(name)
            );
            document.note("tags", message, problems);
        }
    }
    tags
}

fn read_sku(
    properties: &Object<'_>,
    existing: Option<&Collection>,
    version: ApiVersion,
    problems: &mut Problems,
) -> Option<Sku> {
    let sku = Object::of(properties.get("sku")?, properties.at("sku"), problems)?;
    if !version.has_one_premium() {
        let known = [
            ("Free", Sku::Free),
            ("Standard", Sku::Standard),
            ("P10Premium", Sku::P10Premium),
            ("P20Premium", Sku::P20Premium),
        ];
        return sku.name_of("name", &known, problems);
    }
    // An old client can only write `Premium`, which must not change the premium plan of a collection.
    let premium = existing.map(|collection| collection.sku);
    let premium =
        premium.filter(|sku| matches!(sku, Sku::P10Premium | Sku::P20Premium)).unwrap_or(Sku::Premium);
    sku.name_of("name", &[("Standard", Sku::Standard), ("Free", Sku::Free), ("Premium", premium)], problems)
}

fn read_state(properties: &Object<'_>, problems: &mut Problems) -> Option<CollectionState> {
    let known = [
        ("Enabled", CollectionState::Enabled),
        ("Disabled", CollectionState::Disabled),
        ("Suspended", CollectionState::Suspended),
    ];
    properties.name_of("state", &known, problems)
}

fn read_quota(properties: &Object<'_>, plan: &PlanLimits, problems: &mut Problems) -> Option<Quota> {
    let quota = Object::of(properties.get("quota")?, properties.at("quota"), problems)?;
    let max = i64::from(plan.job_count_max);
    let job_count_max = quota.integer("maxJobCount", problems).and_then(|given| {
        if given > max {
            let message = format!(
                "The maximum job count quota has a value that is too large; this quota cannot be set higher \
                 then '{max}' ('{given}' was provided)."
            );
            quota.note("maxJobCount", message, problems);
        } else if given < 1 {
            quota.note("maxJobCount", format!("must be from 1 to {max}, not {given}"), problems);
        }
        u32::try_from(given).ok()
    });
    let recurrence_max = quota.get("maxRecurrence").and_then(|value| {
        let recurrence = Object::of(value, quota.at("maxRecurrence"), problems)?;
        read_max_recurrence(&recurrence, plan.recurrence_max, problems)
    });
    let job_occurrence_max = quota.integer("maxJobOccurrence", problems);
    let quota = Quota { job_count_max, job_occurrence_max, recurrence_max };
    (quota != Quota::default()).then_some(quota)
}

fn read_max_recurrence(
    recurrence: &Object<'_>,
    limit: MaxRecurrence,
    problems: &mut Problems,
) -> Option<MaxRecurrence> {
    if recurrence.get("frequency").is_none() {
        recurrence.note("frequency", "is required", problems);
    }
    let known = [
        ("Minute", Frequency::Minute),
        ("Hour", Frequency::Hour),
        ("Day", Frequency::Day),
        ("Week", Frequency::Week),
        ("Month", Frequency::Month),
        ("Year", Frequency::Year),
    ];
    let frequency = recurrence.name_of("frequency", &known, problems)?;
    let interval = recurrence.integer("interval", problems).unwrap_or(1);
    let max = frequency.interval_max();
    if !(1..=max).contains(&interval) {
        let message = format!("must be from 1 to {max} with frequency {frequency}, not {interval}");
        recurrence.note("interval", message, problems);
        return None;
    }
    let interval = u32::try_from(interval).ok()?;
    let given = MaxRecurrence { frequency, interval };
    if given.seconds() < limit.seconds() {
        let message = format!(
            "The provided maxRecurrence for job collection quota {} exceeds the permissible limit ({}).",
            quota::shown(given),
            quota::shown(limit)
        );
        problems.add(recurrence.path(), message);
    }
    Some(given)
}

/// Renders a collection.
pub fn answer(collection: &Collection, version: ApiVersion) -> Json<'_> {
    let mut sku = Members::new();
    sku.insert("name", sku_name(collection.sku, version).into());
    let mut properties = Members::new();
    properties.insert("sku", sku.into());
    properties.insert("state", state_name(collection.state).into());
    if let Some(quota) = &collection.quota {
        properties.insert("quota", render_quota(quota));
    }
    let mut members = Members::new();
    members.insert("id", id::collection(&collection.key).into());
    members.insert("type", id::COLLECTION_TYPE.into());
    members.insert("name", collection.key.name.as_str().into());
    members.insert("location", collection.location.as_str().into());
    if !collection.tags.is_empty() {
        members.insert("tags", texts(&collection.tags));
    }
    members.insert("properties", properties.into());
    members.into()
}

/// `maxJobOccurrence` is stored and never shown, as in the original service.
fn render_quota(quota: &Quota) -> Json<'_> {
    let mut members = Members::new();
    if let Some(count) = quota.job_count_max {
        members.insert("maxJobCount", count.into());
    }
    if let Some(recurrence) = quota.recurrence_max {
        let mut fastest = Members::new();
        fastest.insert("frequency", recurrence.frequency.name().into());
        fastest.insert("interval", recurrence.interval.into());
        members.insert("maxRecurrence", fastest.into());
    }
    members.into()
}

pub(crate) fn state_name(state: CollectionState) -> &'static str {
    match state {
        CollectionState::Enabled => "Enabled",
        CollectionState::Disabled => "Disabled",
        CollectionState::Suspended => "Suspended",
    }
}

/// The name of a plan under an api-version.
pub(crate) fn sku_name(sku: Sku, version: ApiVersion) -> &'static str {
    match sku {
        Sku::Free => "Free",
        Sku::Standard => "Standard",
        Sku::Premium | Sku::P10Premium | Sku::P20Premium if version.has_one_premium() => "Premium",
        Sku::Premium | Sku::P10Premium => "P10Premium",
        Sku::P20Premium => "P20Premium",
    }
}
