// The REST side: `POST /{entity}/messages` with a token and `BrokerProperties`; what it takes is put where
// AMQP clients read it. And, for the tests, `GET /counts`.
'use strict';

const http = require('node:http');
const https = require('node:https');
const sas = require('./sas.js');

/** The type that each property must have. */
const KNOWN = {
    MessageId: 'string', CorrelationId: 'string', Label: 'string', PartitionKey: 'string', ReplyTo: 'string',
    ReplyToSessionId: 'string', SessionId: 'string', To: 'string', ViaPartitionKey: 'string',
    ForcePersistence: 'boolean', ScheduledEnqueueTimeUtc: 'string', TimeToLive: 'number',
};

const NOT_PROPERTIES = new Set(['authorization', 'brokerproperties', 'content-type', 'content-length', 'host',
    'user-agent', 'connection', 'accept', 'transfer-encoding']);

function listen(broker, options) {
    const answer = (response, status, detail) => {
        response.writeHead(status, { 'content-type': 'application/xml; charset=utf-8' });
        response.end(detail ? `<Error><Code>${status}</Code><Detail>${detail}</Detail></Error>` : '');
    };
    const serve = (request, response) => {
        if (request.url === '/counts') {
            const full = [...broker.stores].filter(([, store]) => store.messages.length > 0);
            const waiting = Object.fromEntries(full.map(([name, store]) => [name, store.messages.length]));
            return void response.end(JSON.stringify({ ...broker.counts, waiting }));
        }
        const chunks = [];
        request.on('data', (chunk) => chunks.push(chunk));
        request.on('end', () => {
            const match = /^\/(.+)\/messages$/.exec(request.url);
            if (!match || request.method !== 'POST') return answer(response, 400, 'Bad request.');
            const entity = decodeURIComponent(match[1]);
            const { problem } = sas.check(request.headers.authorization, entity, broker.keys, Date.now());
            if (problem) return answer(response, 401, `${problem}: ${request.headers.authorization}`);
            if (!broker.takes(entity)) return answer(response, 404, 'The endpoint was not found.');
            if (entity === 'rejects') return answer(response, 403, 'The queue is full.');
            if (entity === 'drops') return void request.socket.destroy();
            if (entity === 'never-settles') return undefined;
            let properties;
            try {
                properties = JSON.parse(request.headers.brokerproperties);
                for (const [name, value] of Object.entries(properties)) {
                    if (typeof value !== KNOWN[name]) throw new Error(`${name} is unknown or of the wrong type`);
                }
            } catch (error) {
                return answer(response, 400, `BrokerProperties: ${error.message}`);
            }
            // As they were spelled.
            const custom = [];
            for (let at = 0; at < request.rawHeaders.length; at += 2) {
                const [name, value] = request.rawHeaders.slice(at, at + 2);
                if (!NOT_PROPERTIES.has(name.toLowerCase())) custom.push([name, value]);
            }
            broker.counts.transfers += 1;
            broker.put(entity, message(properties, custom, request.headers['content-type'], Buffer.concat(chunks)));
            return answer(response, 201);
        });
    };
    const server = options.cert ? https.createServer(options, serve) : http.createServer(serve);
    return server.listen(options.port, '127.0.0.1');
}

/** The message as an AMQP client sees it. */
function message(properties, custom, contentType, body) {
    const rhea = require('rhea');
    const annotations = {};
    if (properties.PartitionKey) annotations['x-opt-partition-key'] = properties.PartitionKey;
    if (properties.ViaPartitionKey) annotations['x-opt-via-partition-key'] = properties.ViaPartitionKey;
    if (properties.ScheduledEnqueueTimeUtc) {
        const at = Date.parse(properties.ScheduledEnqueueTimeUtc);
        annotations['x-opt-scheduled-enqueue-time'] = rhea.types.wrap_timestamp(at);
    }
    return {
        message_id: properties.MessageId,
        correlation_id: properties.CorrelationId,
        subject: properties.Label,
        reply_to: properties.ReplyTo,
        reply_to_group_id: properties.ReplyToSessionId,
        group_id: properties.SessionId,
        to: properties.To,
        durable: properties.ForcePersistence,
        ttl: properties.TimeToLive === undefined ? undefined : Math.round(properties.TimeToLive * 1000),
        content_type: contentType,
        application_properties: Object.fromEntries(custom.map(([name, value]) => [name, JSON.parse(value)])),
        message_annotations: annotations,
        body: rhea.message.data_section(body),
    };
}

module.exports = { listen };
