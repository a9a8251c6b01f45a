//! The parts of the resource manager around the provider: registration and resource groups.

use punctual_model::{GroupKey, Name};
use serde_json::{Value, json};

use crate::action::texts;
use crate::collection::read_tags;
use crate::json::{Json, Members};
use crate::reader::{Object, Path, Problems, parse_object, shown};
use crate::{ApiError, ApiVersion, Locations, id};

/// The longest location of a group.
const LOCATION_CHARS_MAX: usize = 90;

/// Renders the provider of a subscription. PowerShell reads it before each command.
pub fn render(subscription: &Name, registered: bool, locations: &Locations) -> Value {
    let versions = ApiVersion::OF_PROVIDER.map(ApiVersion::as_str);
    let with_locations = |resource_type: &str, capabilities: &str| {
        json!({
            "resourceType": resource_type,
            "locations": locations.names(),
            "apiVersions": versions,
            "capabilities": capabilities,
        })
    };
    json!({
        "id": format!("/subscriptions/{subscription}/providers/{}", id::NAMESPACE),
        "namespace": id::NAMESPACE,
        "resourceTypes": [
            with_locations("jobcollections", "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove"),
            {"resourceType": "operations", "locations": [], "apiVersions": versions},
            {"resourceType": "operationResults", "locations": [], "apiVersions": versions},
            with_locations("flows", "None"),
        ],
        "registrationState": if registered { "Registered" } else { "NotRegistered" },
    })
}

/// Renders a resource group.
pub fn render_group(key: &GroupKey, location: &str, tags: &[(String, String)]) -> Value {
    let mut members = Members::new();
    members.insert("id", id::group(key).into());
    members.insert("name", key.name.as_str().into());
    members.insert("type", "Microsoft.Resources/resourceGroups".into());
    members.insert("location", location.into());
    if !tags.is_empty() {
        members.insert("tags", texts(tags));
    }
    let mut properties = Members::new();
    properties.insert("provisioningState", "Succeeded".into());
    members.insert("properties", properties.into());
    Json::from(members).to_value()
}

/// Reads the body of a PUT of a resource group: its location and tags. A group may be in any region, but stays
/// in the region that it is in.
pub fn read_group(
    body: &[u8],
    existing_location: Option<&str>,
    locations: &Locations,
) -> Result<(String, Vec<(String, String)>), ApiError> {
    let document = parse_object(body)
        .map_err(|why| ApiError::bad_request(format!("Malformed Resource Group Object: {why}.")))?;
    let mut problems = Problems::default();
    let read = Object::of(&document, Path::Root, &mut problems).and_then(|document| {
        let tags = read_tags(&document, &mut problems);
        let location = document.required_text("location", &mut problems)?;
        if !(1..=LOCATION_CHARS_MAX).contains(&location.chars().count()) {
            let message = format!("must have 1 to {LOCATION_CHARS_MAX} characters");
            document.note("location", message, &mut problems);
        }
        Some((location, tags))
    });
    let (Some((location, tags)), true) = (read, problems.is_empty()) else {
        return Err(ApiError::invalid(&problems.into_vec()));
    };
    match existing_location {
        None => Ok((locations.find(location).unwrap_or(location).to_owned(), tags)),
        Some(existing) if crate::location::same(existing, location) => Ok((existing.to_owned(), tags)),
        Some(existing) => Err(ApiError::group_location_change(existing, &shown(location))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_lists_regions_and_versions() {
        let provider = render(&"s1".into(), true, &Locations::default());
        assert_eq!(provider["id"], "/subscriptions/s1/providers/Microsoft.Scheduler");
        assert_eq!(provider["namespace"], "Microsoft.Scheduler");
        assert_eq!(provider["registrationState"], "Registered");
        let collections = &provider["resourceTypes"][0];
        assert_eq!(collections["resourceType"], "jobcollections");
        assert_eq!(collections["locations"][0], "North Central US");
        let versions = ["2016-03-01", "2026-11-01", "2016-01-01", "2014-08-01-preview"];
        assert_eq!(collections["apiVersions"], json!(versions), "clients take the first");
    }

    #[test]
    fn groups_are_read_and_rendered() {
        let locations = Locations::default();
        let read = |body: &str, existing| read_group(body.as_bytes(), existing, &locations);
        let check = |body: &str, existing, expected: Result<&str, u16>| {
            let location = read(body, existing).map(|(location, _)| location).map_err(|error| error.status);
            assert_eq!(location.as_deref().map_err(|status| *status), expected, "{body}");
        };
        check(r#"{"location": "westus"}"#, None, Ok("West US"));
        check(r#"{"location": "Mars"}"#, None, Ok("Mars"));
        check(r#"{"location": "westus"}"#, Some("West US"), Ok("West US"));
        check(r#"{"location": "East US"}"#, Some("West US"), Err(409));
        check("{}", None, Err(400));
        check("[]", None, Err(400));
        check("", None, Err(400));
        let key = GroupKey { subscription: "s".into(), name: "Rg".into() };
        let group = render_group(&key, "West US", &[("a".into(), "b".into())]);
        assert_eq!(group["id"], "/subscriptions/s/resourceGroups/Rg");
        assert_eq!(group["tags"]["a"], "b");
        assert_eq!(group["properties"]["provisioningState"], "Succeeded");
    }
}
