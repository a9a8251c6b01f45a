//! Subscriptions, tenants and locations, which clients list when they sign in.

use punctual_model::Name;
use serde_json::{Value, json};

use crate::Locations;

/// Renders a subscription.
pub fn render(name: &Name, tenant: &str) -> Value {
    json!({
        "id": format!("/subscriptions/{name}"),
        "subscriptionId": name.as_str(),
        "tenantId": tenant,
        "displayName": name.as_str(),
        "state": "Enabled",
    })
}

/// Renders the tenant.
pub fn render_tenant(tenant: &str) -> Value {
    json!({"id": format!("/tenants/{tenant}"), "tenantId": tenant})
}

/// Renders the locations of a subscription.
pub fn render_locations(subscription: &Name, locations: &Locations) -> Vec<Value> {
    let render = |shown: &String| {
        let name: String =
            shown.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect();
        json!({
            "id": format!("/subscriptions/{subscription}/locations/{name}"),
            "name": name,
            "displayName": shown,
        })
    };
    locations.names().iter().map(render).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_has_a_short_name_and_one_to_show() {
        let found = render_locations(&"s".into(), &Locations::default());
        let expected =
            json!({"id": "/subscriptions/s/locations/westus", "name": "westus", "displayName": "West US"});
        assert!(found.contains(&expected));
    }
}
