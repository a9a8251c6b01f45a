//! Api-versions: which ones are served and how they differ.

use std::fmt;

use crate::ApiError;

/// The api-versions that are served, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApiVersion {
    /// `2014-08-01-preview`.
    V2014_08Preview,
    /// `2016-01-01`.
    V2016_01,
    /// `2016-03-01`: what every client that still exists sends.
    V2016_03,
    /// `2026-11-01`: the same resources with Punctual's own additions.
    V2026_11,
}

impl ApiVersion {
    /// All of them, newest first.
    pub const ALL: [Self; 4] = [Self::V2026_11, Self::V2016_03, Self::V2016_01, Self::V2014_08Preview];

    /// All of them, in the order in which the provider lists them. Clients that ask it use the first, so the
    /// first is one that all of them know.
    pub(crate) const OF_PROVIDER: [Self; 4] =
        [Self::V2016_03, Self::V2026_11, Self::V2016_01, Self::V2014_08Preview];

    /// Reads the `api-version` of a query.
    pub fn read(written: Option<&str>) -> Result<Self, ApiError> {
        let written = written.filter(|text| !text.is_empty()).ok_or_else(ApiError::missing_api_version)?;
        let known = Self::ALL.into_iter().find(|one| one.as_str().eq_ignore_ascii_case(written));
        known.ok_or_else(|| ApiError::unknown_api_version(written))
    }

    /// Operations of the resource manager itself (groups, providers) have api-versions of their own, too many
    /// to list: any value is accepted, but one must be given.
    pub fn require_any(written: Option<&str>) -> Result<(), ApiError> {
        written.filter(|text| !text.is_empty()).map(|_| ()).ok_or_else(ApiError::missing_api_version)
    }

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2014_08Preview => "2014-08-01-preview",
            Self::V2016_01 => "2016-01-01",
            Self::V2016_03 => "2016-03-01",
            Self::V2026_11 => "2026-11-01",
        }
    }

    /// Whether Punctual's own properties are read and shown.
    pub fn has_additions(self) -> bool {
        self >= Self::V2026_11
    }

    /// Whether there is one plan `Premium` instead of `P10Premium` and `P20Premium`.
    pub(crate) fn has_one_premium(self) -> bool {
        self <= Self::V2016_01
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_versions_are_read_in_any_case_and_others_refused() {
        let check = |written, expected: Result<ApiVersion, &str>| {
            assert_eq!(ApiVersion::read(written).map_err(|error| error.code), expected, "{written:?}");
        };
        check(Some("2016-03-01"), Ok(ApiVersion::V2016_03));
        check(Some("2014-08-01-PREVIEW"), Ok(ApiVersion::V2014_08Preview));
        check(Some("2026-11-01"), Ok(ApiVersion::V2026_11));
        check(Some("2019-01-01"), Err("InvalidApiVersionParameter"));
        check(Some(""), Err("MissingApiVersionParameter"));
        check(None, Err("MissingApiVersionParameter"));
    }

    #[test]
    fn additions_belong_to_the_newest_version_alone() {
        let with: Vec<_> = ApiVersion::ALL.into_iter().filter(|one| one.has_additions()).collect();
        assert_eq!(with, [ApiVersion::V2026_11]);
    }
}
