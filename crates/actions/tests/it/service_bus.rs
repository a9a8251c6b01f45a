//! Service Bus actions are not sent yet, and say so.

use punctual_model::{ActionKind, ServiceBusMessage};

use crate::world::{actions, assert_failed, firing};

#[tokio::test]
async fn a_service_bus_action_says_plainly_that_it_was_not_sent() {
    let message = ServiceBusMessage {
        entity: "orders".into(),
        namespace: "shop".into(),
        transport: None,
        authentication: None,
        message: "text".into(),
        brokered: None,
        custom: vec![],
    };
    assert_failed(
        &actions().fire(&firing(ActionKind::ServiceBusTopic(message))).await,
        "ServiceBusTopic Action - Failed: topic 'orders' namespace 'shop' This build does not send to Service Bus yet.",
    );
}
