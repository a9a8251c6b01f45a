//! Secrets go in and never come out: not in answers, lists, errors.

use serde_json::{Value, json};

use crate::world::{World, http};

const SECRET: &str = "Tr0ub4dor-and-3";

fn actions() -> Vec<Value> {
    let bus = json!({
        "namespace": "n",
        "message": "m",
        "queueName": "q",
        "topicPath": "t",
        "authentication": {"type": "SharedAccessKey", "sasKeyName": "k", "sasKey": SECRET},
    });
    let oauth = json!({"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": SECRET});
    vec![
        http(json!({"authentication": {"type": "Basic", "username": "u", "password": SECRET}})),
        http(json!({"authentication": oauth})),
        http(json!({"uri": format!("https://user:{SECRET}@a.example/"), "headers": {"authorization": SECRET,
            "Proxy-Authorization": SECRET, "Cookie": SECRET, "X-API-KEY": SECRET, "Api-Key": SECRET,
            "x-functions-key": SECRET, "Ocp-Apim-Subscription-Key": SECRET}})),
        json!({
            "type": "StorageQueue",
            "queueMessage": {"storageAccount": "a", "queueName": "q", "sasToken": SECRET, "message": "m"},
        }),
        json!({"type": "ServiceBusQueue", "serviceBusQueueMessage": bus}),
        json!({"type": "ServiceBusTopic", "serviceBusTopicMessage": bus}),
    ]
}

#[tokio::test]
async fn no_answer_shows_a_secret() {
    for action in actions() {
        let world = World::new().await;
        let mut with_error_action = action.clone();
        with_error_action["errorAction"] = action;
        let answers = [
            world.put_job("one", json!({"action": with_error_action})).await.is(201),
            world.get("Jc/jobs/one").await.is(200),
            world.get("Jc/jobs").await.is(200),
            world.patch("Jc/jobs/one", json!({"properties": {"state": "Disabled"}})).await.is(200),
            world.put_job("two", json!({"action": with_error_action, "state": "no"})).await.is(400),
        ];
        for answer in answers {
            assert!(!answer.text.contains(SECRET), "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn no_error_repeats_what_may_be_a_secret() {
    let world = World::new().await;
    for body in [
        // No JSON, but for a comma.
        format!(r#"{{"properties": {{"action": {{"request": {{"authentication": {{"password": "{SECRET}",}}}}}}}}}}"#),
        // The right value in the wrong place or shape.
        format!(r#"{{"properties": "{SECRET}"}}"#),
        json!({"properties": {"action": http(json!({"authentication": SECRET}))}}).to_string(),
        json!({"properties": {"action": http(json!({"uri": format!("nohttp://u:{SECRET}@h/?key={SECRET}")}))}}).to_string(),
        json!({"properties": {"action": http(json!({"authentication": {"type": "Basic", "username": "u", "password": [SECRET]}}))}})
            .to_string(),
        json!({"properties": {"action": http(json!({"headers": {"Authorization": [SECRET]}}))}}).to_string(),
        json!({"properties": {"action": http(json!({"headers": {"Authorization": format!("{SECRET}\n")}}))}}).to_string(),
        json!({"properties": {"action": http(json!({"authentication": {"type": "ClientCertificate", "pfx": SECRET, "password": SECRET}}))}})
            .to_string(),
    ] {
        let answer = world.call("PUT", "Jc/jobs/one", body.clone().into()).await.is(400);
        assert!(!answer.text.contains(SECRET), "{body}: {}", answer.text);
    }
}
