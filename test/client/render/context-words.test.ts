// What is said of a session whose model no longer sees all of it.
import { expect, test } from 'vitest';
import { epochText } from '../../../client/render/words.ts';
import {
  compactionText,
  contextText,
  type ContextEntry,
  describeStaged,
  shortenedText,
} from '../../../client/render/context-words.ts';

test.each<[ContextEntry, string]>([
  [
    { kind: 'boundary', trigger: 'auto', summary: 's', prompts: [1], from: 40, before: 171_000, after: 12_400 },
    'compacted, about 171,000 → 12,400 tokens: the model sees a summary, all from entry 40 on and 1 prompt before; the full text: FULL',
  ],
  [
    { kind: 'boundary', trigger: 'reactive', summary: 's', prompts: [], from: 4, before: 9, after: 1 },
    'compacted, about 9 → 1 token: the model sees a summary, all from entry 4 on; the full text: FULL',
  ],
  [
    { kind: 'microcompact', before: 30, freed: 25_000 },
    'tool results before entry 30 are shown to the model as a marker, 25,000 tokens freed',
  ],
  [
    { kind: 'microcompact', before: 30, freed: 25_000, results: 1 },
    '1 tool result before entry 30 is shown to the model as a marker, 25,000 tokens freed',
  ],
  [{ kind: 'collapse_staged', from: 2, to: 9, short: 's' }, 'a short form of entries 2 to 8 is ready'],
  [
    { kind: 'collapse_committed', count: 2 },
    '2 old stretches now shown to the model in short form; the full text: FULL',
  ],
  [{ kind: 'snip', entries: [3] }, 'the model no longer sees entry 3'],
  [
    { kind: 'snip', entries: Array.from({ length: 22 }, (_, n) => n) },
    'the model no longer sees entries 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more',
  ],
])('says of %j what the model sees now (L5 L7 L8 L9 L10)', (entry, sentence) => {
  expect(contextText(entry, 'FULL')).toBe(sentence);
});

test('says the same of each when watchers are told of it (L7 L8 L9 L60)', () => {
  const entry = { kind: 'microcompact', before: 30, freed: 25_000, results: 4 } as const;
  expect(shortenedText({ type: 'microcompact', before: 30, freed: 25_000, results: 4 }, 'FULL')).toBe(
    contextText(entry, 'FULL'),
  );
  expect(shortenedText({ type: 'snip', entries: [3] }, 'FULL')).toBe('the model no longer sees entry 3');
});

test('says of a compaction what it saved, what was kept, and where the full text is (L60)', () => {
  const event = { type: 'compaction_end', iteration: 3, before: 171_000, after: 12_400, kept: 9 } as const;
  expect(compactionText({ ...event, summary: 'x'.repeat(2_000) }, 'perdure show s-1 --full')).toBe(
    'compacted, about 171,000 → 12,400 tokens: 9 entries kept word for word, a summary of 2,000 characters stands for the rest; the full text: perdure show s-1 --full',
  );
});

test('says whose summary it is, and whether thinking was kept with it (L10 L59)', () => {
  const signed = { type: 'compaction', content: 's' } as const;
  const entry = { kind: 'boundary', trigger: 'auto', summary: 's', prompts: [], from: 4, before: 9, after: 1 } as const;
  const event = { type: 'compaction_end', iteration: 3, before: 9, after: 1, kept: 1, summary: 's' } as const;
  for (const keepsThinking of [true, undefined] as const) {
    const kept = keepsThinking ? { keepsThinking } : {};
    const by = keepsThinking ? 'compacted by the API, thinking since is kept, about' : 'compacted by the API, about';
    expect(contextText({ ...entry, signed, ...kept }, 'FULL')).toMatch(new RegExp(`^${by}`));
    expect(compactionText({ ...event, signed: true, ...kept }, 'FULL')).toMatch(new RegExp(`^${by}`));
  }
});

test('a summary that another account has signed is no defect, and thinking that does not fit is one (L59)', () => {
  expect(epochText({ why: 'summary_refused' })).toMatch(/change of account or platform/);
  expect(epochText({ why: 'summary_refused' })).not.toMatch(/defect/);
  expect(epochText({ why: 'refused' })).toMatch(/a defect of Perdure/);
});

test('says of staged short forms what they would save (L9)', () => {
  expect(describeStaged({ savings: [4_000, 500] })).toBe(
    'short forms of 2 old stretches are ready, 4,500 tokens to be saved',
  );
});
