// Offers transcripts as downloads, and texts too long for the page as plain text that a browser
// does not run.
import type { Context } from 'hono';
import { stream } from 'hono/streaming';
import { jsonLine, showUnseen } from '../../system/text.ts';
import { transcriptParts, sessionJson, readWholeResult } from '../../client/faces/history.ts';
import { isReply } from '../../client/faces/turns.ts';
import type { SessionReading, Item, MediaType } from '../../client/faces/types.ts';
import { MEDIA_TYPES } from '../../client/faces/basics.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import type { PagePorts } from '../ports.ts';

export type Kind = 'jsonl' | 'md';

const types: Readonly<Record<Kind, string>> = {
  jsonl: 'application/jsonl; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
};

export function downloadTranscript(
  context: Context,
  { store }: PagePorts,
  reading: SessionReading,
  kind: Kind,
): Response {
  context.header('Content-Type', types[kind]);
  context.header('Content-Disposition', `attachment; filename="${reading.description.session}.${kind}"`);
  return stream(context, async (out) => {
    if (kind === 'md')
      for await (const piece of transcriptMarkdown(reading, readWholeResult(store))) await out.write(piece);
    else for await (const line of sessionJson(reading, readWholeResult(store))) await out.write(`${jsonLine(line)}\n`);
  });
}

/** Writes what was said as it was, and everything else under a heading and fenced. */
async function* transcriptMarkdown(
  reading: SessionReading,
  whole: ReturnType<typeof readWholeResult>,
): AsyncIterable<string> {
  const { session, title, cwd } = reading.description;
  yield `# ${showUnseen(title || session)}\n\nSession \`${session}\`, workspace \`${showUnseen(cwd)}\`\n\n`;
  for await (const { mark, text } of transcriptParts({ reading, whole })) {
    if (text === null) yield `*${showUnseen(mark ?? '')}*\n\n`;
    else if (mark === null) yield `${text.trim()}\n\n`;
    else yield `#### ${showUnseen(mark)}\n\n${fenceText(text)}\n\n`;
  }
}

function fenceText(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

/**
 * Returns the text of an entry: a message's, or that of a block of a reply, which for a call is its
 * output. Null when it does not exist.
 */
export async function readWholeText(
  feed: SessionFeed,
  { store }: PagePorts,
  position: number,
  part: string,
): Promise<string | null> {
  const first = feed.standing.items.all[0]?.position ?? 0;
  const item = itemAt(feed, position);
  if (item === undefined) return null;
  if (item.entry.kind === 'user') {
    const { bodies } = await feed.context(position - first, position - first + 1);
    return item.entry.body.kind === 'text' ? item.entry.body.text : (bodies.get(item.entry.body.hash) ?? null);
  }
  if (!isReply(item) || !/^\d{1,6}$/.test(part)) return null;
  const block = item.entry.message.content[Number(part)];
  if (block?.type === 'text') return block.text;
  const outcome = item.outcomes.get(Number(part));
  return outcome ? readWholeResult(store)(outcome) : null;
}

const itemAt = ({ standing: { items } }: SessionFeed, position: number): Item | undefined =>
  items.all[position - (items.all[0]?.position ?? 0)];

/**
 * Returns an image or PDF of a message as it was sent, or as a call of a reply returned it (`part`
 * is its block), with one of the types that the API accepts. Null when it does not exist.
 */
export async function readMedium(
  feed: SessionFeed,
  { store }: Pick<PagePorts, 'store'>,
  { position, part, index }: { readonly position: number; readonly part?: number; readonly index: number },
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly mediaType: MediaType } | null> {
  const item = itemAt(feed, position);
  const ofMessage = item?.entry.kind === 'user' ? item.entry.body.media : undefined;
  const medium = (part === undefined ? ofMessage : item?.outcomes.get(part)?.media)?.[index];
  if (medium === undefined || !MEDIA_TYPES.includes(medium.mediaType)) return null;
  return { bytes: new Uint8Array(await store.get(medium.hash)), mediaType: medium.mediaType };
}
