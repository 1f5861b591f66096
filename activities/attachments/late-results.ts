// Tells the model of results of sandboxes that came after their calls were concluded as unknown
// (G58), each once: the transcript says what was told.
import { createBodyReader, mediaNote } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import { readRefused, type RefusedResult } from '../../store/sandbox/refused.ts';
import type { Store } from '../../store/values/store.ts';
import type { View } from '../../store/view/view.ts';
import { clip, quoteLines } from '../../system/text.ts';
import { isLostEnd, placeInName } from '../../workflows/contract/waits.ts';
import { CONTEXT_LIMIT } from '../hooks/run-hook.ts';
import type { Attachment } from './prefetch.ts';

/** Results before one model call; others follow before the next. */
const MOST_AT_ONCE = 5;
const LONGEST_CALL = 300;

/** Throws StoreError. */
export async function tellLateResults(store: Store, view: View): Promise<readonly Attachment[]> {
  const late = (await readRefused({ store, session: view.session })).filter(({ why }) => why === 'late');
  if (late.length === 0) return [];
  const { lost, sources } = readTold(view);
  const firsts = new Map(late.toReversed().map((each) => [each.settled.call, each]));
  const untold = [...firsts.values()]
    .toReversed()
    .filter(({ settled: { call } }) => lost.has(call) && !sources.has(sourceOf(call)))
    .slice(0, MOST_AT_ONCE);
  const words = await Promise.all(untold.map((each) => readWords(store, each)));
  return untold.map(({ settled: { call } }, at) => ({
    source: sourceOf(call),
    text: `arrived late: the result of ${lost.get(call)}, whose outcome was given as unknown.\n${words[at]}`,
  }));
}

const sourceOf = (call: string): string => `the sandbox, about call ${call}`;

/** Reads which calls were concluded as unknown, in words, and what has been told since. */
function readTold(view: View): { readonly lost: ReadonlyMap<string, string>; readonly sources: ReadonlySet<string> } {
  const lost = new Map<string, string>();
  const sources = new Set<string>();
  let reply: Extract<Entry, { kind: 'reply' }> | undefined;
  for (let position = 0; position < view.length; position += 1) {
    const entry = view.at(position);
    if (entry?.kind === 'reply') reply = entry;
    else if (entry?.kind === 'settled' && isLostEnd(entry)) lost.set(entry.call, describeCall(reply, entry.call));
    else if (entry?.kind === 'notice' && entry.notice.kind === 'attachment') sources.add(entry.notice.source);
  }
  return { lost, sources };
}

function describeCall(reply: Extract<Entry, { kind: 'reply' }> | undefined, call: string): string {
  const block = reply?.message.content[placeInName(call).index];
  return block?.type === 'tool_use' ? clip(`${block.name} ${JSON.stringify(block.input)}`, LONGEST_CALL) : 'a call';
}

async function readWords(store: Store, { settled }: RefusedResult): Promise<string> {
  const body = settled.result?.body;
  if (body === undefined) return '';
  const bodies = await createBodyReader(store)([{ ...settled, result: { body: { ...body, media: [] } } }]);
  const text = body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? '');
  return `${quoteLines(clip(text, CONTEXT_LIMIT))}${mediaNote(body)}`;
}
