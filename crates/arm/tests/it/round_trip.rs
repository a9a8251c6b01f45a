//! Law: what is shown of a definition reads back as that definition, secrets aside.

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use punctual_arm::{ApiVersion, Dialect};
use punctual_model::{
    Action, ActionKind, Authentication, BrokeredProperties, HttpAction, JobSpec, QueueMessage, RetryPolicy,
    Secret, ServiceBusAuthentication, ServiceBusMessage, Transport,
};
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Weekday};
use serde_json::Value;

use crate::world::{patch_as, shown_as};

fn text() -> impl Strategy<Value = String> {
    "[ -~äß€]{0,12}"
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9]{2,8}"
}

/// Instants have ticks.
fn instant() -> impl Strategy<Value = Timestamp> {
    (0..18_000_000_000_000_000_i64)
        .prop_map(|ticks| Timestamp::from_nanosecond(i128::from(ticks) * 100).unwrap())
}

fn duration() -> impl Strategy<Value = SignedDuration> {
    (150_000_000..400_000_000_000_000_i64).prop_map(|ticks| SignedDuration::from_nanos(ticks * 100))
}

fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::btree_map("[A-Za-z][A-Za-z0-9-]{0,8}x", text(), 0..4)
        .prop_map(|map| map.into_iter().collect())
}

fn authentication() -> impl Strategy<Value = Authentication> {
    prop_oneof![
        ("[a-z]{1,9}", text()).prop_map(|(username, password)| Authentication::Basic {
            username,
            password: Secret::new(password)
        }),
        (text(), name(), text(), text()).prop_map(|(secret, tenant, audience, client_id)| {
            Authentication::ActiveDirectoryOAuth { secret: Secret::new(secret), tenant, audience, client_id }
        }),
    ]
}

fn http() -> impl Strategy<Value = ActionKind> {
    let method = prop_oneof![Just("GET"), Just("post"), Just("Put"), Just("DELETE")];
    (any::<bool>(), name(), method, pairs(), option::of(text()), option::of(authentication())).prop_map(
        |(declared_https, host, method, headers, body, authentication)| {
            let uri = format!("http://{host}/%2d?x=1");
            ActionKind::Http(HttpAction {
                declared_https,
                uri,
                user_info: None,
                method: method.into(),
                headers: headers.into_iter().map(|(name, value)| (name, value.into())).collect(),
                body,
                authentication,
            })
        },
    )
}

fn queue() -> impl Strategy<Value = ActionKind> {
    (name(), name(), text(), text()).prop_map(|(storage_account, queue_name, sas_token, message)| {
        ActionKind::StorageQueue(QueueMessage {
            storage_account,
            queue_name,
            sas_token: Secret::new(sas_token),
            message,
        })
    })
}

fn bus() -> impl Strategy<Value = ActionKind> {
    let transport =
        prop_oneof![Just(Transport::NotSpecified), Just(Transport::NetMessaging), Just(Transport::Amqp)];
    let authentication =
        (option::of(any::<bool>()), text(), option::of(text())).prop_map(|(shared_access_key, name, key)| {
            ServiceBusAuthentication {
                shared_access_key,
                sas_key_name: Some(name),
                sas_key: key.map(Secret::new),
            }
        });
    let brokered = (text(), option::of(any::<bool>()), option::of(instant()), option::of(duration()))
        .prop_map(|(label, force_persistence, scheduled_enqueue_at, time_to_live)| BrokeredProperties {
            label: Some(label),
            force_persistence,
            scheduled_enqueue_at,
            time_to_live,
            ..BrokeredProperties::default()
        });
    let message = (
        name(),
        name(),
        option::of(transport),
        option::of(authentication),
        text(),
        option::of(brokered),
        pairs(),
    );
    (any::<bool>(), message).prop_map(
        |(topic, (entity, namespace, transport, authentication, message, brokered, custom))| {
            let message =
                ServiceBusMessage { entity, namespace, transport, authentication, message, brokered, custom };
            if topic { ActionKind::ServiceBusTopic(message) } else { ActionKind::ServiceBusQueue(message) }
        },
    )
}

fn action() -> impl Strategy<Value = Action> {
    let retry = (any::<bool>(), option::of(duration()), option::of(0..=20_u32))
        .prop_map(|(fixed, interval, count)| RetryPolicy { fixed, interval, count });
    let step = (prop_oneof![http(), queue(), bus()], option::of(retry));
    vec(step, 1..4).prop_map(|steps| {
        let mut chain: Option<Box<Action>> = None;
        for (kind, retry) in steps {
            chain = Some(Box::new(Action { kind, retry, error_action: chain }));
        }
        *chain.expect("there is at least one step")
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let weekday = (0..7_usize).prop_map(|index| Weekday::ALL[index]);
    let occurrence =
        (weekday, option::of(1..=5_i64)).prop_map(|(day, occurrence)| MonthlyOccurrence { day, occurrence });
    let schedule = (
        vec(0..60_i64, 0..4),
        vec(0..=24_i64, 0..4),
        vec(1..=31_i64, 0..3),
        vec(occurrence, 0..3),
        vec(1..=12_i64, 0..3),
    )
        .prop_map(|(minutes, hours, month_days, monthly_occurrences, months)| Schedule {
            minutes,
            hours,
            week_days: Vec::new(),
            month_days,
            monthly_occurrences,
            months,
        });
    let zone = prop_oneof![Just("Europe/Berlin"), Just("Asia/Tokyo")].prop_map(str::to_owned);
    let frequency = prop_oneof![Just(Frequency::Month), Just(Frequency::Year)];
    (
        frequency,
        1..=18_i64,
        option::of(1..1000_i64),
        option::of(instant()),
        option::of(schedule),
        option::of(zone),
    )
        .prop_map(|(frequency, interval, count, end_at, schedule, time_zone)| Rule {
            frequency,
            interval: Some(interval),
            count,
            end_at,
            schedule: schedule.filter(|schedule| !schedule.is_empty()),
            time_zone,
        })
}

fn spec() -> impl Strategy<Value = JobSpec> {
    (option::of(instant()), action(), option::of(rule()), any::<bool>())
        .prop_map(|(start_at, action, recurrence, enabled)| JobSpec { start_at, action, recurrence, enabled })
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![Just(None), Just(Some("azsdk-python-mgmt-scheduler/7.0.0"))]
        .prop_map(|agent| Dialect::of(agent, false))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A PATCH with all that was shown changes nothing: it says the same, and secrets are kept.
    #[test]
    fn what_is_shown_says_what_was_stored(spec in spec(), dialect in dialect()) {
        let shown = shown_as(&spec, ApiVersion::V2026_11, dialect);
        prop_assert_eq!(patch_as(ApiVersion::V2026_11, &spec, shown).unwrap(), spec);
    }

    /// The same from the wire alone, with another job below that has the secrets only.
    #[test]
    fn rendering_is_stable(spec in spec()) {
        let shown = shown_as(&spec, ApiVersion::V2026_11, Dialect::default());
        let text = shown.to_string();
        let again: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&again, &shown);
        let empty_patch = patch_as(ApiVersion::V2016_03, &spec, serde_json::json!({})).unwrap();
        prop_assert_eq!(shown_as(&empty_patch, ApiVersion::V2026_11, Dialect::default()), shown);
    }
}
