// Finds words in a whole session, whatever of it is drawn: in prompts, in what the model said and
// thought, in inputs and in results. Links lead to the place.
import { showUnseen } from '../../system/text.ts';
import type { Hash, Item } from '../../client/faces/types.ts';
import { noticeText } from '../../client/faces/words.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { isReply } from '../../client/faces/turns.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { htmlOf } from '../layout.tsx';
import { itemId } from '../transcript/item-view.tsx';

type Match = {
  readonly where: string;
  readonly href: string;
  readonly snippet: string;
  readonly at: number;
  readonly length: number;
};

/** Matches to show; more are only counted. */
const SHOWN = 50;
/** Characters around a match. */
const AROUND = 60;
const LONGEST = 200;

type Text = { readonly where: string; readonly text: string; readonly href: string };

export async function findPage(feed: SessionFeed, query: string): Promise<string> {
  const wanted = query.trim().slice(0, LONGEST);
  if (wanted === '') return '';
  const { all } = feed.standing.items;
  const { bodies } = await feed.context(0, all.length);
  const { matches, more } = findIn(all, bodies, wanted);
  return htmlOf(<MatchList matches={matches} more={more} />);
}

function findIn(
  items: readonly Item[],
  bodies: ReadonlyMap<Hash, string>,
  query: string,
): { readonly matches: readonly Match[]; readonly more: number } {
  const wanted = query.toLowerCase();
  const matches: Match[] = [];
  let more = 0;
  for (const item of items)
    for (const { where, text, href } of textsOf(item, bodies)) {
      const found = text.toLowerCase().indexOf(wanted);
      if (found < 0) continue;
      if (matches.length === SHOWN) more += 1;
      else matches.push({ where, href, ...snippetOf(text, found, wanted.length) });
    }
  return { matches, more };
}

/** Returns whole words around a match, without the marks of Markdown. */
function snippetOf(text: string, found: number, length: number): Pick<Match, 'snippet' | 'at' | 'length'> {
  const [from, to] = [Math.max(0, found - AROUND), found + length + AROUND];
  const left = text.slice(from, found);
  const right = text.slice(found + length, to);
  const before = from === 0 ? plainOf(left) : `… ${plainOf(left.replace(/^\S*\s*/, ''))}`;
  const after = to >= text.length ? plainOf(right) : `${plainOf(withoutLastWord(right))} …`;
  const match = text.slice(found, found + length);
  return { snippet: `${before}${match}${after}`, at: before.length, length };
}

function withoutLastWord(text: string): string {
  let end = text.length;
  while (end > 0 && text.charAt(end - 1).trim() !== '') end -= 1;
  return text.slice(0, end).trimEnd();
}

const plainOf = (text: string): string =>
  text
    .replaceAll(/```\w*|\*\*|`/g, '')
    .replaceAll(/^[ \t]*(?:#{1,6}|[-*>])(?=\s)/gm, '')
    .replaceAll(/\s+/g, ' ');

/** Writes an input as its fields, without the marks of JSON. */
function inputText(input: unknown): string {
  if (typeof input !== 'object' || input === null) return JSON.stringify(input) ?? '';
  const fields = Object.entries(input).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return fields.join('\n');
}

function* textsOf(item: Item, bodies: ReadonlyMap<Hash, string>): Iterable<Text> {
  const { entry, position, outcomes } = item;
  const here = `?at=e${position}#${itemId(position)}`;
  if (entry.kind === 'user') {
    const text = entry.body.kind === 'text' ? entry.body.text : (bodies.get(entry.body.hash) ?? '');
    yield { where: 'prompt', text, href: here };
  } else if (entry.kind === 'boundary') yield { where: 'summary', text: entry.summary, href: here };
  else if (entry.kind === 'notice') yield { where: 'notice', text: noticeText(entry.notice), href: here };
  if (!isReply(item)) return;
  const place = item.anchor.split('-').slice(0, 2).join('.');
  for (const [index, block] of item.entry.message.content.entries()) {
    const where = `#${item.entry.iteration}`;
    if (block.type === 'text') yield { where, text: block.text, href: `?at=${place}#it-${item.anchor}` };
    if (block.type === 'thinking')
      yield { where: `${where} thinking`, text: block.thinking, href: `?at=${place}#it-${item.anchor}` };
    if (block.type !== 'tool_use') continue;
    const href = `?at=${place}#call-${item.anchor}-${index}`;
    yield { where: `${where} ${block.name}`, text: inputText(block.input), href };
    const outcome = outcomes.get(index);
    if (outcome) yield { where: `${where} ${block.name}, result`, text: outcome.content, href };
  }
}

function MatchList({ matches, more }: { readonly matches: readonly Match[]; readonly more: number }) {
  if (matches.length === 0) return <p class="quiet">No matches in this session</p>;
  return (
    <>
      <p class="quiet">{formatCount(matches.length + more, 'match', 'matches')}</p>
      <ol>
        {matches.map(({ where, href, ...place }) => (
          <li>
            <a href={href}>
              <small>{showUnseen(where.slice(0, 80))}</small>
              <MatchText {...place} />
            </a>
          </li>
        ))}
      </ol>
    </>
  );
}

function MatchText({ snippet, at, length }: Pick<Match, 'snippet' | 'at' | 'length'>) {
  const end = at + length;
  const visibleText = (text: string): string => showUnseen(text.replaceAll('\n', ' '));
  return (
    <span>
      {visibleText(snippet.slice(0, at))}
      <mark>{visibleText(snippet.slice(at, end))}</mark>
      {visibleText(snippet.slice(end))}
    </span>
  );
}
