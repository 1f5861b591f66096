// Shows watchers what a step appends to the transcript before it does anything else.
import type { Entry } from '../transcript/log/entries.ts';
import type { LiveWriter } from './events.ts';

/** Prompts are shown up to this many characters; the transcript has them whole. */
const SHOWN = 8_192;

export function announce(live: LiveWriter, entries: readonly Entry[]): void {
  for (const entry of entries) {
    if (entry.kind === 'transition') {
      live.write({ type: 'transition', iteration: entry.iteration, reason: entry.reason });
    } else if (entry.kind === 'notice') {
      live.write({ type: 'notice', notice: entry.notice });
    } else if (entry.kind === 'user') {
      const { body } = entry;
      const text = body.kind === 'text' ? body.text : `(a prompt of ${body.bytes} bytes)`;
      live.write({ type: 'user', id: entry.id, text: text.slice(0, SHOWN) });
    }
  }
}
