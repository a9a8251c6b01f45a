// A double of Service Bus: queues and topics over AMQP 1.0 with `$cbs`, and over REST; signatures are really
// checked. It is our reading of the protocol, checked from the other side by the official client.
//
//   node main.js '{"amqp": 0, "rest": 0, "queues": ["orders"], "topics": {"news": ["all"]},
//                  "keys": {"Root": "secret"}, "cert": "cert.pem", "key": "key.pem"}'
//
// With `cert` and `key` both speak TLS. Prints one line of JSON with the ports when it is ready.
'use strict';

const fs = require('node:fs');
const { Broker } = require('./broker.js');
const amqp = require('./amqp.js');
const rest = require('./rest.js');

const given = JSON.parse(process.argv[2]);
const broker = new Broker({ queues: [], topics: {}, ...given });
const secure = given.cert ? { cert: fs.readFileSync(given.cert), key: fs.readFileSync(given.key) } : {};

const ready = (server) => new Promise((resolve, reject) => {
    server.once('listening', () => resolve(server.address().port));
    server.once('error', reject);
});

// rhea throws where a peer leaves in the middle of something.
process.on('uncaughtException', (error) => console.error(error.message));

Promise.all([
    ready(amqp.listen(broker, { port: given.amqp ?? 0, ...secure })),
    ready(rest.listen(broker, { port: given.rest ?? 0, ...secure })),
]).then(([amqpPort, restPort]) => console.log(JSON.stringify({ amqp: amqpPort, rest: restPort })))
    .catch((error) => {
        console.error(error.message);
        process.exit(1);
    });
