//! Groups, collections and jobs: what was written is read, and what is deleted is gone.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_model::{
    Action, ActionKind, Authentication, BrokeredProperties, Cause, Certificate, CollectionKey,
    CollectionState, Counters, Entry, GroupKey, JobState, MaxRecurrence, Name, OccurrenceRange, Progress,
    QueueMessage, Quota, RecordStatus, RetryPolicy, Secret, ServiceBusAuthentication, ServiceBusMessage, Sku,
    Transport,
};
use punctual_recurrence::{Frequency, MonthlyOccurrence, Rule, Schedule, Weekday};

use super::world::{MANY, World, a_collection, a_job, a_skip, at, http, settlement};
use crate::{CollectionsAsk, FoundJob, Group, JobsAsk, Settled, Store};

pub async fn a_written_collection_reads_back(store: Arc<dyn Store>) {
    let world = World::new(store);
    let mut collection = a_collection("c");
    collection.location = "South Central US".to_owned();
    collection.tags = vec![("b".to_owned(), "2".to_owned()), ("a".to_owned(), "ü\"\\\u{0}".to_owned())];
    collection.sku = Sku::P20Premium;
    collection.state = CollectionState::Suspended;
    collection.quota = Some(Quota {
        job_count_max: Some(7),
        job_occurrence_max: Some(-1),
        recurrence_max: Some(MaxRecurrence { frequency: Frequency::Week, interval: 2 }),
    });
    collection.created_at = "1999-12-31T23:59:59.1234567Z".parse().unwrap();
    let written = world.put_collection(collection.clone()).await.unwrap();
    assert!(written.revision > 0);
    collection.revision = written.revision;
    assert_eq!(written, collection);
    assert_eq!(world.store.collection(&collection.key).await.unwrap(), Some(collection.clone()));

    collection.quota = None;
    collection.tags.clear();
    let again = world.put_collection(collection.clone()).await.unwrap();
    assert!(again.revision > written.revision, "a revision grows with each write");
    assert_eq!(world.store.collection(&collection.key).await.unwrap(), Some(again));
}

pub async fn a_written_job_reads_back_with_its_secrets(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut job = a_job(collection.key.job("j"), None);
    std::sync::Arc::make_mut(&mut job.spec).start_at = Some("1999-12-31T23:59:59.9999999Z".parse().unwrap());
    std::sync::Arc::make_mut(&mut job.spec).enabled = false;
    std::sync::Arc::make_mut(&mut job.spec).recurrence = Some(Rule {
        frequency: Frequency::Month,
        interval: Some(3),
        count: Some(i64::MAX),
        end_at: Some("9999-12-30T21:59:59.9999999Z".parse().unwrap()),
        schedule: Some(Schedule {
            minutes: vec![0, 30, 30],
            hours: vec![24],
            week_days: vec![Weekday::Sunday],
            month_days: vec![-1, 31],
            monthly_occurrences: vec![
                MonthlyOccurrence { day: Weekday::Friday, occurrence: Some(-1) },
                MonthlyOccurrence { day: Weekday::Monday, occurrence: None },
            ],
            months: vec![1, 12],
        }),
        time_zone: Some("Europe/Istanbul".to_owned()),
    });
    std::sync::Arc::make_mut(&mut job.spec).action = every_kind_of_action();
    job.state = JobState::Faulted;
    job.generation = 4;
    job.put_at = "2026-11-15T12:00:00.0000001Z".parse().unwrap();
    job.counters = Counters { execution: 3, failure: u32::MAX, faulted: 1 };
    job.last_started_at = Some(at(-5));
    job.progress = Progress {
        entry: Some(Entry {
            nominal_at: at(-60),
            due_at: at(30),
            cause: Cause::Run,
            step: 5,
            attempt: 20,
            ordinal: 9,
        }),
        floor_at: Some(at(60)),
        drop_count: 2,
        runs: vec![at(1), at(2), at(2)],
        last_run_at: Some(at(3)),
        past_at: Some(at(-60)),
        started_count: 8,
        last_failed: true,
        ended_at: Some(at(-1)),
        ahead: vec![
            OccurrenceRange { first_at: at(70), last_at: at(70) },
            OccurrenceRange { first_at: at(80), last_at: at(99) },
        ],
    };
    let written = world.put_job(job.clone(), &collection).await.unwrap();
    assert!(written.id.0 > 0 && written.revision > 0);
    job.id = written.id;
    job.revision = written.revision;
    assert_eq!(written, job);
    assert_eq!(world.read(&job.key).await, job);
    let pair = world.store.job_in_collection(&job.key).await.unwrap();
    assert_eq!(pair, Some((collection.clone(), Some(job.clone()))));
    assert_eq!(world.claim(at(30), 1).await[0].job, job);

    job.progress = Progress::default();
    std::sync::Arc::make_mut(&mut job.spec).action = http("http://example.com/other");
    job.last_started_at = None;
    let edited = world.put_job(job.clone(), &collection).await.unwrap();
    assert!(edited.revision > written.revision);
    job.revision = edited.revision;
    assert_eq!(world.read(&job.key).await, job);
}

fn every_kind_of_action() -> Action {
    let secret = |text: &str| Secret::new(text);
    let certificate = Certificate {
        thumbprint: "AB".repeat(20),
        subject: "CN=x, O=y".to_owned(),
        expires_at: "2031-01-01T07:00:00Z".parse().unwrap(),
    };
    let bus = ServiceBusMessage {
        entity: "topic/path".to_owned(),
        namespace: "Ns".to_owned(),
        transport: Some(Transport::Amqp),
        authentication: Some(ServiceBusAuthentication {
            shared_access_key: Some(true),
            sas_key_name: Some("root".to_owned()),
            sas_key: Some(secret("bus key")),
        }),
        message: "text".to_owned(),
        brokered: Some(BrokeredProperties {
            force_persistence: Some(false),
            scheduled_enqueue_at: Some(at(9)),
            time_to_live: Some(SignedDuration::from_secs(60 * 86_400)),
            label: Some("label".to_owned()),
            ..BrokeredProperties::default()
        }),
        custom: vec![("b".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())],
    };
    let queue = QueueMessage {
        storage_account: "account".to_owned(),
        queue_name: "queue".to_owned(),
        sas_token: secret("?sv=secret"),
        message: "<&>".to_owned(),
    };
    let with = |authentication| {
        let mut action = http("https://Example.com/a%2db?x=1");
        if let ActionKind::Http(request) = &mut action.kind {
            request.declared_https = true;
            request.method = "pOsT".to_owned();
            request.headers = vec![("ConTent-tYPe".to_owned(), "text/plain".into())];
            request.body = Some("line\r\nline\u{1F600}".to_owned());
            request.authentication = Some(authentication);
        }
        action
    };
    let mut chain = vec![
        with(Authentication::Basic { username: "user".to_owned(), password: secret("pass ü") }),
        with(Authentication::ClientCertificate { pfx: secret("pfx"), password: secret(""), certificate }),
        with(Authentication::ActiveDirectoryOAuth {
            secret: secret("oauth"),
            tenant: "tenant".to_owned(),
            audience: "audience".to_owned(),
            client_id: "client".to_owned(),
        }),
        Action { kind: ActionKind::StorageQueue(queue), retry: None, error_action: None },
        Action { kind: ActionKind::ServiceBusQueue(bus.clone()), retry: None, error_action: None },
        Action { kind: ActionKind::ServiceBusTopic(bus), retry: None, error_action: None },
    ];
    chain[0].retry =
        Some(RetryPolicy { fixed: true, interval: Some(SignedDuration::from_secs(15)), count: Some(0) });
    chain[3].retry = Some(RetryPolicy { fixed: false, interval: None, count: None });
    let last = chain.pop().unwrap();
    chain.into_iter().rev().fold(last, |behind, mut action| {
        action.error_action = Some(Box::new(behind));
        action
    })
}

pub async fn what_is_missing_is_none(store: Arc<dyn Store>) {
    let nowhere = CollectionKey::new("s", "g", "c");
    let ask = JobsAsk { state: None, after: None, skip: 0, limit: MANY };
    assert_eq!(store.collection(&nowhere).await.unwrap(), None);
    assert_eq!(store.find_job(&nowhere.job("j")).await.unwrap(), FoundJob::NoCollection);
    assert_eq!(store.job_in_collection(&nowhere.job("j")).await.unwrap(), None);
    assert_eq!(store.jobs(&nowhere, &ask).await.unwrap().items, []);
    assert_eq!(store.group(&nowhere.group).await.unwrap(), None);
    assert_eq!(store.groups(&nowhere.group.subscription).await.unwrap().items, []);
    assert!(!store.delete_job(&nowhere.job("j"), None).await.unwrap());
    assert!(!store.delete_collection(&nowhere, None).await.unwrap());
    assert!(!store.delete_group(&nowhere.group, None).await.unwrap());
    assert_eq!(store.next_due(&[]).await.unwrap(), None);

    let world = World::new(store);
    let collection = world.collection("c").await;
    let nothing = collection.key.job("j");
    assert_eq!(world.store.find_job(&nothing).await.unwrap(), FoundJob::NoJob);
    assert_eq!(world.store.job_in_collection(&nothing).await.unwrap(), Some((collection, None)));
}

pub async fn names_match_in_any_case_and_keep_theirs(store: Arc<dyn Store>) {
    let world = World::new(store);
    let mut collection = a_collection("ÄpfelBirnen");
    let created = world.put_collection(collection.clone()).await.unwrap();
    collection.key = CollectionKey::new("SUB", "GROUP", "äPFELbirnen");
    collection.revision = created.revision;
    let edited = world.put_collection(collection.clone()).await.unwrap();
    let shown = |key: &CollectionKey| format!("{}/{}/{}", key.group.subscription, key.group.name, key.name);
    assert_eq!(shown(&edited.key), "Sub/Group/ÄpfelBirnen");
    let read = world.store.collection(&collection.key).await.unwrap().unwrap();
    assert_eq!(shown(&read.key), "Sub/Group/ÄpfelBirnen");

    let job = world.put_job(a_job(collection.key.job("JobOne"), None), &edited).await.unwrap();
    assert_eq!(shown(&job.key.collection), "Sub/Group/ÄpfelBirnen");
    let mut other = job.clone();
    other.key = collection.key.job("jOBoNE");
    let other = world.put_job(other, &edited).await.unwrap();
    assert_eq!((other.id, other.key.name.as_str()), (job.id, "JobOne"));
    let read = world.read(&collection.key.job("JOBONE")).await;
    assert_eq!(read.key.name.as_str(), "JobOne");
    assert_eq!(shown(&read.key.collection), "Sub/Group/ÄpfelBirnen");
    let FoundJob::Job { id, key } = world.store.find_job(&collection.key.job("JOBONE")).await.unwrap() else {
        panic!("it is there")
    };
    assert_eq!((id, key.name.as_str()), (job.id, "JobOne"));
    assert_eq!(shown(&key.collection), "Sub/Group/ÄpfelBirnen");
    assert_eq!(world.job_count(&collection.key).await, 1);
    assert!(world.store.delete_job(&collection.key.job("jobone"), None).await.unwrap());
}

pub async fn collections_are_listed_by_group_and_name(store: Arc<dyn Store>) {
    let world = World::new(store);
    for (group, name) in [("g2", "a"), ("G1", "B"), ("g1", "a"), ("G1", "c"), ("g10", "x")] {
        let mut collection = a_collection(name);
        collection.key = CollectionKey::new("Sub", group, name);
        world.put_collection(collection).await.unwrap();
    }
    let mut foreign = a_collection("a");
    foreign.key = CollectionKey::new("Sub2", "g1", "a");
    world.put_collection(foreign).await.unwrap();

    let list = async |group: Option<&str>, after, limit| {
        let ask = CollectionsAsk { subscription: "sub".into(), group: group.map(Name::from), after, limit };
        let found = world.store.collections(&ask).await.unwrap();
        let shown = |key: &CollectionKey| format!("{}/{}", key.group.name.folded(), key.name.folded());
        let names: Vec<String> = found.items.iter().map(|collection| shown(&collection.key)).collect();
        (names.join(" "), found.next)
    };
    assert_eq!(list(None, None, MANY).await.0, "g1/a g1/b g1/c g10/x g2/a");
    assert_eq!(list(Some("G1"), None, MANY).await.0, "g1/a g1/b g1/c");
    let (names, last) = list(None, None, 2).await;
    assert_eq!(names, "g1/a g1/b");
    let (names, last) = list(None, last, 2).await;
    assert_eq!(names, "g1/c g10/x");
    assert_eq!(list(None, last, 2).await, ("g2/a".to_owned(), None));
    let last_of_all = CollectionKey::new("Sub", "g2", "a");
    assert_eq!(list(None, Some(last_of_all), 2).await, (String::new(), None));
    let (names, last) = list(Some("g1"), None, 2).await;
    assert_eq!(names, "g1/a g1/b");
    assert_eq!(list(Some("g1"), last, 2).await.0, "g1/c");
}

pub async fn jobs_are_listed_by_name_and_state(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let neighbour = world.collection("c2").await;
    world.job(&neighbour, "a", at(0)).await;
    for name in ["b", "D", "a", "C", "e"] {
        let mut job = a_job(collection.key.job(name), None);
        if name == "D" || name == "a" {
            job.state = JobState::Disabled;
        }
        world.put_job(job, &collection).await.unwrap();
    }
    let list = async |state, after: Option<&str>, skip, limit| {
        let ask = JobsAsk { state, after: after.map(Name::from), skip, limit };
        let jobs = world.store.jobs(&collection.key, &ask).await.unwrap();
        let names: String = jobs.items.iter().map(|job| job.key.name.as_str()).collect();
        (names, jobs.next)
    };
    let check = |listed: (String, Option<Name>), names: &str, next: Option<&str>| {
        assert_eq!((listed.0.as_str(), listed.1), (names, next.map(Name::from)));
    };
    check(list(None, None, 0, MANY).await, "abCDe", None);
    check(list(None, None, 0, usize::MAX).await, "abCDe", None);
    check(list(None, None, 1, 2).await, "bC", Some("C"));
    check(list(None, Some("C"), 0, 2).await, "De", None);
    check(list(None, Some("c"), 1, 2).await, "e", None);
    check(list(None, None, 5, 2).await, "", None);
    check(list(None, Some("e"), 0, 2).await, "", None);
    check(list(Some(JobState::Disabled), None, 0, MANY).await, "aD", None);
    check(list(Some(JobState::Enabled), None, 1, 1).await, "C", Some("C"));
    check(list(Some(JobState::Enabled), Some("C"), 0, 1).await, "e", None);
    check(list(Some(JobState::Completed), None, 0, MANY).await, "", None);
    assert_eq!(world.job_count(&collection.key).await, 5);
}

pub async fn a_collection_makes_its_group(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let group = world.store.group(&collection.key.group).await.unwrap().unwrap();
    assert_eq!((group.key.name.as_str(), group.location.as_str()), ("Group", "West US"));
    assert_eq!(group.created_at, collection.created_at);
    world.collection("d").await;
    assert_eq!(world.store.groups(&"sub".into()).await.unwrap().items, [group]);
}

pub async fn subscriptions_are_those_that_have_a_group(store: Arc<dyn Store>) {
    assert_eq!(store.subscriptions().await.unwrap(), []);
    let key =
        |subscription: &str, name: &str| GroupKey { subscription: subscription.into(), name: name.into() };
    for key in [key("b", "g1"), key("A", "g1"), key("B", "g2"), key("c", "g1")] {
        let group = Group { key, location: "West US".to_owned(), tags: Vec::new(), created_at: at(0) };
        assert!(store.put_group(&group, None).await.unwrap());
    }
    let shown = async || {
        let found = store.subscriptions().await.unwrap();
        found.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown().await, ["A", "b", "c"]);
    store.delete_group(&key("c", "g1"), None).await.unwrap();
    store.delete_group(&key("b", "g1"), None).await.unwrap();
    assert_eq!(shown().await, ["A", "B"]);
}

pub async fn a_group_reads_back(store: Arc<dyn Store>) {
    let key = |name: &str| GroupKey { subscription: "Sub".into(), name: name.into() };
    let mut group = Group {
        key: key("B"),
        location: "East US".to_owned(),
        tags: vec![("z".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())],
        created_at: at(3),
    };
    assert!(store.put_group(&group, None).await.unwrap());
    assert_eq!(store.group(&key("b")).await.unwrap(), Some(group.clone()));
    group.tags.clear();
    group.key = key("b");
    assert!(!store.put_group(&group, None).await.unwrap());
    let read = store.group(&key("b")).await.unwrap().unwrap();
    assert_eq!((read.key.name.as_str(), read.tags.len(), read.created_at), ("B", 0, at(3)));
    assert!(store.put_group(&Group { key: key("a"), ..group }, None).await.unwrap());
    let groups = store.groups(&"SUB".into()).await.unwrap().items;
    let names: Vec<&str> = groups.iter().map(|group| group.key.name.as_str()).collect();
    assert_eq!(names, ["a", "B"]);
    assert!(store.delete_group(&key("A"), None).await.unwrap());
    assert_eq!(store.groups(&"sub".into()).await.unwrap().items.len(), 1);
}

pub async fn registration_is_remembered(store: Arc<dyn Store>) {
    let check = async |expected| assert_eq!(store.unregistered(&"sub".into()).await.unwrap(), expected);
    check(false).await;
    store.set_unregistered(&"Sub".into(), true, None).await.unwrap();
    store.set_unregistered(&"SUB".into(), true, None).await.unwrap();
    check(true).await;
    assert!(!store.unregistered(&"other".into()).await.unwrap());
    store.set_unregistered(&"sub".into(), false, None).await.unwrap();
    check(false).await;
}

pub async fn deleting_a_job_takes_all_that_is_its(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    let mut settlement = settlement(&claim, RecordStatus::Completed, Some(at(60)));
    settlement.skips = vec![a_skip(&job, 1, 2, 3)];
    assert!(matches!(world.settle(settlement).await, Settled::Recorded));
    assert_eq!(world.history(job.id).await.len(), 1);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(60)));

    assert!(world.store.delete_job(&job.key, None).await.unwrap());
    assert!(!world.store.delete_job(&job.key, None).await.unwrap());
    assert_eq!(world.find(&job.key).await, None);
    assert_eq!(world.history(job.id).await, []);
    assert_eq!(world.store.records_between(job.id, at(-9), at(99), MANY).await.unwrap(), []);
    assert_eq!(world.store.skips(job.id, at(-9), at(99), MANY).await.unwrap(), []);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), None);
    assert_eq!(world.claim(at(99), MANY).await.len(), 0);
    assert_eq!(world.job_count(&collection.key).await, 0);
}

pub async fn deleting_a_collection_takes_its_jobs(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let neighbour = world.collection("c2").await;
    let job = world.job(&collection, "j", at(0)).await;
    let other = world.job(&neighbour, "j", at(5)).await;
    let claim = world.begun(at(0)).await;
    world.run(&claim, RecordStatus::Completed, Some(at(1))).await;

    assert!(world.store.delete_collection(&collection.key, None).await.unwrap());
    assert_eq!(world.store.collection(&collection.key).await.unwrap(), None);
    assert_eq!(world.find(&job.key).await, None);
    assert_eq!(world.history(job.id).await, []);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(5)));
    assert!(world.store.group(&collection.key.group).await.unwrap().is_some(), "the group stays");

    let anew = world.collection("c").await;
    assert_eq!(world.job_count(&anew.key).await, 0);
    assert_eq!(world.read(&other.key).await, other);
}

pub async fn deleting_a_group_takes_its_collections(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut foreign = a_collection("c");
    foreign.key = CollectionKey::new("Sub", "Group2", "c");
    let foreign = world.put_collection(foreign).await.unwrap();
    let job = world.job(&collection, "j", at(0)).await;
    let other = world.job(&foreign, "j", at(1)).await;
    assert!(world.store.delete_group(&collection.key.group, None).await.unwrap());
    assert_eq!(world.store.group(&collection.key.group).await.unwrap(), None);
    assert_eq!(world.store.collection(&collection.key).await.unwrap(), None);
    assert_eq!(world.find(&job.key).await, None);
    assert_eq!(world.claim(at(9), MANY).await[0].job, other);
}

pub async fn ids_are_never_used_again(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let mut last = 0;
    for _ in 0..5 {
        let job = world.job(&collection, "j", at(0)).await;
        assert!(job.id.0 > last);
        last = job.id.0;
        assert!(world.store.delete_job(&job.key, None).await.unwrap());
    }
    world.store.delete_collection(&collection.key, None).await.unwrap();
    let collection = world.collection("c").await;
    assert!(world.job(&collection, "j", at(0)).await.id.0 > last);
}
