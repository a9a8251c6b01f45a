// Copies to the clipboard, also where the page is not served over TLS and the browser has no clipboard.
import { voice } from './say.svelte';
import { t } from './text';

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'sr';
    const host = document.querySelector('dialog[open]') ?? document.body;
    host.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  voice.say(t.do.copied);
}
