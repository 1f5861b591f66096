// Any history of attempts, written in any pieces and looked at at any moments: nothing void is
// given out, nothing is lost, nothing comes twice, also over reconnects.
import type { Log } from '../../../system/log.ts';
import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { basename } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AttemptReader, createAttemptReader } from '../../../store/live/attempt-reader.ts';
import { attemptFile, listAttempts, sessionFolder } from '../../../store/live/files.ts';
import type { Cursor, LiveItem } from '../../../store/live/follow-step.ts';
import type { LiveLine } from '../../../store/live/events.ts';
import { createSessionFollower } from '../../../store/live/follow.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { said } from '../../support/watcher.ts';

const session = 's-1' as SessionId;

/** How each attempt of a step ends; the last one decides what stays. */
type Ending = 'crashed' | 'died' | 'stored';
type Step = {
  readonly tools: boolean;
  readonly attempts: readonly { readonly deltas: number; readonly ending: Ending }[];
};
type Write = { readonly step: number; readonly attempt: number; readonly text: string };

const attempt = (...endings: Ending[]) => fc.record({ deltas: fc.nat(3), ending: fc.constantFrom(...endings) });
const attempts = fc
  .tuple(
    fc.array(attempt('crashed', 'died'), { maxLength: 2 }),
    attempt('stored', 'stored', 'stored', 'died', 'crashed'),
  )
  .map(([before, last]) => [...before, last]);
const steps = fc.array(fc.record({ tools: fc.boolean(), attempts }), { minLength: 1, maxLength: 6 });

function linesOf(step: number, number: number, { tools, attempts: all }: Step): LiveLine[] {
  const { deltas, ending } = all[number - 1] as Step['attempts'][number];
  const texts = Array.from({ length: deltas }, (_, n) => `${step}.${number}.${n}`);
  const fate: LiveLine[] =
    ending === 'crashed'
      ? []
      : [{ type: 'fate', ...(ending === 'died' ? { fate: 'died', why: 'x' } : { fate: 'stored', head: '' as Hash }) }];
  return [
    { type: 'header', session, step, attempt: number, activity: tools ? 'runTool' : 'callModel' },
    ...texts.map((text) => ({ type: 'text_delta', iteration: 1, index: 0, text }) as const),
    ...fate,
  ];
}

/**
 * Every write of the history: steps that wait for each other in order, parallel calls mixed, pieces
 * of any size.
 */
function writesOf(history: readonly Step[], pick: (max: number) => number): Write[] {
  const writes: Write[] = [];
  let beside: Write[][] = [];
  const mix = (): void => {
    while (beside.some((queue) => queue.length > 0)) {
      const open = beside.filter((queue) => queue.length > 0);
      writes.push(open[pick(open.length - 1)]?.shift() as Write);
    }
    beside = [];
  };
  for (const [index, one] of [...history, commit].entries()) {
    if (!one.tools) mix();
    beside.push(one.attempts.flatMap((_, number) => pieces(index + 1, number + 1, one, pick)));
    if (!one.tools) mix();
  }
  return writes;
}

const commit: Step = { tools: false, attempts: [{ deltas: 1, ending: 'stored' }] };

function pieces(step: number, number: number, one: Step, pick: (max: number) => number): Write[] {
  let rest = linesOf(step, number, one)
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
  const found: Write[] = [];
  while (rest.length > 0) {
    const size = 1 + pick(rest.length - 1);
    found.push({ step, attempt: number, text: rest.slice(0, size) });
    rest = rest.slice(size);
  }
  return found;
}

const stays = (history: readonly Step[]): string[] =>
  [...history, commit].flatMap(({ attempts: all }, index) => {
    const last = all.at(-1);
    return Array.from(
      { length: last?.ending === 'stored' ? last.deltas : 0 },
      (_, n) => `${index + 1}.${all.length}.${n}`,
    );
  });

const histories = fc.record({
  history: steps,
  picks: fc.infiniteStream(fc.nat()),
  looks: fc.infiniteStream(fc.nat(3)),
});

type Given = typeof histories extends fc.Arbitrary<infer T> ? T : never;

/** Something is written whenever the watcher has looked at something. */
function busyReader(folder: string, log: Log, write: () => void): AttemptReader {
  const reader = createAttemptReader(folder, log);
  const after = <T>(value: T): T => {
    write();
    return value;
  };
  return { ...reader, list: (before) => after(reader.list(before)), size: (name) => after(reader.size(name)) };
}

/**
 * `during`: the writers go on while the watcher looks. `named`: it is told which files are new, and
 * reads its folder at first alone.
 */
function run(given: Given, { reconnect = false, during = true, named = false } = {}) {
  const folder = sessionFolder(tempDir(), session);
  mkdirSync(folder);
  const warnings: string[] = [];
  const created: string[] = [];
  const writes = writesOf(given.history, (max) => given.picks.next().value % (max + 1));
  const write = (): void => {
    const next = writes.shift();
    if (!next) return;
    const path = attemptFile(folder, next);
    if (!existsSync(path)) created.push(basename(path));
    appendFileSync(path, next.text);
  };
  const open = (): AttemptReader =>
    busyReader(
      folder,
      (_, message) => warnings.push(message),
      () => (during && given.looks.next().value > 1 ? write() : undefined),
    );
  let reader = open();
  let look = createSessionFollower(reader);
  let hasLooked = false;
  const items: LiveItem[] = [];
  const lookOnce = (): void => {
    const seen: LiveItem[] = [];
    const newest = new Map<number, number>();
    for (const { step, attempt: number } of listAttempts(folder))
      newest.set(step, Math.max(number, newest.get(step) ?? 0));
    if (named && hasLooked) reader.noteChanges(created.splice(0));
    hasLooked = true;
    look(seen);
    expect(seen.filter((item) => item.type === 'text_delta' && item.attempt < (newest.get(item.step) ?? 0))).toEqual(
      [],
    );
    if (!reconnect || seen.length === 0) return void items.push(...seen);
    // The watcher breaks off in the middle of what it was given, and comes back with what it last
    // held.
    const kept = seen.slice(0, 1 + (given.looks.next().value % seen.length));
    items.push(...kept);
    reader.close();
    reader = open();
    hasLooked = false;
    look = createSessionFollower(reader, JSON.parse(JSON.stringify(kept.at(-1)?.cursor)) as Cursor);
    if (kept.length < seen.length) lookOnce();
  };
  while (writes.length > 0) {
    write();
    if (during && given.looks.next().value === 0) lookOnce();
  }
  lookOnce();
  lookOnce();
  reader.close();
  return { items, warnings };
}

test.each([
  { reconnect: false, named: false },
  { reconnect: false, named: true },
  { reconnect: true, named: false },
  { reconnect: true, named: true },
])(
  'what a watcher is left with is what was stored, each once (reconnecting: $reconnect, told of files: $named) (L16)',
  ({ reconnect, named }) => {
    fc.assert(
      fc.property(histories, (given) => {
        const { items, warnings } = run(given, { reconnect, named });
        expect(said(items).toSorted()).toEqual(stays(given.history).toSorted());
        const given1 = items.flatMap((item) => (item.type === 'text_delta' ? [item.text] : []));
        expect(new Set(given1).size).toBe(given1.length);
        expect(warnings).toEqual([]);
      }),
      { numRuns: 60 },
    );
  },
);

test('who looks only at the end is given what was stored, in order, and no tombstone (L16)', () => {
  fc.assert(
    fc.property(histories, (given) => {
      const { items } = run(given, { during: false });
      const shown = items.filter(({ type }) => type !== 'stored');
      expect(shown.map((item) => item.type === 'text_delta' && item.text)).toEqual(stays(given.history));
    }),
    { numRuns: 60 },
  );
});

test('steps that wait for each other are seen one after the other, each in the order of its file', () => {
  fc.assert(
    fc.property(histories, (given) => {
      const history = given.history.map((one) => ({ ...one, tools: false }));
      const { items } = run({ ...given, history });
      const deltas = items.flatMap((item) => (item.type === 'text_delta' ? [item] : []));
      const order = deltas.map(({ step, attempt: number, text }) => [step, number, Number(text.split('.')[2])]);
      expect(order).toEqual(
        order.toSorted((a, b) => (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0) || (a[2] ?? 0) - (b[2] ?? 0)),
      );
    }),
    { numRuns: 40 },
  );
});

test('a place in a long session names the steps that are open there, however many one look passed (L16)', () => {
  const folder = sessionFolder(tempDir(), session);
  mkdirSync(folder);
  for (let step = 1; step <= 400; step += 1) {
    const one: Step = { tools: step % 3 === 0, attempts: [{ deltas: 2, ending: 'stored' }] };
    const lines = linesOf(step, 1, one).map((line) => `${JSON.stringify(line)}\n`);
    appendFileSync(attemptFile(folder, { step, attempt: 1 }), lines.join(''));
  }
  const reader = createAttemptReader(folder, () => undefined);
  const items: LiveItem[] = [];
  createSessionFollower(reader)(items);
  reader.close();
  expect(items.length).toBeGreaterThan(800);
  expect(Math.max(...items.map(({ cursor }) => Object.keys(cursor.steps).length))).toBeLessThanOrEqual(2);
});

test('who has read the store is told from the newest stored step on, whatever runs next to each other since (L16)', () => {
  const folder = sessionFolder(tempDir(), session);
  mkdirSync(folder);
  const stored: Step = { tools: false, attempts: [{ deltas: 2, ending: 'stored' }] };
  const open: Step = { tools: true, attempts: [{ deltas: 1, ending: 'crashed' }] };
  const history = [...Array.from({ length: 50 }, () => stored), open, { ...stored, tools: true }, open];
  for (const [at, one] of history.entries()) {
    const lines = linesOf(at + 1, 1, one).map((line) => `${JSON.stringify(line)}\n`);
    appendFileSync(attemptFile(folder, { step: at + 1, attempt: 1 }), lines.join(''));
  }
  const reader = createAttemptReader(folder, () => undefined);
  const look = createSessionFollower(reader, 'unstored');
  const items: LiveItem[] = [];
  look(items);
  expect([...new Set(items.map(({ step }) => step))]).toEqual([50, 51, 52, 53]);
  const before = items.length;
  look(items);
  expect(items.length).toBe(before);
  reader.close();
});
