//! Lists of resources of any type, of which there is one with a location: job collections.

use punctual_model::{Collection, Name};

use crate::action::texts;
use crate::json::{Json, Members};
use crate::page::{COLLECTIONS_LIMIT, read_collections_token, read_filter};
use crate::reader::shown;
use crate::{ApiError, Query, id, location};

/// Which resources to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcesPage {
    /// Only of this group.
    pub group: Option<Name>,
    /// Only with this name.
    name: Option<Name>,
    /// Only in this region.
    location: Option<String>,
    /// The filter selects another type, or contradicts itself: the list is empty without a look at the store.
    pub empty: bool,
    /// After this collection: its group and its name.
    pub after: Option<(Name, Name)>,
    /// The most resources of the page.
    pub limit: usize,
}

impl ResourcesPage {
    /// Reads the query of a list of resources.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let mut page = Self { limit: COLLECTIONS_LIMIT, ..Self::default() };
        if let Some(text) = query.get("$top") {
            let top: Option<usize> = text.trim().parse().ok().filter(|top| *top > 0);
            let wrong = || {
                ApiError::bad_request(format!(
                    "The $top value '{}' is invalid: it must be 1 or more.",
                    shown(text)
                ))
            };
            page.limit = top.ok_or_else(wrong)?.min(COLLECTIONS_LIMIT);
        }
        let filter = query.get("$filter").unwrap_or_default();
        for condition in read_filter(query).map_err(|_| unknown_filter(filter))? {
            let value = condition.value.as_str();
            let name = Name::new(value);
            match condition.property.as_str() {
                "resourcegroup" => {
                    page.empty |= page.group.replace(name.clone()).is_some_and(|other| other != name);
                }
                "name" => page.empty |= page.name.replace(name.clone()).is_some_and(|other| other != name),
                "resourcetype" => page.empty |= !value.eq_ignore_ascii_case(id::COLLECTION_TYPE),
                "location" => {
                    let other = page.location.replace(value.to_owned());
                    page.empty |= other.is_some_and(|other| !location::same(&other, value));
                }
                _ => return Err(unknown_filter(filter)),
            }
        }
        page.after = query.get("$skiptoken").map(read_collections_token).transpose()?;
        Ok(page)
    }

    /// Whether a collection of the right group is to be listed.
    pub fn selects(&self, collection: &Collection) -> bool {
        self.name.as_ref().is_none_or(|name| *name == collection.key.name)
            && self.location.as_ref().is_none_or(|wanted| location::same(wanted, &collection.location))
    }
}

/// Renders a collection as what every resource has.
pub fn answer(collection: &Collection) -> Json<'_> {
    let mut members = Members::new();
    members.insert("id", id::collection(&collection.key).into());
    members.insert("name", collection.key.name.as_str().into());
    members.insert("type", id::COLLECTION_TYPE.into());
    members.insert("location", collection.location.as_str().into());
    if !collection.tags.is_empty() {
        members.insert("tags", texts(&collection.tags));
    }
    members.into()
}

fn unknown_filter(filter: &str) -> ApiError {
    ApiError::bad_request(format!(
        "The $filter '{}' is invalid: resources are filtered by resourceGroup, name, resourceType and location, such as \
         \"resourceGroup eq 'g1' and name eq 'c1'\"; conditions are joined by 'and'.",
        shown(filter)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_of_az_are_read() {
        let all = ResourcesPage { limit: 1000, ..ResourcesPage::default() };
        let check = |raw: &str, expected: Option<ResourcesPage>| {
            assert_eq!(ResourcesPage::read(&Query::decode(raw)).ok(), expected, "{raw}");
        };
        let named = ResourcesPage { name: Some("c".into()), ..all.clone() };
        check("", Some(all.clone()));
        check("$expand=createdTime,changedTime&$top=5", Some(ResourcesPage { limit: 5, ..all.clone() }));
        check("$filter=name eq 'C'", Some(named.clone()));
        check(
            "$filter=name eq 'c' and resourceType eq 'microsoft.scheduler/jobcollections'",
            Some(named.clone()),
        );
        check(
            "$filter=resourceGroup eq 'g' and name eq 'c'",
            Some(ResourcesPage { group: Some("g".into()), ..named.clone() }),
        );
        check(
            "$filter=name eq 'c' and name eq 'd'",
            Some(ResourcesPage { name: Some("d".into()), empty: true, ..all.clone() }),
        );
        check(
            "$filter=resourceType eq 'Microsoft.Storage/storageAccounts'",
            Some(ResourcesPage { empty: true, ..all }),
        );
        for wrong in [
            "$filter=tagName eq 'a'",
            "$filter=startswith(name, 'a')",
            "$filter=name eq 'a' or name eq 'b'",
            "$top=0",
            "$skiptoken=x",
        ] {
            check(wrong, None);
        }
    }
}
