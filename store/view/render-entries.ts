// Renders entries as plain text: for the read tool, which opens by name what the model no longer
// sees, and for the small model, which shortens it. Thinking is left out.
import { type Entry, type Outcome, parseEntryName } from '../log/entries.ts';
import { serverBlockText } from '../transcript/server-tools.ts';
import type { ShownPart } from './in-view.ts';
import { wordsOf } from './project.ts';
import { isShrunk, shrunkMarker } from './microcompact.ts';
import { wellFormedText } from '../../system/text.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { type Bodies, createBodyReader, mediaNote } from '../log/bodies.ts';
import { readRange } from '../log/read-chain.ts';
import type { Store } from '../values/store.ts';

type RenderOptions = {
  /** Characters of one result, one call's input, or one text; longer ones lose their middle. */
  readonly most: number;
  /** Results of replies before this position were shrunk, and are not rendered again (L8). */
  readonly shrunkBefore: number;
};

const WHOLE: RenderOptions = { most: Infinity, shrunkBefore: 0 };

/**
 * Returns an empty text for entries that the model is not told of. `reply` is the position of the
 * reply that outcomes belong to.
 */
export function renderShown(part: ShownPart, reply: number, bodies: Bodies, options: RenderOptions): string {
  const cut = (text: string): string => shortenText(text, options.most);
  if (part.kind !== 'entry') return labelText('Earlier', cut(part.text));
  const { entry, position } = part;
  switch (entry.kind) {
    case 'user':
      return labelText('User', cut(wordsOf(part, bodies)) + mediaNote(entry.body));
    case 'notice':
      return labelText('Note', cut(wordsOf(part, bodies)));
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
  return labelText('Assistant', parts.join('\n'));
}

function renderOutcome(outcome: Outcome, position: number, shrink: boolean, cut: (text: string) => string): string {
  const { content, isError, log } = outcome;
  const label = `Result of ${log.name}${isError ? ' (an error)' : ''}`;
  return labelText(
    label,
    shrink && isShrunk(outcome) ? shrunkMarker(outcome, position) : cut(content) || '(no output)',
  );
}

/**
 * Matches lines that only this file writes. In foreign text they are marked as a quotation, or a
 * tool's result could speak as the user.
 */
const OWN_LINES =
  /^(?=(?:User|Assistant|Note|Earlier|Summary of what was before|Result of .*):[ \t]*$|--- entry \d+ ---[ \t]*$)/gm;

function labelText(label: string, text: string): string {
  return text.trim() === '' ? '' : `${label}:\n${text.replaceAll(OWN_LINES, '> ')}`;
}

function shortenText(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.ceil(most * 0.6);
  const tail = text.slice(text.length - Math.floor(most * 0.4));
  return wellFormedText(`${text.slice(0, head)}\n[… ${text.length - most} characters left out …]\n${tail}`);
}

/**
 * Renders `entries`, of which the first is at `from`, whole, whatever the model sees of them, for a
 * name such as perdure:entry/3-7. Returns null when `entries` is empty.
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
  if (entry.kind === 'boundary') return labelText('Summary of what was before', entry.summary);
  const isVisible =
    entry.kind === 'user' || entry.kind === 'reply' || entry.kind === 'outcomes' || entry.kind === 'notice';
  return isVisible ? renderShown({ kind: 'entry', position, entry }, position, bodies, WHOLE) : '';
}

/**
 * Answers the read tool for perdure:entry/… (L8–L10) from the transcript up to the head that the
 * call was made at. Returns null when `name` has another form, or the transcript lacks such
 * entries. Throws StoreError.
 */
export async function readEntries(
  store: Store,
  session: SessionId,
  head: Hash | null,
  name: string,
): Promise<Uint8Array | null> {
  const range = parseEntryName(name);
  if (!range || head === null) return null;
  const segments = await readRange(store, session, head, range);
  const first = segments[0]?.segment.first ?? 0;
  const entries = segments
    .flatMap(({ segment }) => segment.entries)
    .slice(Math.max(0, range.from - first), range.to - first);
  const text = renderEntries(entries, range.from, await createBodyReader(store)(entries));
  return text === null ? null : Buffer.from(text);
}
