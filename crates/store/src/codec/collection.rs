//! A collection as it is stored, version 1.

use std::borrow::Cow;

use punctual_model::{Collection, CollectionKey, CollectionState, MaxRecurrence, Quota, Sku};
use punctual_recurrence::Frequency;
use serde::{Deserialize, Serialize};

use super::spec::{Instant1, Pairs1, owned_pairs, pairs};
use super::{CodecError, Number};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Collection1<'a> {
    location: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Pairs1<'a>,
    sku: u8,
    state: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quota: Option<Quota1>,
    created_at: Instant1,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quota1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job_count_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job_occurrence_max: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recurrence_max: Option<(u8, u32)>,
}

impl<'a> Collection1<'a> {
    pub(super) fn of(collection: &'a Collection) -> Self {
        let Collection { key: _, location, tags, sku, state, quota, created_at, revision: _ } = collection;
        Self {
            location: location.into(),
            tags: pairs(tags),
            sku: sku.number(),
            state: state.number(),
            quota: quota.as_ref().map(Quota1::of),
            created_at: Instant1::of(*created_at),
        }
    }

    pub(super) fn into_model(self, key: CollectionKey, revision: i64) -> Result<Collection, CodecError> {
        Ok(Collection {
            key,
            location: self.location.into_owned(),
            tags: owned_pairs(self.tags),
            sku: Sku::from_number(self.sku.into()).ok_or(CodecError::Invalid { what: "plan" })?,
            state: CollectionState::from_number(self.state.into())
                .ok_or(CodecError::Invalid { what: "state" })?,
            quota: self.quota.map(Quota1::into_model).transpose()?,
            created_at: self.created_at.into_model()?,
            revision,
        })
    }
}

impl Quota1 {
    fn of(quota: &Quota) -> Self {
        let Quota { job_count_max, job_occurrence_max, recurrence_max } = *quota;
        let recurrence_max = recurrence_max.map(|max| (max.frequency.number(), max.interval));
        Self { job_count_max, job_occurrence_max, recurrence_max }
    }

    fn into_model(self) -> Result<Quota, CodecError> {
        let fastest = |(frequency, interval): (u8, u32)| {
            let frequency =
                Frequency::from_number(frequency.into()).ok_or(CodecError::Invalid { what: "frequency" })?;
            Ok::<_, CodecError>(MaxRecurrence { frequency, interval })
        };
        Ok(Quota {
            job_count_max: self.job_count_max,
            job_occurrence_max: self.job_occurrence_max,
            recurrence_max: self.recurrence_max.map(fastest).transpose()?,
        })
    }
}
