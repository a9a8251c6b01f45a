//! Encode and decode are each other's inverse, and damage is named without showing content.

use jiff::{SignedDuration, Timestamp};
use proptest::option::of;
use proptest::prelude::*;
use punctual_model::{
    Action, ActionKind, Authentication, BrokeredProperties, Certificate, CollectionKey, CollectionState,
    CredentialHeaders, HeaderText, HttpAction, MaxRecurrence, QueueMessage, Quota, RetryPolicy, Secret,
    ServiceBusAuthentication, ServiceBusMessage, Sku, Transport,
};
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Weekday};

use super::*;
use crate::instant::from_ticks;
use crate::testing::Counting;
use crate::{KeyRing, SealContext};

fn vault() -> Vault {
    Vault::new(&KeyRing::generate(&Counting::default()))
}

fn text() -> impl Strategy<Value = String> {
    "(?s).{0,12}"
}

fn secret() -> impl Strategy<Value = Secret> {
    text().prop_map(Secret::new)
}

fn instant() -> impl Strategy<Value = Timestamp> {
    (-62_000_000_000_i64..253_000_000_000, 0..10_000_000_i64)
        .prop_map(|(second, tick)| from_ticks(second * 10_000_000 + tick).unwrap())
}

fn span() -> impl Strategy<Value = SignedDuration> {
    any::<i64>().prop_map(SignedDuration::from_nanos)
}

fn texts() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((text(), text()), 0..3)
}

fn weekday() -> impl Strategy<Value = Weekday> {
    prop::sample::select(Weekday::ALL.to_vec())
}

fn frequency() -> impl Strategy<Value = Frequency> {
    prop::sample::select(Frequency::ALL.to_vec())
}

fn numbers() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(any::<i64>(), 0..3)
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let occurrence =
        (weekday(), of(any::<i64>())).prop_map(|(day, occurrence)| MonthlyOccurrence { day, occurrence });
    let week_days = prop::collection::vec(weekday(), 0..3);
    let occurrences = prop::collection::vec(occurrence, 0..3);
    (numbers(), numbers(), week_days, numbers(), occurrences, numbers()).prop_map(
        |(minutes, hours, week_days, month_days, monthly_occurrences, months)| Schedule {
            minutes,
            hours,
            week_days,
            month_days,
            monthly_occurrences,
            months,
        },
    )
}

fn rule() -> impl Strategy<Value = Rule> {
    (frequency(), of(any::<i64>()), of(any::<i64>()), of(instant()), of(schedule()), of(text())).prop_map(
        |(frequency, interval, count, end_at, schedule, time_zone)| Rule {
            frequency,
            interval,
            count,
            end_at,
            schedule,
            time_zone,
        },
    )
}

fn authentication() -> impl Strategy<Value = Authentication> {
    prop_oneof![
        (text(), secret()).prop_map(|(username, password)| Authentication::Basic { username, password }),
        (secret(), secret(), text(), text(), instant()).prop_map(
            |(pfx, password, thumbprint, subject, expires_at)| Authentication::ClientCertificate {
                pfx,
                password,
                certificate: Certificate { thumbprint, subject, expires_at },
            }
        ),
        (secret(), text(), text(), text()).prop_map(|(secret, tenant, audience, client_id)| {
            Authentication::ActiveDirectoryOAuth { secret, tenant, audience, client_id }
        }),
    ]
}

fn brokered() -> impl Strategy<Value = BrokeredProperties> {
    let texts = || (of(text()), of(text()), of(text()), of(text()), of(text()));
    (texts(), texts(), of(any::<bool>()), of(instant()), of(span())).prop_map(
        |(first, second, force_persistence, scheduled_enqueue_at, time_to_live)| BrokeredProperties {
            content_type: first.0,
            correlation_id: first.1,
            force_persistence,
            label: first.2,
            message_id: first.3,
            partition_key: first.4.clone(),
            reply_to: second.0,
            reply_to_session_id: second.1,
            scheduled_enqueue_at,
            session_id: second.2,
            time_to_live,
            to: second.3,
            via_partition_key: second.4,
        },
    )
}

fn bus() -> impl Strategy<Value = ServiceBusMessage> {
    let transport =
        prop::sample::select(vec![Transport::NotSpecified, Transport::NetMessaging, Transport::Amqp]);
    let authentication = (of(any::<bool>()), of(text()), of(secret())).prop_map(
        |(shared_access_key, sas_key_name, sas_key)| ServiceBusAuthentication {
            shared_access_key,
            sas_key_name,
            sas_key,
        },
    );
    (text(), text(), of(transport), of(authentication), text(), of(brokered()), texts()).prop_map(
        |(entity, namespace, transport, authentication, message, brokered, custom)| ServiceBusMessage {
            entity,
            namespace,
            transport,
            authentication,
            message,
            brokered,
            custom,
        },
    )
}

fn kind() -> impl Strategy<Value = ActionKind> {
    // With user information a URI is something else when it is read.
    let uri = text().prop_map(|uri| uri.replace('@', ""));
    let header = prop_oneof![text().prop_map(HeaderText::Plain), secret().prop_map(HeaderText::Credential)];
    let headers = prop::collection::vec((text(), header), 0..4);
    let http = (any::<bool>(), uri, of(secret()), text(), headers, of(text()), of(authentication()))
        .prop_map(|(declared_https, uri, user_info, method, headers, body, authentication)| {
            ActionKind::Http(HttpAction {
                declared_https,
                uri,
                user_info,
                method,
                headers,
                body,
                authentication,
            })
        });
    let queue =
        (text(), text(), secret(), text()).prop_map(|(storage_account, queue_name, sas_token, message)| {
            ActionKind::StorageQueue(QueueMessage { storage_account, queue_name, sas_token, message })
        });
    let topic = bus().prop_map(ActionKind::ServiceBusTopic);
    prop_oneof![http, queue, bus().prop_map(ActionKind::ServiceBusQueue), topic]
}

fn action() -> impl Strategy<Value = Action> {
    let retry = (any::<bool>(), of(span()), of(any::<u32>()))
        .prop_map(|(fixed, interval, count)| RetryPolicy { fixed, interval, count });
    let plain = (kind(), of(retry)).prop_map(|(kind, retry)| Action { kind, retry, error_action: None });
    prop::collection::vec(plain, 1..4).prop_map(|mut chain| {
        let last = chain.pop().unwrap();
        chain
            .into_iter()
            .rev()
            .fold(last, |behind, action| Action { error_action: Some(Box::new(behind)), ..action })
    })
}

fn spec() -> impl Strategy<Value = JobSpec> {
    (of(instant()), action(), of(rule()), any::<bool>())
        .prop_map(|(start_at, action, recurrence, enabled)| JobSpec { start_at, action, recurrence, enabled })
}

fn collection() -> impl Strategy<Value = Collection> {
    let fastest =
        (frequency(), any::<u32>()).prop_map(|(frequency, interval)| MaxRecurrence { frequency, interval });
    let quota = (of(any::<u32>()), of(any::<i64>()), of(fastest)).prop_map(
        |(job_count_max, job_occurrence_max, recurrence_max)| Quota {
            job_count_max,
            job_occurrence_max,
            recurrence_max,
        },
    );
    let state = prop::sample::select(vec![
        CollectionState::Enabled,
        CollectionState::Disabled,
        CollectionState::Suspended,
    ]);
    (text(), texts(), prop::sample::select(Sku::ALL.to_vec()), state, of(quota), instant()).prop_map(
        |(location, tags, sku, state, quota, created_at)| Collection {
            key: CollectionKey::new("s", "g", "c"),
            location,
            tags,
            sku,
            state,
            quota,
            created_at,
            revision: 7,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn a_definition_decodes_to_what_was_encoded(spec in spec()) {
        let vault = vault();
        let stored = encode_spec(&spec, JobId(3), &vault, &Counting::default());
        let decoded = decode_spec(&stored.document, stored.sealed.as_deref(), JobId(3), &vault);
        prop_assert_eq!(decoded.unwrap(), spec);
    }

    #[test]
    fn a_collection_decodes_to_what_was_encoded(collection in collection()) {
        let document = encode_collection(&collection);
        let decoded = decode_collection(&document, collection.key.clone(), collection.revision);
        prop_assert_eq!(decoded.unwrap(), collection);
    }

    #[test]
    fn damage_is_an_error_and_not_a_panic(spec in spec(), at in any::<prop::sample::Index>(), bits in 1_u8..) {
        let vault = vault();
        let StoredSpec { mut document, sealed } = encode_spec(&spec, JobId(3), &vault, &Counting::default());
        let at = at.index(document.len());
        document[at] ^= bits;
        let _ = decode_spec(&document, sealed.as_deref(), JobId(3), &vault);
    }
}

fn basic(password: &str) -> JobSpec {
    let request = HttpAction {
        declared_https: false,
        uri: "http://example.com/".to_owned(),
        user_info: None,
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: None,
        authentication: Some(Authentication::Basic {
            username: "user".to_owned(),
            password: Secret::new(password),
        }),
    };
    let action = Action { kind: ActionKind::Http(request), retry: None, error_action: None };
    JobSpec { start_at: None, action, recurrence: None, enabled: true }
}

#[test]
fn the_document_of_version_1_has_this_form() {
    let stored = encode_spec(&basic("hunter2"), JobId(3), &vault(), &Counting::default());
    let expected = concat!(
        r#"1{"action":{"kind":{"http":{"uri":"http://example.com/","method":"GET","#,
        r#""authentication":{"basic":{"username":"user","password":0}}}}},"enabled":true}"#
    );
    assert_eq!(String::from_utf8(stored.document).unwrap(), expected);
}

#[test]
fn secrets_are_not_in_the_clear() {
    let stored = encode_spec(&basic("hunter2"), JobId(3), &vault(), &Counting::default());
    let shows = |bytes: &[u8]| bytes.windows(7).any(|window| window == b"hunter2");
    assert!(!shows(&stored.document) && !shows(stored.sealed.as_deref().unwrap()));
}

/// A job that says who it is by headers and by its URI.
fn with_credentials() -> JobSpec {
    let mut spec = basic("unused");
    if let ActionKind::Http(http) = &mut spec.action.kind {
        http.authentication = None;
        http.user_info = Some(Secret::new("user:hunter2"));
        http.headers = vec![
            ("X-Plain".to_owned(), "shown".into()),
            ("Authorization".to_owned(), HeaderText::Credential(Secret::new("Bearer hunter2"))),
        ];
    }
    spec
}

#[test]
fn credentials_in_headers_and_uris_are_sealed() {
    let vault = vault();
    let stored = encode_spec(&with_credentials(), JobId(3), &vault, &Counting::default());
    let expected = concat!(
        r#"1{"action":{"kind":{"http":{"uri":"http://example.com/","user_info":0,"method":"GET","#,
        r#""headers":[["X-Plain","shown"],["Authorization",1]]}}},"enabled":true}"#
    );
    assert_eq!(String::from_utf8(stored.document.clone()).unwrap(), expected);
    let read = decode_spec(&stored.document, stored.sealed.as_deref(), JobId(3), &vault).unwrap();
    assert_eq!(read, with_credentials());
}

#[test]
fn what_was_stored_in_the_clear_is_read_as_credentials() {
    let before = concat!(
        r#"1{"action":{"kind":{"http":{"uri":"http://user:hunter2@example.com/","method":"GET","#,
        r#""headers":[["X-Plain","shown"],["Authorization","Bearer hunter2"]]}}},"enabled":true}"#
    );
    let read = decode_spec(before.as_bytes(), None, JobId(3), &vault()).unwrap();
    assert_eq!(read, with_credentials());
    let own = vault().with_credential_headers(CredentialHeaders::new(&["x-plain".to_owned()]));
    let read = decode_spec(before.as_bytes(), None, JobId(3), &own).unwrap();
    assert!(!format!("{read:?}").contains("shown"), "the headers are a setting");
}

#[test]
fn secrets_do_not_open_for_a_document_that_was_edited() {
    let vault = vault();
    let stored = encode_spec(&basic("hunter2"), JobId(3), &vault, &Counting::default());
    let document = String::from_utf8(stored.document).unwrap();
    let sealed = stored.sealed.as_deref();
    for (from, to) in [("example.com", "example.net"), ("http://", "https://"), ("GET", "PUT")] {
        let edited = document.replace(from, to);
        assert_ne!(edited, document);
        let opened = decode_spec(edited.as_bytes(), sealed, JobId(3), &vault);
        assert!(matches!(opened, Err(CodecError::Sealed(VaultError::Broken { id: 1 }))), "{to}: {opened:?}");
    }
}

#[test]
fn what_was_sealed_for_a_job_without_its_document_still_opens() {
    let vault = vault();
    let StoredSpec { document, .. } = encode_spec(&basic("hunter2"), JobId(3), &vault, &Counting::default());
    let mut plain = 7_u32.to_be_bytes().to_vec();
    plain.extend_from_slice(b"hunter2");
    let before = vault.seal(SealContext { kind: "job", row: 3 }, &plain, &Counting::default());
    let read = decode_spec(&document, Some(&before), JobId(3), &vault).unwrap();
    assert_eq!(read, basic("hunter2"));
}

#[test]
fn a_definition_is_resealed_if_its_key_is_old_or_something_was_left_in_the_clear() {
    let random = Counting::default();
    let ring = KeyRing::generate(&random);
    let vault = Vault::new(&ring);
    let reseal = |stored: &StoredSpec| reseal_spec(stored, JobId(3), &vault, &random).unwrap();
    let stored = encode_spec(&basic("hunter2"), JobId(3), &vault, &random);
    assert_eq!(reseal(&stored), None, "it is as it should be");
    let mut open = basic("unused");
    if let ActionKind::Http(http) = &mut open.action.kind {
        http.authentication = None;
    }
    let plain = encode_spec(&open, JobId(3), &vault, &random);
    assert_eq!(reseal(&plain), None, "it has no secrets");

    vault.replace(&ring.rotated(&random));
    assert_eq!(reseal(&plain), None);
    let anew = reseal(&stored).unwrap();
    assert_eq!(anew.document, stored.document);
    assert_eq!(Vault::key_of(anew.sealed.as_deref().unwrap()), Ok(2));
    assert_eq!(reseal(&anew), None);

    let mut secret = 7_u32.to_be_bytes().to_vec();
    secret.extend_from_slice(b"hunter2");
    let unbound = vault.seal(SealContext { kind: "job", row: 3 }, &secret, &random);
    let bound = reseal(&StoredSpec { document: stored.document, sealed: Some(unbound) }).unwrap();
    assert_eq!(bound.sealed.as_ref().unwrap()[0], 2, "it is bound to its document now");

    let clear = concat!(
        r#"1{"action":{"kind":{"http":{"uri":"http://user:hunter2@example.com/","method":"GET","#,
        r#""headers":[["X-Plain","shown"],["Authorization","Bearer hunter2"]]}}},"enabled":true}"#
    );
    let sealed = reseal(&StoredSpec { document: clear.as_bytes().to_vec(), sealed: None }).unwrap();
    assert!(!String::from_utf8(sealed.document.clone()).unwrap().contains("hunter2"));
    assert_eq!(
        decode_spec(&sealed.document, sealed.sealed.as_deref(), JobId(3), &vault).unwrap(),
        with_credentials()
    );
}

#[test]
fn secrets_of_one_job_do_not_open_for_another() {
    let vault = vault();
    let StoredSpec { document, sealed } = encode_spec(&basic("x"), JobId(3), &vault, &Counting::default());
    let moved = decode_spec(&document, sealed.as_deref(), JobId(4), &vault);
    assert!(matches!(moved, Err(CodecError::Sealed(VaultError::Broken { id: 1 }))));
    let missing = decode_spec(&document, None, JobId(3), &vault);
    assert!(matches!(missing, Err(CodecError::Mismatch)));
}

#[test]
fn a_later_version_is_refused_by_name() {
    let error = decode_spec(b"2{}", None, JobId(3), &vault()).unwrap_err();
    assert_eq!(error.to_string(), "the document has a version that this program does not know");
    let error = decode_spec(br#"1{"action":{"hunter2":1}}"#, None, JobId(3), &vault()).unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
}
