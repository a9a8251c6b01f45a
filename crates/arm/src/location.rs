//! Regions: accepted by display name or short form, shown by display name.

/// The regions that collections may be in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locations(Vec<String>);

impl Default for Locations {
    /// The regions of the original service.
    fn default() -> Self {
        Self::new([
            "North Central US",
            "South Central US",
            "North Europe",
            "West Europe",
            "East Asia",
            "Southeast Asia",
            "West US",
            "East US",
            "Japan West",
            "Japan East",
            "Brazil South",
            "Central US",
            "East US 2",
            "Canada Central",
            "Canada East",
            "West US 2",
            "West Central US",
            "Central India",
        ])
    }
}

impl Locations {
    /// Regions by their display names.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// The display names.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The display name of a region: `westus`, `West US` and `WEST US` are all `West US`.
    pub fn find(&self, written: &str) -> Option<&str> {
        self.0.iter().find(|name| same(name, written)).map(String::as_str)
    }
}

/// Whether two spellings mean the same region: blanks and letter case don't matter.
pub(crate) fn same(one: &str, other: &str) -> bool {
    fn plain(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase)
    }
    plain(one).eq(plain(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_found_by_display_name_and_short_form() {
        let locations = Locations::default();
        let check =
            |written, expected: Option<&str>| assert_eq!(locations.find(written), expected, "{written}");
        check("westus", Some("West US"));
        check("West US", Some("West US"));
        check("WESTUS2", Some("West US 2"));
        check("centralindia", Some("Central India"));
        check("moon", None);
        check("", None);
    }
}
