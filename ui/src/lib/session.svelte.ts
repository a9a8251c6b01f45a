// Who is asking: the caller, its grants, what the server can do.
import { api, ApiError } from './api';
import { clock } from './clock.svelte';
import { may, mayAnywhere, roleOn } from './roles';
import type { Me, Role } from './types';

class Session {
  me = $state<Me | null>(null);
  /** The server wants to know who is asking and does not. */
  signedOut = $state(false);
  /** It knew before: the session has ended. */
  ended = $state(false);
  error = $state<ApiError | null>(null);

  async load(): Promise<void> {
    try {
      this.take(await api.me(true));
    } catch (e) {
      if (e instanceof ApiError && e.status === 401) this.out();
      else if (e instanceof ApiError) this.error = e;
      else throw e;
    }
  }

  take(me: Me): void {
    this.me = me;
    this.signedOut = false;
    this.ended = false;
    this.error = null;
    clock.setSpeed(me.clock.speed, me.clock.time, me.clock.realTime);
  }

  out(): void {
    this.ended = this.me !== null;
    this.signedOut = true;
  }

  may(role: Role, scope: string): boolean {
    return this.me !== null && may(this.me.grants, role, scope);
  }

  mayAnywhere(role: Role): boolean {
    return this.me !== null && mayAnywhere(this.me.grants, role);
  }

  role(scope: string): Role | null {
    return this.me === null ? null : roleOn(this.me.grants, scope);
  }

  can(feature: string): boolean {
    return this.me?.features.includes(feature) ?? false;
  }
}

export const session = new Session();
