//! Job collections.

use punctual_model::Sku;

use crate::ApiVersion;

/// A plan's name under an api-version.
pub(crate) fn sku_name(sku: Sku, version: ApiVersion) -> &'static str {
    match sku {
        Sku::Free => "Free",
        Sku::Standard => "Standard",
        Sku::Premium | Sku::P10Premium | Sku::P20Premium if version.has_one_premium() => "Premium",
        Sku::Premium | Sku::P10Premium => "P10Premium",
        Sku::P20Premium => "P20Premium",
    }
}
