// Jobs as a file: their definitions as the API shows them, without secrets.
import { api } from './api';
import { voice } from './say.svelte';
import { t } from './text';
import type { Job, JobRow } from './types';

const AT_ONCE = 4;

export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  URL.revokeObjectURL(url);
}

export async function exportJobs(rows: JobRow[]): Promise<void> {
  const left = [...rows];
  const out: Job[] = [];
  const work = async (): Promise<void> => {
    for (let r = left.shift(); r; r = left.shift()) out.push(await api.job({ ...r, job: r.name }));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  out.sort((a, b) => a.id.localeCompare(b.id));
  const value = out.map(({ id, name, type, properties: { status: _, ...properties } }) => ({ id, name, type, properties }));
  saveFile('punctual-jobs.json', `${JSON.stringify({ value }, null, 2)}\n`);
  voice.say(t.bulk.exported(out.length));
}
