// What a reader has chosen for this browser: zone of times, light or dark, single-key shortcuts.

export type Zone = 'local' | 'utc' | 'job';

function load(key: string): string | null {
  try {
    return localStorage.getItem(`punctual.${key}`);
  } catch {
    return null;
  }
}

function store(key: string, value: string): void {
  try {
    localStorage.setItem(`punctual.${key}`, value);
  } catch {
    // A browser that stores nothing forgets the choice; nothing else depends on it.
  }
}

function isZoneChoice(v: string | null): v is Zone {
  return v === 'local' || v === 'utc' || v === 'job';
}

const query = new URLSearchParams(location.search);

class Prefs {
  zone = $state<Zone>('local');
  theme = $state<'light' | 'dark'>('light');
  keys = $state(true);
  readonly local = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

  constructor() {
    const zone = query.get('tz') ?? load('zone');
    if (isZoneChoice(zone)) this.zone = zone;
    const theme = query.get('theme') ?? load('theme');
    const dark = theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme:dark)').matches);
    this.theme = dark ? 'dark' : 'light';
    this.keys = load('keys') !== 'off';
    document.documentElement.dataset['theme'] = this.theme;
  }

  setZone(z: Zone): void {
    this.zone = z;
    store('zone', z);
    const url = new URL(location.href);
    if (z === 'local') url.searchParams.delete('tz');
    else url.searchParams.set('tz', z);
    history.replaceState(history.state, '', url);
  }

  nextZone(): void {
    this.setZone(this.zone === 'local' ? 'utc' : this.zone === 'utc' ? 'job' : 'local');
  }

  toggleTheme(): void {
    this.theme = this.theme === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset['theme'] = this.theme;
    store('theme', this.theme);
  }

  setKeys(on: boolean): void {
    this.keys = on;
    store('keys', on ? 'on' : 'off');
  }

  /** The zone to show a time in; that of a job where the job's is chosen and it has one. */
  tz(job?: string | null): string {
    if (this.zone === 'utc') return 'UTC';
    if (this.zone === 'job') return job || 'UTC';
    return this.local;
  }

  /** The zone for what belongs to no one job. */
  get shared(): string {
    return this.zone === 'utc' ? 'UTC' : this.local;
  }
}

export const prefs = new Prefs();
