// Entries as plain text: for the read tool, which opens by name what the model no longer sees, and
// for the small model, which shortens it. Thinking is left out.
import { type Entry, type Outcome, entryRange } from '../log/entries.ts';
import { serverBlockText } from '../transcript/server-tools.ts';
import type { Shown } from './in-view.ts';
import { wordsOf } from './project.ts';
import { isShrunk, markCleared } from './microcompact.ts';
import { wellFormedText } from '../../system/text.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { type Bodies, bodyReader, mediaNote } from '../log/bodies.ts';
import { readRange } from '../log/read-chain.ts';
import type { Store } from '../values/store.ts';

type RenderOptions = {
  /** Characters of one result, one call's input, or one text; longer ones lose their middle. */
  readonly most: number;
  /** Results of replies before it were shrunk, and are not rendered again (L8). */
  readonly shrunkBefore: number;
};

const wholly: RenderOptions = { most: Infinity, shrunkBefore: 0 };

/** Empty for what the model is not told. `reply`: position of the reply that outcomes belong to. */
export function renderShown(shown: Shown, reply: number, bodies: Bodies, options: RenderOptions): string {
  const cut = (text: string): string => shortened(text, options.most);
  if (shown.kind !== 'entry') return labelled('Earlier', cut(shown.text));
  const { entry, position } = shown;
  switch (entry.kind) {
    case 'user':
      return labelled('User', cut(wordsOf(shown, bodies)) + mediaNote(entry.body));
    case 'notice':
      return labelled('Note', cut(wordsOf(shown, bodies)));
    case 'reply':
      return renderReply(entry, cut);
    case 'outcomes':
      return entry.outcomes
        .map((outcome) => renderOutcome(outcome, position, reply < options.shrunkBefore, cut))
        .join('\n\n');
  }
}

function renderReply({ message }: Extract<Entry, { kind: 'reply' }>, cut: (text: string) => string): string {
  const parts = message.content.flatMap((block) => {
    if (block.type === 'text') return block.text.trim() === '' ? [] : [cut(block.text)];
    const searched = serverBlockText(block);
    if (searched) return [cut(searched)];
    return block.type === 'tool_use' ? [`[calls ${block.name} with ${cut(JSON.stringify(block.input))}]`] : [];
  });
  return labelled('Assistant', parts.join('\n'));
}

function renderOutcome(outcome: Outcome, position: number, shrink: boolean, cut: (text: string) => string): string {
  const { content, isError, log } = outcome;
  const label = `Result of ${log.name}${isError ? ' (an error)' : ''}`;
  return labelled(label, shrink && isShrunk(outcome) ? markCleared(outcome, position) : cut(content) || '(no output)');
}

/**
 * Lines that only this file writes: in what was said they are marked as a quotation, or a tool's
 * result could speak as the user.
 */
const OURS =
  /^(?=(?:User|Assistant|Note|Earlier|Summary of what was before|Result of .*):[ \t]*$|--- entry \d+ ---[ \t]*$)/gm;

function labelled(label: string, text: string): string {
  return text.trim() === '' ? '' : `${label}:\n${text.replaceAll(OURS, '> ')}`;
}

function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.ceil(most * 0.6);
  const tail = text.slice(text.length - Math.floor(most * 0.4));
  return wellFormedText(`${text.slice(0, head)}\n[… ${text.length - most} characters left out …]\n${tail}`);
}

/**
 * `entries`, of which the first is at `from`, whole, whatever the model sees of them: what
 * perdure:entry/3-7 stands for. Null: none.
 */
export function renderEntries(entries: readonly Entry[], from: number, bodies: Bodies): string | null {
  if (entries.length === 0) return null;
  const parts = entries.flatMap((entry, offset) => {
    const position = from + offset;
    const text = renderEntry(entry, position, bodies);
    return text === '' ? [] : [`--- entry ${position} ---\n${text}`];
  });
  return parts.length === 0 ? '(nothing was said here)' : parts.join('\n\n');
}

function renderEntry(entry: Entry, position: number, bodies: Bodies): string {
  if (entry.kind === 'boundary') return labelled('Summary of what was before', entry.summary);
  const told = entry.kind === 'user' || entry.kind === 'reply' || entry.kind === 'outcomes' || entry.kind === 'notice';
  return told ? renderShown({ kind: 'entry', position, entry }, position, bodies, wholly) : '';
}

// The answers of the read tool for perdure:entry/… (L8–L10): entries of the transcript up to the
// head that a call was made at.

/** Null when `name` is no such name, or the transcript has no such entries. Throws StoreError. */
export async function readEntries(
  store: Store,
  session: SessionId,
  head: Hash | null,
  name: string,
): Promise<Uint8Array | null> {
  const range = entryRange(name);
  if (!range || head === null) return null;
  const segments = await readRange(store, session, head, range);
  const first = segments[0]?.segment.first ?? 0;
  const entries = segments
    .flatMap(({ segment }) => segment.entries)
    .slice(Math.max(0, range.from - first), range.to - first);
  const text = renderEntries(entries, range.from, await bodyReader(store)(entries));
  return text === null ? null : Buffer.from(text);
}
