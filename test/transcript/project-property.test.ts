// Whatever a transcript holds, what is sent of it has a shape that the API accepts, and what was sent once is sent the same again.
import type { ContentBlock } from '@anthropic-ai/sdk/resources/messages';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from '../../activities/transcript/entries.ts';
import { project } from '../../activities/transcript/project.ts';
import type { ReplyMemo } from '../../activities/transcript/sent-reply.ts';
import { parseBody } from '../../worker/scripted-model/validate/body-problem.ts';
import { requestProblem } from '../../worker/scripted-model/validate/request-problem.ts';
import {
  callBlock,
  notice,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  thinkingBlock,
  transition,
  user,
} from '../support/transcript.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('', ' ', '\n\t', '\ud800', 'a\udfffb', '\\ud800', '\u2028', '\0'),
);
const id = fc.oneof(fc.constantFrom('a', 'b', 'call_0_0', 'call_1_0', '', 'not an id'), fc.string());
const block: fc.Arbitrary<ContentBlock> = fc.oneof(
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

function problemOf(entries: readonly Entry[]): string | undefined {
  const request = { model: 'claude-test', max_tokens: 1, messages: project(entries, new Map()) };
  const body = parseBody(Buffer.from(JSON.stringify(request)));
  if (body.kind === 'invalid') return body.problem;
  return requestProblem(body.value, {
    beta: false,
    sampling: false,
    counting: false,
    maxOutputTokens: undefined,
    prefill: false,
    verifySignature: (_model, _thinking, signature) => signature === 'signed' || signature === '',
  });
}

test('L58 a request made of any transcript is one that the API accepts', () => {
  fc.assert(
    fc.property(transcripts, (entries) => {
      expect(problemOf(entries)).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

test('L22 what was sent once is sent the same when the transcript has grown', () => {
  fc.assert(
    fc.property(transcripts, fc.nat(), (entries, cut) => {
      const before = project(entries.slice(0, cut % (entries.length + 1)), new Map());
      expect(project(entries, new Map()).slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    }),
    { numRuns: 300 },
  );
});

test('what is remembered of replies changes nothing', () => {
  const memo: ReplyMemo = new WeakMap();
  fc.assert(
    fc.property(transcripts, (entries) => {
      const expected = project(entries, new Map());
      expect(project(entries, new Map(), memo)).toEqual(expected);
      expect(project(entries, new Map(), memo)).toEqual(expected);
    }),
  );
});
