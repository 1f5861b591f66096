// Reads what was said last in a session: the last prompt, and the last text of the model behind it.
import type { Client } from '@temporalio/client';
import { createBodyReader } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import { loadWorkingView } from '../../store/view/view.ts';
import type { Store } from '../../store/values/store.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { headOf } from './newest-head.ts';

export type LastWords = {
  /** The text of the last prompt; null when it cannot be read. */
  readonly prompt: string | null;
  /** Empty before the first reply with a text. */
  readonly reply: string;
};

type Ports = { readonly temporal: { readonly client: Client }; readonly store: Store };

/** Throws ClientProblem, and StoreError. */
export async function readLastWords({ temporal, store }: Ports, session: SessionId): Promise<LastWords> {
  const view = await loadWorkingView(store, session, await headOf(temporal.client, session));
  const entries = view.from(view.begin);
  const prompt = entries.findLast((entry) => entry.kind === 'user');
  if (prompt?.kind !== 'user') return { prompt: null, reply: lastText(entries) };
  const { body } = prompt;
  const bodies = await createBodyReader(store)([prompt]);
  const text = body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? null);
  return { prompt: text, reply: lastText(entries) };
}

function lastText(entries: readonly Entry[]): string {
  for (const entry of entries.toReversed()) {
    if (entry.kind !== 'reply') continue;
    const text = entry.message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    if (text.trim() !== '') return text.trim();
  }
  return '';
}
