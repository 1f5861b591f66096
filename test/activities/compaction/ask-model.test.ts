// The small model: one question, one text, one try.
import { APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { askModel } from '../../../activities/model/ask-model.ts';
import { user } from '../../support/transcript.ts';
import { attemptOf, compactionBench, hanging, saying, type Answer } from './support.ts';

const status = (code: number, headers: Record<string, string> = {}): Error =>
  APIError.generate(code, { error: { message: 'sorry' } }, 'sorry', new Headers(headers));

async function ask(answers: Answer[], attempt = attemptOf(), text = 'What?') {
  const { deps, request, asked } = await compactionBench({ entries: [user('x')], answers });
  const config = await deps.config(request.config);
  const port = { model: deps.model, config, signal: attempt.signal, now: deps.now, redact: deps.redact };
  return { answer: await askModel(port, { system: 'Be brief.', text, maxTokens: 50 }), asked };
}

test('the small model is asked without tools, and what it was billed is priced as the run says (L10)', async () => {
  const { answer, asked } = await ask(['This.']);
  expect(answer).toMatchObject({
    kind: 'text',
    text: 'This.',
    cut: false,
    spend: { usage: { input: 1_000, output: 10 } },
  });
  expect(asked).toEqual([
    {
      model: 'claude-small',
      max_tokens: 50,
      stream: true,
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'What?' }],
    },
  ]);
});

test.each([
  ['one that may pass', status(529), { kind: 'retry', status: 529 }],
  ['one whose provider says how long to wait', status(429, { 'retry-after': '6' }), { kind: 'retry', afterMs: 6_000 }],
  ['one that does not pass', status(401), { kind: 'failed', status: 401 }],
  ['a question that is too long', status(413), { kind: 'too_long' }],
  ['no words', '', { kind: 'empty', detail: 'claude-small answered with nothing' }],
] as const)('a failure is the answer at once, and says what may help: %s (L14)', async (_, failing, failure) => {
  const { answer, asked } = await ask([failing]);
  expect(answer).toMatchObject({ kind: 'failed', failure });
  expect(asked).toHaveLength(1);
});

test('a try that failed half-way is in the spend (L51)', async () => {
  const broken: Answer = async function* () {
    for await (const event of saying('half')) {
      if (event.type === 'content_block_stop') return;
      yield event;
    }
  };
  expect((await ask([broken])).answer).toMatchObject({ kind: 'failed', spend: { usage: { input: 1_000 } } });
});

test('an aborted signal ends it (L47)', async () => {
  const attempt = attemptOf();
  expect((await ask([hanging(() => attempt.abort('stop'))], attempt)).answer.kind).toBe('aborted');
});

test('a text that reaches the limit says that it was cut', async () => {
  expect((await ask([() => saying('Half a', 'max_tokens')])).answer).toMatchObject({ kind: 'text', cut: true });
});

test('a lone surrogate in what it is asked does not make the request unreadable (L58)', async () => {
  const { asked } = await ask(['This.'], attemptOf(), 'half \ud83d of a pair, \ud83d\ude00 whole');
  expect(asked[0]?.messages).toEqual([{ role: 'user', content: 'half \ufffd of a pair, \ud83d\ude00 whole' }]);
});
