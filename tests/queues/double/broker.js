// Queues, topics with subscriptions, and who is waiting for messages.
'use strict';

const { randomUUID } = require('node:crypto');

class Broker {
    /** `topics` maps a topic to its subscriptions. */
    constructor({ queues, topics, keys }) {
        this.keys = keys;
        this.topics = new Map(Object.entries(topics));
        this.stores = new Map();
        for (const queue of queues) this.stores.set(queue, new Store());
        for (const [topic, subscriptions] of this.topics) {
            for (const name of subscriptions) this.stores.set(`${topic}/Subscriptions/${name}`, new Store());
        }
        this.counts = { tokens: 0, transfers: 0, connections: 0, open: 0 };
    }

    /** Whether a message can be sent there. */
    takes(entity) {
        return this.topics.has(entity) || (this.stores.has(entity) && !entity.includes('/Subscriptions/'));
    }

    store(entity) {
        return this.stores.get(entity);
    }

    put(entity, message) {
        const subscriptions = this.topics.get(entity);
        const places = subscriptions ? subscriptions.map((name) => `${entity}/Subscriptions/${name}`) : [entity];
        for (const place of places) this.stores.get(place).put({ ...message });
    }
}

class Store {
    constructor() {
        this.messages = [];
        this.readers = new Set();
    }

    put(message) {
        this.messages.push({ message, tag: Buffer.from(randomUUID().replaceAll('-', ''), 'hex') });
        this.pump();
    }

    read(link) {
        this.readers.add(link);
        this.pump();
    }

    leave(link) {
        this.readers.delete(link);
    }

    pump() {
        for (const link of this.readers) {
            while (this.messages.length > 0 && link.sendable()) {
                const { message, tag } = this.messages.shift();
                link.send(message, tag);
            }
        }
    }
}

module.exports = { Broker };
