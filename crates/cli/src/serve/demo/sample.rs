//! What is in a demo: collections and jobs of a shop, who changed them, and what went wrong.

use std::fmt;
use std::net::SocketAddr;

use jiff::{SignedDuration, Timestamp};
use punctual_model::{CollectionKey, GroupKey, JobKey};
use serde_json::{Value, json};

/// The subscription that everything is in.
const SUBSCRIPTION: &str = "acme";

/// All changes in the past of a demo, the earliest first.
pub(super) struct Sample {
    /// When the past begins.
    pub(super) begins_at: Timestamp,
    pub(super) changes: Vec<Change>,
}

/// A change in the past.
pub(super) struct Change {
    pub(super) at: Timestamp,
    /// Who made it.
    pub(super) by: &'static str,
    pub(super) path: Place,
    pub(super) what: What,
}

pub(super) enum What {
    /// A collection is put.
    Collection(Value),
    /// A job is put.
    Put(Value),
    /// A job is changed.
    Patch(Value),
    /// The server stands still.
    Stop { until: Timestamp },
}

/// Where something is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    group: &'static str,
    collection: &'static str,
    job: &'static str,
}

impl Place {
    pub(super) fn collection(self) -> CollectionKey {
        let group = GroupKey { subscription: SUBSCRIPTION.into(), name: self.group.into() };
        CollectionKey { group, name: self.collection.into() }
    }

    pub(super) fn job(self) -> JobKey {
        JobKey { collection: self.collection(), name: self.job.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.group, self.collection, self.job)
    }
}

impl Sample {
    pub(super) fn job_count(&self) -> usize {
        self.changes.iter().filter(|change| matches!(change.what, What::Put(_))).count()
    }
}

const ORDERS: (&str, &str) = ("shop", "orders");
const STOREFRONT: (&str, &str) = ("shop", "storefront");
const BILLING: (&str, &str) = ("finance", "billing");
const MAINTENANCE: (&str, &str) = ("platform", "maintenance");
const MONITORING: (&str, &str) = ("platform", "monitoring");

/// Who changes what.
const DEPLOYMENT: &str = "deployment";
const ON_CALL: &str = "mira (on call)";

/// The past of so many weeks up to now, with jobs that call the echo target there.
pub(super) fn of(echo: SocketAddr, weeks: u32, now: Timestamp) -> Sample {
    let day = SignedDuration::from_hours(24);
    let midnight = Timestamp::from_second(now.as_second().div_euclid(86_400) * 86_400).unwrap_or(now);
    let first = midnight - day * (7 * i32::try_from(weeks).unwrap_or(i32::MAX));
    let mut past =
        Past { echo, now, begins_at: first - SignedDuration::from_hours(1), first, changes: Vec::new() };
    past.collections();
    past.orders();
    past.storefront();
    past.billing();
    past.maintenance();
    past.monitoring();
    past.stop(SignedDuration::from_hours(76), SignedDuration::from_mins(95));
    past.changes.sort_by_key(|change| change.at);
    Sample { begins_at: past.begins_at, changes: past.changes }
}

struct Past {
    echo: SocketAddr,
    now: Timestamp,
    begins_at: Timestamp,
    /// The first midnight.
    first: Timestamp,
    changes: Vec<Change>,
}

impl Past {
    /// So long ago, at the beginning of an hour.
    fn ago(&self, time: SignedDuration) -> Timestamp {
        let hour = Timestamp::from_second(self.now.as_second().div_euclid(3_600) * 3_600).unwrap_or(self.now);
        hour - time
    }

    fn collection(&mut self, (group, collection): (&'static str, &'static str), location: &str, team: &str) {
        let body = json!({"location": location, "tags": {"team": team}, "properties": {"sku": {"name": "P20Premium"}}});
        let path = Place { group, collection, job: "" };
        self.changes.push(Change { at: self.begins_at, by: DEPLOYMENT, path, what: What::Collection(body) });
    }

    /// A job from a time on.
    fn job_from(
        &mut self,
        at: Timestamp,
        place: (&'static str, &'static str),
        name: &'static str,
        action: Value,
        recurrence: Value,
    ) {
        let start = at.max(self.first);
        let mut properties = vec![("startTime", start.to_string().into()), ("action", action)];
        if !recurrence.is_null() {
            properties.push(("recurrence", recurrence));
        }
        let path = Place { group: place.0, collection: place.1, job: name };
        let what = What::Put([("properties", Value::from_iter(properties))].into_iter().collect());
        self.changes.push(Change { at, by: DEPLOYMENT, path, what });
    }

    /// A job from the beginning.
    fn job(
        &mut self,
        place: (&'static str, &'static str),
        name: &'static str,
        action: Value,
        recurrence: Value,
    ) {
        self.job_from(self.begins_at, place, name, action, recurrence);
    }

    fn patch(
        &mut self,
        ago: SignedDuration,
        place: (&'static str, &'static str),
        job: &'static str,
        properties: Value,
    ) {
        let path = Place { group: place.0, collection: place.1, job };
        let what = What::Patch([("properties", properties)].into_iter().collect());
        self.changes.push(Change { at: self.ago(ago), by: ON_CALL, path, what });
    }

    fn stop(&mut self, ago: SignedDuration, time: SignedDuration) {
        let at = self.ago(ago) + SignedDuration::from_mins(5);
        let path = Place { group: "", collection: "", job: "the stop" };
        self.changes.push(Change { at, by: ON_CALL, path, what: What::Stop { until: at + time } });
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.echo)
    }

    fn get(&self, path: &str) -> Value {
        json!({"type": "Http", "request": {"method": "GET", "uri": self.url(path)},
            "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 2}})
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let mut action = self.get(path);
        action["request"]["method"] = "POST".into();
        action["request"]["headers"] = json!({"Content-Type": "application/json"});
        action["request"]["body"] = body.to_string().into();
        action
    }

    fn collections(&mut self) {
        self.collection(ORDERS, "West Europe", "fulfilment");
        self.collection(STOREFRONT, "West Europe", "web");
        self.collection(BILLING, "North Europe", "finance");
        self.collection(MAINTENANCE, "West US", "platform");
        self.collection(MONITORING, "West US", "platform");
    }

    fn orders(&mut self) {
        let hours = SignedDuration::from_hours;
        let confirm = self.post("/flaky/40/orders/confirm", &json!({"batch": 50}));
        self.job_from(
            self.ago(hours(140)),
            ORDERS,
            "confirm-orders",
            confirm,
            json!({"frequency": "Minute", "interval": 15}),
        );
        self.job(
            ORDERS,
            "abandoned-carts",
            self.get("/flaky/12/carts/abandoned"),
            json!({"frequency": "Hour"}),
        );
        let stock = json!({"frequency": "Week", "schedule": {"weekDays": ["Monday", "Tuesday", "Wednesday", "Thursday",
            "Friday", "Saturday"], "hours": [6, 8, 10, 12, 14, 16, 18], "minutes": [0]}, "timeZone": "Europe/Berlin"});
        self.job(ORDERS, "stock-sync", self.get("/stock"), stock);
        let newsletter = self.post("/newsletter", &json!({"segment": "weekly"}));
        self.job(
            ORDERS,
            "newsletter",
            newsletter,
            json!({"frequency": "Week", "schedule": {"weekDays": ["Tuesday"],
            "hours": [9], "minutes": [0]}, "timeZone": "Europe/Berlin"}),
        );
        self.job(
            ORDERS,
            "returns",
            self.post("/returns/close", &json!({})),
            json!({"frequency": "Day", "schedule":
            {"hours": [22], "minutes": [0]}, "timeZone": "Europe/Berlin"}),
        );
        // The warehouse was down for some hours.
        self.patch(
            hours(120),
            ORDERS,
            "stock-sync",
            json!({"action": {"request": {"uri": self.url("/status/503/stock")}}}),
        );
        self.patch(
            hours(112),
            ORDERS,
            "stock-sync",
            json!({"action": {"request": {"uri": self.url("/stock")}}}),
        );
    }

    fn storefront(&mut self) {
        let hours = SignedDuration::from_hours;
        let five = json!({"frequency": "Minute", "interval": 5});
        self.job_from(self.ago(hours(20)), STOREFRONT, "warm-cache", self.get("/cache/warm"), five);
        self.job(
            STOREFRONT,
            "search-index",
            self.post("/flaky/9/search", &json!({"full": false})),
            json!({"frequency": "Hour"}),
        );
        let daily = |hour: u8| json!({"frequency": "Day", "schedule": {"hours": [hour], "minutes": [0]}});
        self.job(STOREFRONT, "sitemap", self.get("/sitemap"), daily(3));
        self.job(STOREFRONT, "image-cleanup", self.get("/slow/120/images"), daily(4));
        self.job(
            STOREFRONT,
            "prices",
            self.post("/prices", &json!({"currency": "EUR"})),
            json!({"frequency": "Hour", "interval": 2}),
        );
        let sale = self.post("/sale/begin", &json!({"percent": 20}));
        self.job_from(self.ago(hours(110)), STOREFRONT, "begin-sale", sale, Value::Null);
    }

    fn billing(&mut self) {
        let hours = SignedDuration::from_hours;
        let weekdays = json!(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]);
        let week = |days: &Value, hour: u8, zone: &str| {
            json!({"frequency": "Week", "schedule":
            {"weekDays": days, "hours": [hour], "minutes": [0]}, "timeZone": zone})
        };
        self.job(
            BILLING,
            "dunning",
            self.post("/dunning", &json!({"level": 1})),
            week(&weekdays, 8, "Europe/Berlin"),
        );
        self.job(
            BILLING,
            "bank-statement",
            self.get("/bank/statement"),
            week(&weekdays, 6, "America/New_York"),
        );
        self.job(
            BILLING,
            "revenue-report",
            self.get("/reports/revenue"),
            week(&json!(["Monday"]), 7, "Europe/Berlin"),
        );
        let invoices = json!({"frequency": "Month", "schedule": {"monthlyOccurrences": [{"day": "Friday", "occurrence": -1}],
            "hours": [18], "minutes": [0]}, "timeZone": "Europe/Berlin"});
        self.job(BILLING, "invoices", self.post("/invoices", &json!({"send": true})), invoices);
        let mut rates = self.get("/rates");
        rates["errorAction"] = json!({"type": "Http", "request": {"method": "POST", "uri": self.url("/chat/finance"),
            "body": "The exchange rates could not be read."}});
        self.job(BILLING, "exchange-rates", rates, json!({"frequency": "Hour", "interval": 4}));
        // The provider has moved, and nobody has noticed yet.
        self.patch(
            hours(27),
            BILLING,
            "exchange-rates",
            json!({"action": {"request": {"uri": self.url("/status/410/rates")}}}),
        );
        let export = json!({"type": "StorageQueue", "queueMessage": {"storageAccount": "acmefinance", "queueName": "exports",
            "sasToken": "?sv=2019-02-02&sig=demo", "message": "{\"year\": 2026}"}});
        self.job(
            BILLING,
            "year-end-export",
            export,
            json!({"frequency": "Year", "schedule": {"months": [1], "monthDays": [2]}}),
        );
        self.patch(SignedDuration::from_hours(100), BILLING, "year-end-export", json!({"state": "Disabled"}));
    }

    fn maintenance(&mut self) {
        let daily = |hour: u8| json!({"frequency": "Day", "schedule": {"hours": [hour], "minutes": [0]}});
        self.job(MAINTENANCE, "backup", self.post("/slow/250/backup", &json!({"kind": "full"})), daily(1));
        self.job(MAINTENANCE, "rotate-logs", self.get("/logs/rotate"), daily(0));
        self.job(
            MAINTENANCE,
            "certificates",
            self.get("/flaky/6/certificates"),
            json!({"frequency": "Hour", "interval": 6}),
        );
        let sunday =
            json!({"frequency": "Week", "schedule": {"weekDays": ["Sunday"], "hours": [5], "minutes": [0]}});
        self.job(MAINTENANCE, "restore-test", self.get("/slow/300/restore"), sunday);
        self.job(MAINTENANCE, "expire-sessions", self.get("/sessions/expire"), json!({"frequency": "Hour"}));
        self.patch(
            SignedDuration::from_hours(50),
            MAINTENANCE,
            "expire-sessions",
            json!({"state": "Disabled"}),
        );
    }

    fn monitoring(&mut self) {
        let hours = SignedDuration::from_hours;
        for (name, path) in [
            ("probe-europe", "/probe/eu"),
            ("probe-america", "/flaky/60/probe/us"),
            ("probe-asia", "/flaky/25/probe/asia"),
        ] {
            let from = self.ago(hours(130));
            self.job_from(
                from,
                MONITORING,
                name,
                self.get(path),
                json!({"frequency": "Minute", "interval": 15}),
            );
        }
        self.job_from(
            self.ago(hours(1)),
            MONITORING,
            "heartbeat",
            self.get("/heartbeat"),
            json!({"frequency": "Minute"}),
        );
        self.job(
            MONITORING,
            "status-page",
            self.post("/status-page", &json!({"state": "up"})),
            json!({"frequency": "Hour"}),
        );
        let rooms = json!({"frequency": "Day", "schedule": {"hours": [9, 13, 17], "minutes": [0]}, "timeZone": "Asia/Tokyo"});
        self.job(MONITORING, "tokyo-desk", self.get("/desk/tokyo"), rooms);
    }
}
