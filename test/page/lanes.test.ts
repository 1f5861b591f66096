// The minimap joins what could not be seen apart, and says what it mostly was; a wait that goes on
// counts.
import { expect, test } from 'vitest';
import { barOf, type BarSegment, type SegmentKind } from '../../client/sessions/history/bars.ts';
import { barsWithWait, joinShort } from '../../page/session/lanes.ts';
import { htmlOf } from '../../page/layout.tsx';
import { TimedText } from '../../page/figures.tsx';
import { description } from '../client/support.ts';

const segment = (kind: SegmentKind, from: number, to: number): BarSegment => ({ kind, from, to, what: kind });

test('short stretches are joined into ones that can be seen, each of the kind that took most of it (O6)', () => {
  const short = Array.from({ length: 400 }, (_, at) => segment(at % 2 === 0 ? 'model' : 'tools', at, at + 1));
  const early = short.map((one, at) => (at < 200 ? one : segment('waiting', at, at + 1)));
  const joined = joinShort([...early, segment('tools', 400, 500)], 10);
  expect(joined.map(({ kind }) => kind).slice(-2)).toEqual(['waiting', 'tools']);
  expect(joined.filter(({ kind }) => kind === 'waiting')).toEqual([segment('waiting', 200, 400)]);
});

test('a wait that goes on is part of the last bar (O6)', () => {
  const iteration = { run: 1, iteration: 1, position: 0, reply: null, transitions: [], compacted: false, ended: null };
  const bar = barOf({ ...iteration, after: 1_000 }, [], 9_000);
  const waiting = description({ phase: 'waiting_approval', status: 'open' });
  const [last] = barsWithWait([{ ...bar, segments: [segment('model', 1_000, 2_000)], to: 2_000 }], waiting, 9_000);
  expect([last?.to, last?.segments.at(-1)?.kind]).toEqual([9_000, 'waiting']);
});

test('moments in words of the client are shown by the clock of who looks, with UTC on hover (O6)', () => {
  const html = htmlOf(TimedText({ text: 'parked until 2026-12-06 11:56:00 UTC, then on' }));
  expect(html).toContain('title="2026-12-06 11:56:00 UTC" data-local="1796558160000"');
  expect(html.replaceAll(/<[^>]+>/g, '')).toBe('parked until 2026-12-06 11:56 UTC, then on');
});
