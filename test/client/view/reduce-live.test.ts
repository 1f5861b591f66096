// The fold of the live channel, against one that begins from scratch after each event.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ViewChange, type ViewItem, LiveView, reduceLive } from '../../../client/view/reduce-live.ts';
import type { ChannelItem, WatchedEvent } from '../../../store/live/events.ts';
import type { AttemptName } from '../../../store/live/files.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { random } from '../../support/random.ts';
import { anyChannel } from './any-channel.ts';

const FACTS = new Set(['user', 'transition', 'notice', 'steered', 'microcompact', 'collapse_committed', 'snip']);
const BLOCKS = new Set(['text_delta', 'thinking_delta']);
const ANSWERS = new Set([...BLOCKS, 'tool_use', 'reply']);
const SILENT = new Set(['run_start', 'run_end', 'stored', 'tombstone', 'tool_start', 'tool_progress']);

const at = (step: number, attempt = 1) => ({ step, attempt });
const isOf = (one: AttemptName, { step, attempt }: AttemptName): boolean =>
  one.step === step && one.attempt === attempt;

/** The lines that stand after these events, as plainly as it can be said. */
function fromScratch(events: readonly ChannelItem[]): readonly string[] {
  let standing: { readonly event: WatchedEvent; line: string }[] = [];
  for (const [n, event] of events.entries()) {
    if (event.type === 'run_end') standing = [];
    if (event.type === 'stored') standing = standing.filter((one) => one.event.step > event.step);
    if (event.type === 'tombstone')
      standing = standing.filter(({ event: one }) => !isOf(one, event) || FACTS.has(one.type) || one.type === 'retry');
    if (event.type === 'stored' || SILENT.has(event.type)) continue;
    if (ANSWERS.has(event.type))
      standing = standing.filter(({ event: one }) => one.type !== 'request_start' || !isOf(one, event));
    const words = wordsOf(event);
    const text = BLOCKS.has(event.type) && 'text' in event ? event.text : '';
    const block = text === '' ? undefined : standing.find(({ line }) => line.startsWith(words));
    if (block) block.line += text;
    else if (!FACTS.has(event.type) || !isUntold(events.slice(0, n), event))
      standing.push({ event, line: words + text });
  }
  return standing.map(({ line }) => line);
}

/** Names what an event tells; of a block its words are not a part. */
function wordsOf({ step, attempt, ...event }: WatchedEvent): string {
  if (BLOCKS.has(event.type)) return `${event.type} ${step}.${attempt} ${'index' in event ? event.index : ''}: `;
  return FACTS.has(event.type) ? JSON.stringify(event) : JSON.stringify({ ...event, step, attempt });
}

/** The last that told it has died, and no reply has come since. */
function isUntold(before: readonly ChannelItem[], fact: WatchedEvent): boolean {
  const words = wordsOf(fact);
  const last = before.findLastIndex((one) => FACTS.has(one.type) && wordsOf(one as WatchedEvent) === words);
  const teller = before[last];
  if (!teller) return false;
  const death = before.findIndex((one, n) => n > last && one.type === 'tombstone' && isOf(one, teller));
  return death >= 0 && !before.slice(death).some(({ type }) => type === 'reply');
}

const lineOf = ({ event, text }: ViewItem): string => wordsOf(event) + text;

/** What a listener has that only does what the changes say. */
function follow(known: Map<number, string>, changes: readonly ViewChange[]): void {
  for (const change of changes) {
    if (change.do === 'put') known.set(change.item.id, lineOf(change.item));
    else if (change.do === 'patch') known.set(change.item.id, `${known.get(change.item.id) ?? ''}${change.text}`);
    else for (const { id } of change.items) known.delete(id);
  }
}

test('after each event the view and all that heed its changes have what a fold from scratch has (L16)', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const events = anyChannel(random(seed));
      const view = new LiveView();
      const known = new Map<number, string>();
      for (const [n, event] of events.entries()) {
        follow(known, reduceLive(view, event));
        const expected = fromScratch(events.slice(0, n + 1)).toSorted();
        expect(view.items.map(lineOf).toSorted()).toEqual(expected);
        expect([...known.values()].toSorted()).toEqual(expected);
      }
    }),
    { numRuns: 30 },
  );
});

test('a fact of an attempt that died comes again as the same item, until a reply is stored with it (L14 L16)', () => {
  const view = new LiveView();
  const prompt = (step: number, attempt = 1): WatchedEvent => {
    return { type: 'user', id: 'm' as MessageId, text: 'go on', ...at(step, attempt) };
  };
  const tombstone = (step: number, attempt = 1): WatchedEvent => {
    return { type: 'tombstone', iteration: 1, why: '529', ...at(step, attempt) };
  };
  const told = (event: ChannelItem) => {
    const [change] = reduceLive(view, event);
    return change?.do === 'put' ? { id: change.item.id, again: change.again } : change?.do;
  };
  expect(told(prompt(3))).toEqual({ id: 1, again: false });
  expect(told(tombstone(3))).toBe('revoke');
  expect(told(prompt(3, 2))).toEqual({ id: 1, again: true });
  expect(told(tombstone(3, 2))).toBe('revoke');
  expect(told(prompt(4))).toEqual({ id: 1, again: true });
  reduceLive(view, tombstone(4));
  reduceLive(view, { type: 'reply', iteration: 1, stopReason: 'end_turn', fate: 'whole', ...at(5) });
  expect(told(prompt(6))).toEqual({ id: 3, again: false });
});

test('of attempts beyond those that are kept it is still known whether they had output (L16)', () => {
  const view = new LiveView(0, 2);
  for (let step = 1; step <= 5; step += 1)
    reduceLive(view, { type: 'text_delta', iteration: 1, index: 0, text: `${step}`, ...at(step) });
  expect(view.items.map(({ text }) => text)).toEqual(['4', '5']);
  const revoke = (step: number) => reduceLive(view, { type: 'tombstone', iteration: 1, why: 'x', ...at(step) })[0];
  expect(revoke(1)).toMatchObject({ do: 'revoke', items: [], hadOutput: true });
  expect(revoke(1)).toMatchObject({ hadOutput: false });
  expect(revoke(5)).toMatchObject({ items: [{ text: '5' }], hadOutput: true });
});
