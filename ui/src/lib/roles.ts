// What the caller may do. The server decides; this only tells beforehand, so that a button can say why.
import type { Grant, Role } from './types';

const ORDER: Role[] = ['reader', 'operator', 'contributor', 'owner'];

/** Whether `scope` lies in `grant`, by whole segments and in any letter case. */
export function covers(grant: string, scope: string): boolean {
  const g = grant.toLowerCase().replace(/\/+$/, '');
  const s = scope.toLowerCase().replace(/\/+$/, '');
  return g === '' || s === g || s.startsWith(`${g}/`);
}

export function may(grants: Grant[], role: Role, scope: string): boolean {
  return grants.some((g) => ORDER.indexOf(g.role) >= ORDER.indexOf(role) && covers(g.scope, scope));
}

/** The highest role that the caller has on the scope; null: none. */
export function roleOn(grants: Grant[], scope: string): Role | null {
  let best = -1;
  for (const g of grants) if (covers(g.scope, scope)) best = Math.max(best, ORDER.indexOf(g.role));
  return ORDER[best] ?? null;
}

/** Whether the caller has the role anywhere. */
export function mayAnywhere(grants: Grant[], role: Role): boolean {
  return grants.some((g) => ORDER.indexOf(g.role) >= ORDER.indexOf(role));
}
