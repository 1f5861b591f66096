// What a follower has shown, less what was taken back, and what a transcript holds, as comparable
// lines: replies and outcomes.
import type { Followed } from '../../client/follow/news.ts';
import type { Entry } from '../../store/log/entries.ts';

const SUMS_UP = '-sums-up';

/**
 * Of runs that have ended. A reply without text, and an outcome that is told twice in the same
 * words, are one line each.
 */
export function storedLines(entries: readonly Entry[], from = 1): readonly string[] {
  const lines = new Set<string>();
  const names = namesOf(entries);
  let name = '';
  for (const [position, entry] of entries.entries()) {
    if (entry.kind === 'reply') {
      name = names.get(position) ?? '';
      const text = entry.message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      if (runOf(name) >= from) lines.add(saidLine(name, text));
    }
    if (entry.kind !== 'outcomes' || runOf(name) < from) continue;
    for (const { index, isError, content } of entry.outcomes) lines.add(outcomeLine(name, index, isError, content));
  }
  return [...lines].toSorted();
}

/**
 * `entries`: the transcript that events of step 0 name positions of. `from`: the first run that is
 * followed.
 */
export function shownLines(events: readonly Followed[], entries: readonly Entry[], from = 1): readonly string[] {
  const names = namesOf(entries);
  const texts = new Map<string, string>();
  const outcomes: { readonly place: string; readonly line: string }[] = [];
  let run = from;
  for (const event of events) {
    if (!('step' in event)) continue;
    const place = `${event.step}.${event.attempt}`;
    if (event.type === 'run_start') run = event.run;
    if (event.type === 'run_end') run = event.ended.run + 1;
    if (event.type === 'tombstone') {
      for (const key of texts.keys()) if (key.startsWith(`${place} `)) texts.delete(key);
      for (const one of outcomes.filter((each) => each.place === place)) outcomes.splice(outcomes.indexOf(one), 1);
      continue;
    }
    if (!('iteration' in event)) continue;
    const name = event.step === 0 ? (names.get(event.attempt) ?? 'nowhere') : `${run}.${event.iteration}`;
    const said = event.type === 'text_delta' ? event.text : event.type === 'reply' ? '' : null;
    const key = `${place} ${name}`;
    if (said !== null) texts.set(key, (texts.get(key) ?? '') + said);
    if (event.type === 'tool_end')
      outcomes.push({ place, line: outcomeLine(name, event.index, event.isError, event.content) });
  }
  const saids = [...texts].map(([key, text]) => saidLine(key.split(' ')[1] ?? '', text));
  return [...new Set([...saids, ...outcomes.map(({ line }) => line)])].toSorted();
}

/** Live events do not tell the reply that sums up a run from the one before it. */
const saidLine = (name: string, text: string): string => `${name.replace(SUMS_UP, '')} said ${JSON.stringify(text)}`;

function outcomeLine(name: string, index: number, isError: boolean, content: string): string {
  return `${name} call ${index}${isError ? ' failed' : ''} ${JSON.stringify(content.slice(0, 8_192))}`;
}

const runOf = (name: string): number => Number(name.split('.')[0]);

/**
 * Replies by position, named by run and iteration; the call that sums up a run has the iteration of
 * the one before it.
 */
function namesOf(entries: readonly Entry[]): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  let run = 0;
  for (const [position, entry] of entries.entries()) {
    if (entry.kind === 'run_started') run = entry.run;
    if (entry.kind !== 'reply') continue;
    const name = `${run}.${entry.iteration}`;
    names.set(position, [...names.values()].includes(name) ? `${name}${SUMS_UP}` : name);
  }
  return names;
}
