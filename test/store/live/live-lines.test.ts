// Lines of the live channel: every type that can be written can be read.
import { expect, test } from 'vitest';
import { parseLines } from '../../../store/live/lines.ts';
import type { LiveEvent } from '../../../store/live/events.ts';

const bytes = (lines: readonly unknown[]): Uint8Array =>
  new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

test('what is said of compactions, collapses and hooks reaches those who read (L60)', () => {
  const events: readonly LiveEvent[] = [
    { type: 'compaction_start', iteration: 1, trigger: 'auto' },
    { type: 'compaction_end', iteration: 1, before: 9, after: 5, kept: 1, summary: 's' },
    { type: 'collapse_staged', iteration: 1, savings: [3] },
    { type: 'hook_start', iteration: 1, hook: 'gate' },
    { type: 'hook_end', iteration: 1, hook: 'gate', result: 'passed' },
  ];
  const found = parseLines(bytes(events), 0);
  expect(found.lines.map(({ line }) => line)).toEqual(events);
  expect(found.garbage).toBe(0);
});

test('a line of an unknown type, without one, or with the name of a built-in property is garbage', () => {
  const found = parseLines(bytes([{ type: 'news' }, {}, null, { type: 'toString' }, { type: ['header'] }]), 0);
  expect(found).toMatchObject({ lines: [], garbage: 5 });
});
