// The AMQP side: `$cbs` takes tokens, links need one for their entity, and some entities misbehave. Whoever
// comes with a key's name and the key by SASL PLAIN needs no tokens.
//
// The name of an entity says what it does with a message: `never-settles`, `drops` (takes it and hangs up),
// `rejects`, `releases`, `settles-without-state`, `no-credit`, `detaches` (closes the link after the
// message), `ends-session` (ends the session instead of opening a link). Every other one accepts.
'use strict';

const rhea = require('rhea');
const sas = require('./sas.js');

/** An entity's name, from a bare address or one with a host before it, as the official client has it. */
const entityOf = (address) => (address ?? '').replace(/^amqps?:\/\/[^/]*\//, '');

function listen(broker, options) {
    const container = rhea.create_container({ id: 'double' });
    container.sasl_server_mechanisms.enable_anonymous();
    container.sasl_server_mechanisms.enable_plain((name, key) => broker.keys[name] === key);
    const known = (connection) => broker.keys[connection.sasl_transport?.username] !== undefined;
    const grants = (connection) => (connection.grants ??= new Map());

    container.on('connection_open', ({ connection }) => {
        broker.counts.connections += 1;
        broker.counts.open += 1;
        connection.socket.once('close', () => {
            broker.counts.open -= 1;
            clearInterval(connection.guard);
            for (const store of broker.stores.values()) {
                for (const link of store.readers) if (link.connection === connection) store.leave(link);
            }
        });
    });
    container.on('connection_close', ({ connection }) => connection.close());
    // Peers that vanish are part of the tests.
    for (const event of ['disconnected', 'connection_error', 'session_error', 'sender_error', 'receiver_error', 'protocol_error', 'error']) {
        container.on(event, () => {});
    }

    /** Ends links whose token has ended. */
    const guard = (connection) => {
        connection.guard ??= setInterval(() => {
            connection.each_link((link) => {
                const until = link.entity && grants(connection).get(link.entity);
                if (until && until <= Date.now() && link.is_open()) {
                    link.close({ condition: 'amqp:unauthorized-access', description: 'ExpiredToken' });
                }
            });
        }, 50);
    };

    const admit = (link, entity, there) => {
        link.entity = entity;
        const until = known(link.connection) || [...grants(link.connection)].find(([path, until]) => (
            until > Date.now() && (entity === path || entity.startsWith(`${path}/`))));
        if (!until) {
            link.close({
                condition: 'amqp:unauthorized-access',
                description: `Unauthorized access. 'Send' claim(s) are required to perform this operation. Resource: '${entity}'.`,
            });
        } else if (!there) {
            link.close({
                condition: 'amqp:not-found',
                description: `The messaging entity '${entity}' could not be found.`,
            });
        } else {
            return true;
        }
        return false;
    };

    // Both directions must name both ends, else some clients take the link for refused.
    const echo = (link) => {
        link.set_source(link.remote.attach.source || {});
        link.set_target(link.remote.attach.target || {});
    };

    // They send, we receive.
    container.on('receiver_open', ({ receiver }) => {
        echo(receiver);
        const entity = entityOf(receiver.target?.address);
        if (entity === '$cbs') return void receiver.add_credit(100);
        if (entity === 'ends-session') {
            return void receiver.session.close({ condition: 'amqp:precondition-failed', description: 'Not this one.' });
        }
        if (!admit(receiver, entity, broker.takes(entity))) return;
        if (entity !== 'no-credit') receiver.add_credit(1000);
    });

    // They receive, we send.
    container.on('sender_open', ({ sender }) => {
        echo(sender);
        const entity = entityOf(sender.source?.address);
        if (entity === '$cbs') return void (sender.connection.replies = sender);
        if (!admit(sender, entity, broker.store(entity) !== undefined)) return;
        sender.store = broker.store(entity);
        sender.store.read(sender);
    });
    container.on('sendable', ({ sender }) => sender.store?.pump());
    // Settled with a state, else the official client does not take it for settled.
    container.on('accepted', ({ delivery }) => delivery.update(true, rhea.message.accepted().described()));
    container.on('sender_close', ({ sender }) => sender.store?.leave(sender));

    container.on('message', ({ message, delivery, receiver, connection }) => {
        if (receiver.target?.address === '$cbs') {
            broker.counts.tokens += 1;
            const audience = new URL(message.application_properties.name);
            const entity = decodeURIComponent(audience.pathname).replace(/^\/+|\/+$/g, '');
            const { problem, until } = sas.check(message.body, entity, broker.keys, Date.now());
            if (until) {
                grants(connection).set(entity, until);
                guard(connection);
            }
            delivery.accept();
            connection.replies.send({
                correlation_id: message.message_id,
                to: message.reply_to,
                application_properties: {
                    'status-code': rhea.types.wrap_int(problem ? 401 : 202),
                    'status-description': problem ? `InvalidSignature: ${problem}` : 'Accepted',
                },
                body: '',
            });
            return;
        }
        broker.counts.transfers += 1;
        receiver.add_credit(1);
        const entity = receiver.entity;
        switch (entity) {
        case 'never-settles':
            return;
        case 'drops':
            return void connection.socket.destroy();
        case 'rejects':
            return void delivery.reject({ condition: 'amqp:resource-limit-exceeded', description: 'The queue is full.' });
        case 'releases':
            return void delivery.release({ undeliverable_here: true });
        case 'settles-without-state':
            return void delivery.update(true);
        case 'detaches':
            return void receiver.close({ condition: 'com.microsoft:server-busy', description: 'Come back later.' });
        default:
            broker.put(entity, message);
            delivery.accept();
        }
    });

    return container.listen({
        host: '127.0.0.1',
        port: options.port,
        ...(options.cert && { transport: 'tls', cert: options.cert, key: options.key }),
        // Taken and settled by hand.
        receiver_options: { autoaccept: false, autosettle: true, credit_window: 0 },
        sender_options: { autosettle: false },
        require_sasl: true,
        non_fatal_errors: ['ECONNRESET', 'EPIPE'],
    });
}

module.exports = { listen };
