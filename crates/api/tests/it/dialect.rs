//! What each client can read.

use axum::body::Body;
use http::{Request, header};
use serde_json::{Value, json};

use crate::world::{World, http, target};

const PYTHON_7: &str = "azsdk-python-mgmt-scheduler/7.0.0 Python/3.11.2";
const PYTHON_2: &str = "python/3.11.2 msrest/0.7.1 azure-mgmt-scheduler/2.0.0 Azure-SDK-For-Python";
const NODE: &str = "Node/v20 ms-rest/2.5.4 azure-arm-scheduler/1.2.0-preview";

async fn read(world: &World, path: &str, user_agent: &str) -> Value {
    let request = Request::builder().uri(target(path)).header(header::USER_AGENT, user_agent);
    world.send(request.body(Body::empty()).unwrap()).await.is(200).body
}

#[tokio::test]
async fn durations_and_occurrences_are_spelt_as_the_client_reads_them() {
    let world = World::new().await;
    let mut action = http(json!({}));
    action["retryPolicy"] = json!({"retryInterval": "PT1M"});
    let schedule = json!({"monthlyOccurrences": [{"day": "Friday", "occurrence": -1}]});
    let body = json!({"action": action, "recurrence": {"frequency": "Month", "schedule": schedule}});
    world.put_job("one", body).await.is(201);
    for (user_agent, alone, listed, occurrence) in [
        (PYTHON_7, "PT1M", "PT1M", "Occurrence"),
        (PYTHON_2, "00:01:00", "PT1M", "Occurrence"),
        (NODE, "00:01:00", "00:01:00", "occurrence"),
        ("curl/8", "00:01:00", "00:01:00", "occurrence"),
    ] {
        let one = read(&world, "Jc/jobs/one", user_agent).await;
        let list = read(&world, "Jc/jobs", user_agent).await;
        for (job, interval) in [(&one, alone), (&list["value"][0], listed)] {
            let properties = &job["properties"];
            assert_eq!(properties["action"]["retryPolicy"]["retryInterval"], interval, "{user_agent}");
            let shown = &properties["recurrence"]["schedule"]["monthlyOccurrences"];
            assert_eq!(shown, &json!([{"day": "friday", occurrence: -1}]), "{user_agent}");
        }
    }
}
