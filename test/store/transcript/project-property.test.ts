// Whatever a transcript holds, what is sent of it has a shape that the API accepts, and what was
// sent once is sent the same again.
import type { ContentBlock } from '@anthropic-ai/sdk/resources/messages';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { createMemo, project, type ProjectOptions } from '../../../store/view/project.ts';
import { parseBody } from '../../../scripted-model/admit.ts';
import { requestProblem } from '../../../scripted-model/validate/request.ts';
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
} from '../../support/transcript.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('', ' ', '\n\t', '\ud800', 'a\udfffb', '\\ud800', '\u2028', '\0'),
);
const id = fc.oneof(fc.constantFrom('a', 'b', 'call_0_0', 'call_1_0', '', 'not an id'), fc.string());
/** Whatever a server may say under a known name, or another. */
const odd = fc.record(
  {
    type: fc.constantFrom(
      'text',
      'thinking',
      'redacted_thinking',
      'tool_use',
      'server_tool_use',
      'web_search_tool_result',
      'tool_result',
      'image',
      'novelty',
      '__proto__',
    ),
    text: fc.oneof(text, fc.jsonValue()),
    citations: fc.jsonValue(),
    thinking: fc.oneof(text, fc.jsonValue()),
    signature: fc.constantFrom('signed', '', 5, null),
    data: fc.oneof(text, fc.jsonValue()),
    id: fc.oneof(id, fc.jsonValue()),
    name: fc.constantFrom('read', 'web_search', 5, null),
    tool_use_id: id,
    input: fc.jsonValue(),
    content: fc.jsonValue(),
    caller: fc.jsonValue(),
    novelty: fc.jsonValue(),
  },
  { requiredKeys: ['type'] },
);
const block: fc.Arbitrary<ContentBlock> = fc.oneof(
  odd as unknown as fc.Arbitrary<ContentBlock>,
  text.map(textBlock),
  fc.tuple(text, fc.constantFrom('', 'signed')).map(([thinking, signature]) => thinkingBlock(thinking, signature)),
  fc.constant<ContentBlock>({ type: 'redacted_thinking', data: 'x' }),
  fc.tuple(id, fc.jsonValue(), fc.constantFrom('read', '', 'a b', 'x'.repeat(300))).map((call) => callBlock(...call)),
  fc.constant({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} } as ContentBlock),
);
const anyOutcome = fc
  .record({ index: fc.nat(6), content: text, isError: fc.boolean() })
  .map(({ index, content, isError }) => outcome(index, content, { isError }));
const entry: fc.Arbitrary<Entry> = fc.oneof(
  { weight: 3, arbitrary: text.map(user) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.array(block, { maxLength: 6 }),
        fc.constantFrom('whole' as const, 'cut' as const, 'interrupted' as const),
      )
      .map(([content, fate]) => reply(content, { fate })),
  },
  { weight: 4, arbitrary: fc.array(anyOutcome, { maxLength: 4 }).map((list) => outcomes(...list)) },
  fc.constantFrom(
    notice({ kind: 'continue' }),
    notice({ kind: 'call_cut' }),
    notice({ kind: 'interrupted' }),
    notice({ kind: 'error', text: 'x' }),
    transition(1, 'next_turn'),
    runStarted(1),
    runEnded(1),
  ),
);
const transcripts = fc.array(entry, { maxLength: 25 });

/** Positions of all kinds, absurd ones among them. */
const position = fc.oneof({ weight: 6, arbitrary: fc.nat(25) }, fc.constantFrom(-1, 1.5, 1e9, NaN, Infinity));
const marks: fc.Arbitrary<Entry> = fc.oneof(
  fc.array(position, { maxLength: 4 }).map((entries) => snip(...entries)),
  fc.tuple(text, position, fc.array(position, { maxLength: 3 })).map((parts) => boundary(...parts)),
  position.map((before): Entry => ({ kind: 'microcompact', before, freed: 1 })),
  fc.tuple(position, position, text).map(([from, to, short]): Entry => ({ kind: 'collapse_staged', from, to, short })),
  position.map((count): Entry => ({ kind: 'collapse_committed', count })),
);
const long = fc.nat(6).map((index) => outcomes(outcome(index, 'long '.repeat(100))));
const marked = fc.array(
  fc.oneof({ weight: 5, arbitrary: entry }, { weight: 3, arbitrary: marks }, { weight: 1, arbitrary: long }),
  { maxLength: 25 },
);

function problemOf(entries: readonly Entry[], options?: ProjectOptions): ReturnType<typeof requestProblem> {
  const request = { model: 'claude-test', max_tokens: 1, messages: project(entries, new Map(), options) };
  const body = parseBody(Buffer.from(JSON.stringify(request)));
  if (body.kind === 'invalid') return body.problem;
  return requestProblem(body.value, {
    betas: [],
    sampling: false,
    counting: false,
    maxOutputTokens: undefined,
    prefill: false,
    verifySignature: (_model, _thinking, signature) => signature === 'signed',
  });
}

test('a request made of any transcript is one that the API accepts (L58)', () => {
  fc.assert(
    fc.property(transcripts, (entries) => {
      expect(problemOf(entries)).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

test('whatever is snipped, summarised, shortened or shrunk, the API accepts what is left (L5 L7 L8 L9 L39 L58)', () => {
  fc.assert(
    fc.property(marked, (entries) => {
      expect(problemOf(entries)).toBeUndefined();
      expect(problemOf(entries, { model: { name: 'another' } })).toBeUndefined();
    }),
    { numRuns: 1_000 },
  );
});

test('what was sent once is sent the same when the transcript has grown (L22)', () => {
  fc.assert(
    fc.property(transcripts, fc.nat(), (entries, cut) => {
      const before = project(entries.slice(0, cut % (entries.length + 1)), new Map());
      expect(project(entries, new Map()).slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    }),
    { numRuns: 300 },
  );
});

test('what is remembered of replies changes nothing', () => {
  const memo = createMemo();
  fc.assert(
    fc.property(marked, (entries) => {
      const expected = project(entries, new Map());
      expect(project(entries, new Map(), { memo })).toEqual(expected);
      expect(project(entries, new Map(), { memo })).toEqual(expected);
    }),
  );
});
