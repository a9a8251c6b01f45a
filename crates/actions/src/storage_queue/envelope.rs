//! The message that is put into a storage queue, byte for byte as the original service wrote it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_model::Firing;

use crate::http::expected_time;

/// The body of the request that puts a message: the envelope in base64, in the XML of the queue service.
pub(crate) fn body(firing: &Firing, message: &str) -> String {
    let text = STANDARD.encode(envelope(firing, message));
    format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>")
}

/// The envelope declares UTF-16 but is UTF-8: the original service serialized it as a .NET string, then sent it.
fn envelope(firing: &Firing, message: &str) -> String {
    let elements = [
        ("ExecutionTag", firing.tag.to_string()),
        ("ClientRequestId", firing.client_request_id.clone()),
        ("ExpectedExecutionTime", expected_time(firing.nominal_at)),
        ("SchedulerJobId", firing.job.name.to_string()),
        ("SchedulerJobCollectionId", firing.job.collection.name.to_string()),
        ("Region", firing.region.to_string()),
        ("Message", message.to_owned()),
    ];
    let mut xml = String::with_capacity(640 + message.len());
    xml.push_str("<?xml version=\"1.0\" encoding=\"utf-16\"?>\r\n");
    xml.push_str("<StorageQueueMessage xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" ");
    xml.push_str("xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\r\n");
    for (name, value) in elements {
        xml.push_str("  ");
        element(&mut xml, name, &value);
        xml.push_str("\r\n");
    }
    xml.push_str("</StorageQueueMessage>");
    xml
}

fn element(xml: &mut String, name: &str, value: &str) {
    if value.is_empty() {
        xml.extend(["<", name, " />"]);
        return;
    }
    xml.extend(["<", name, ">"]);
    for letter in value.chars() {
        match letter {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            // An XML parser would turn a bare carriage return into a line feed.
            '\r' => xml.push_str("&#xD;"),
            '\n' | '\t' => xml.push(letter),
            // XML can't contain these: a parser would refuse the whole message.
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => xml.push(char::REPLACEMENT_CHARACTER),
            _ => xml.push(letter),
        }
    }
    xml.extend(["</", name, ">"]);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punctual_model::{
        Action, ActionKind, Cause, CollectionKey, ExecutionTag, JobId, JobSpec, QueueMessage, Secret,
    };

    use super::*;

    fn firing() -> Firing {
        let nominal_at = "2014-01-30T20:31:13.5Z".parse().unwrap();
        let message = QueueMessage {
            storage_account: "account".into(),
            queue_name: "queue".into(),
            sas_token: Secret::new("sig=x"),
            message: String::new(),
        };
        let action = Action { kind: ActionKind::StorageQueue(message), retry: None, error_action: None };
        Firing {
            job: CollectionKey::new("s", "g", "WebJobs-SouthCentralUS").job("Test"),
            region: "Central US".into(),
            spec: Arc::new(JobSpec::once(action)),
            step: 0,
            attempt: 0,
            nominal_at,
            tag: ExecutionTag::of(JobId(1), Cause::Schedule, nominal_at, 0),
            client_request_id: "d7737f7c-0880-4072-8b95-f5db2f8ad572".into(),
        }
    }

    #[test]
    fn the_envelope_is_the_known_one() {
        let firing = firing();
        let expected = [
            "<?xml version=\"1.0\" encoding=\"utf-16\"?>",
            "<StorageQueueMessage xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">",
            &format!("  <ExecutionTag>{}</ExecutionTag>", firing.tag),
            "  <ClientRequestId>d7737f7c-0880-4072-8b95-f5db2f8ad572</ClientRequestId>",
            "  <ExpectedExecutionTime>2014-01-30T20:31:13</ExpectedExecutionTime>",
            "  <SchedulerJobId>Test</SchedulerJobId>",
            "  <SchedulerJobCollectionId>WebJobs-SouthCentralUS</SchedulerJobCollectionId>",
            "  <Region>Central US</Region>",
            "  <Message>test</Message>",
            "</StorageQueueMessage>",
        ];
        assert_eq!(envelope(&firing, "test"), expected.join("\r\n"));
    }

    #[test]
    fn the_text_is_escaped() {
        let check = |message, expected: &str| {
            let xml = envelope(&firing(), message);
            assert!(xml.contains(expected), "{message:?}: {xml}");
        };
        check("<a b=\"c\">&'</a>", "<Message>&lt;a b=\"c\"&gt;&amp;'&lt;/a&gt;</Message>");
        check("güneş", "<Message>güneş</Message>");
        check("a\r\nb", "<Message>a&#xD;\nb</Message>");
        check("\u{1}", "<Message>\u{fffd}</Message>");
        check("", "<Message />");
    }

    #[test]
    fn the_envelope_travels_in_base64() {
        let body = body(&firing(), "test");
        let text = body.strip_prefix("<QueueMessage><MessageText>").unwrap();
        let text = text.strip_suffix("</MessageText></QueueMessage>").unwrap();
        assert_eq!(STANDARD.decode(text).unwrap(), envelope(&firing(), "test").as_bytes());
    }
}
