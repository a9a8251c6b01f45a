// The nodes, for the badge in the bar and the page of the cluster.
import { api, ApiError } from './api';
import { live } from './live.svelte';
import { session } from './session.svelte';
import type { Nodes } from './types';

class Cluster {
  nodes = $state.raw<Nodes | null>(null);
  #started = false;

  get many(): boolean {
    return (this.nodes?.value.length ?? 0) > 1;
  }

  /** How many nodes take nothing though nobody asked them to. */
  get held(): number {
    return this.nodes?.value.filter((n) => !n.fires && !n.drained).length ?? 0;
  }

  start(): void {
    if (this.#started || !session.may('reader', '/')) return;
    this.#started = true;
    void this.load();
    live.on('node', (e) => {
      if (!this.nodes) return;
      const changed = new Map(e.nodes.map((n) => [n.name, n]));
      const value = this.nodes.value.map((n) => changed.get(n.name) ?? n);
      for (const n of e.nodes) if (!value.some((v) => v.name === n.name)) value.push(n);
      this.nodes = { ...this.nodes, value };
    });
  }

  async load(): Promise<void> {
    if (!session.can('nodes')) return;
    try {
      this.nodes = await api.nodes();
    } catch (e) {
      // A server that has no such list is a single one.
      if (!(e instanceof ApiError)) throw e;
    }
  }
}

export const cluster = new Cluster();
