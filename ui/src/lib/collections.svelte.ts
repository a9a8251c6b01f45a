// All collections that the caller may read, for pickers and the palette.
import { api, ApiError } from './api';
import { parseId, type CollectionName } from './names';
import type { Collection } from './types';

export type CollectionEntry = CollectionName & { resource: Collection };

class Collections {
  all = $state.raw<CollectionEntry[]>([]);
  subscriptions = $state.raw<string[]>([]);
  loaded = $state(false);
  error = $state.raw<ApiError | null>(null);
  #at = 0;

  /** Reads them, at most every 10 seconds unless asked to. */
  async load(again = false): Promise<void> {
    if (!again && this.loaded && performance.now() - this.#at < 10_000) return;
    this.#at = performance.now();
    try {
      const subs = (await api.subscriptions()).value.map((s) => s.subscriptionId);
      const lists = await Promise.all(subs.slice(0, 200).map((s) => api.collections(s)));
      this.subscriptions = subs;
      this.all = lists.flatMap((l) =>
        l.value.flatMap((c) => {
          const n = parseId(c.id);
          return n ? [{ subscription: n.subscription, group: n.group, collection: n.collection, resource: c }] : [];
        }),
      );
      this.loaded = true;
      this.error = null;
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      this.error = e;
    }
  }
}

export const collections = new Collections();
