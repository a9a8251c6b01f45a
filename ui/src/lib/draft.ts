// What was typed into the editor and not saved, kept in the tab. Secrets are not.
import type { JobProperties } from './types';

const SECRETS = new Set(['password', 'pfx', 'secret', 'sasToken', 'sasKey']);

export function withoutSecrets(p: JobProperties): JobProperties {
  return JSON.parse(JSON.stringify(p, (k, v: unknown) => (SECRETS.has(k) ? undefined : v))) as JobProperties;
}

const key = (place: string): string => `punctual.draft.${place}`;

export function keepDraft(place: string, p: JobProperties): void {
  try {
    sessionStorage.setItem(key(place), JSON.stringify(withoutSecrets(p)));
  } catch {
    // A tab that can't store keeps no draft.
  }
}

export function dropDraft(place: string): void {
  try {
    sessionStorage.removeItem(key(place));
  } catch {
    // Nothing was kept.
  }
}

export function readDraft(place: string): JobProperties | null {
  try {
    const text = sessionStorage.getItem(key(place));
    return text ? (JSON.parse(text) as JobProperties) : null;
  } catch {
    return null;
  }
}
