// Random transcripts as the loop would leave them: marks and boundaries mean what is in view, and
// everything else is in any order.
import * as fc from 'fast-check';
import type { Entry } from '../../store/log/entries.ts';
import { inView } from '../../store/view/in-view.ts';
import { noSpend } from '../../workflows/contract/loop.ts';
import {
  boundary,
  callBlock,
  notice,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  snip,
  textBlock,
  thinkingBlock,
  transition,
  user,
} from './transcript.ts';

/** What the API has counted. */
export const counted = { ...noSpend, usage: { input: 90, output: 10, cacheRead: 0, cacheWrite: 0 } };
export const withCost = reply([textBlock('counted')], { spend: counted });

/** From 0 to 1. */
export const share = fc.nat(100).map((hundredths) => hundredths / 100);
const words = fc.constantFrom('a', 'b'.repeat(400), 'c'.repeat(5_000));
const files = fc.array(fc.record({ path: fc.nat(300).map((n) => `/w/${n}`), mtimeMs: fc.nat(3), size: fc.nat(3) }), {
  minLength: 1,
  maxLength: 8,
});
/** Tools of servers that a call found, or that it called. */
const found = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }).map((all) => ({ found: all.map((n) => `mcp__shop__${n}`) })),
  fc.nat(9).map((n) => ({ log: { ...outcome(0, '').log, name: `mcp__shop__${n}` } })),
);
const replies = fc
  .tuple(fc.boolean(), fc.boolean(), fc.boolean(), words)
  .map(([calls, thinks, costs, text]) =>
    reply(
      [
        ...(thinks ? [thinkingBlock('hm')] : []),
        textBlock(text),
        ...(calls ? [callBlock('a', { text }), callBlock('b')] : []),
      ],
      { spend: costs ? counted : noSpend },
    ),
  );
/** Whatever is no mark. */
export const plainEntries: fc.Arbitrary<Entry> = fc.oneof(
  { weight: 8, arbitrary: replies },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.nat(3), words, files, found)
      .map(([at, text, seen, more]) => outcomes(outcome(at, text, { seen, ...more }))),
  },
  { weight: 3, arbitrary: fc.tuple(fc.nat(99), words).map(([n, text]) => user(`${n} ${text}`)) },
  { weight: 1, arbitrary: files.map((list) => notice({ kind: 'files_changed', paths: ['x'], files: list })) },
  fc.constantFrom(
    notice({ kind: 'continue' }),
    notice({ kind: 'system_message', id: 'x', text: 'Be brief.' }),
    notice({ kind: 'wrap_up', reason: 'max_turns' } as never),
    transition(1, 'next_turn'),
    transition(1, 'max_output_tokens_recovery'),
    transition(1, 'reactive_compact_retry'),
    { kind: 'steered', steered: { action: 'interrupt', at: 1 } } as const,
    runStarted(1),
    runStarted(2),
    runEnded(1),
    runEnded(1, { reason: 'prompt_too_long', detail: 'x' } as never),
    runEnded(2, { reason: 'blocking_limit' } as never),
  ),
);
export type AnyMark = {
  readonly kind: Entry['kind'];
  readonly at: number;
  readonly to: number;
  readonly count: number;
};
const marks = fc.record({
  kind: fc.constantFrom<AnyMark['kind']>('boundary', 'microcompact', 'collapse_staged', 'collapse_committed', 'snip'),
  at: share,
  to: share,
  count: fc.nat(4),
});
export type Step = Entry | { readonly mark: AnyMark };
/** Marks are placed when the transcript is made of them. */
export const steps = (minLength: number, maxLength: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof({ weight: 6, arbitrary: plainEntries }, { weight: 1, arbitrary: marks.map((mark) => ({ mark })) }),
    {
      minLength,
      maxLength,
    },
  );

export const nextBoundary = (entries: readonly Entry[]): Entry[] =>
  [placed({ kind: 'boundary', at: 0.5, to: 0, count: 3 }, entries)].filter((each) => each !== null);

/** A mark as the loop would make it there: of what is in view. */
function placed({ kind, at, to, count }: AnyMark, before: readonly Entry[]): Entry | null {
  const { shown, marks: there } = inView(before);
  const begin = there.boundary?.from ?? 0;
  const place = (part: number): number => begin + Math.floor(part * (before.length - begin + 1));
  const from = place(at);
  if (kind === 'boundary') {
    const prompts = shown.filter((each) => each.kind === 'entry' && each.entry.kind === 'user' && each.position < from);
    return boundary(
      'so far',
      from,
      prompts.slice(-count).map(({ position }) => position),
    );
  }
  if (kind === 'microcompact') return { kind, before: from, freed: 1 };
  if (kind === 'collapse_staged') return { kind, from, to: from + Math.ceil(to * 6), short: `short ${from}` };
  if (kind === 'collapse_committed') return { kind, count };
  const seen = shown.filter((each) => each.kind === 'entry');
  return snip(
    ...seen
      .slice(Math.floor(at * seen.length))
      .slice(0, count)
      .map(({ position }) => position),
  );
}

export function transcriptOf(drawn: readonly Step[]): Entry[] {
  const entries: Entry[] = [];
  for (const step of drawn) {
    const entry = 'mark' in step ? placed(step.mark, entries) : step;
    if (entry) entries.push(entry);
  }
  return entries;
}
