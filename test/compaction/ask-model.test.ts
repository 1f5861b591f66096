// The small model: one question, one text, two quick retries.
import { APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { askModel } from '../../activities/model/ask-model.ts';
import { user } from '../support/transcript.ts';
import { attemptOf, compactionBench, saying, type Answer } from './support.ts';

const status = (code: number, headers: Record<string, string> = {}): Error =>
  APIError.generate(code, { error: { message: 'sorry' } }, 'sorry', new Headers(headers));

async function ask(answers: Answer[], attempt = attemptOf(), text = 'What?') {
  const { deps, request, asked } = await compactionBench({ entries: [user('x')], answers });
  const config = await deps.config(request.config);
  const port = { model: deps.model, config, signal: attempt.signal, now: deps.now, random: deps.random };
  return { answer: await askModel(port, { system: 'Be brief.', text, maxTokens: 50 }), asked };
}

test('L10 the small model is asked without tools, and what it was billed is priced as the run says', async () => {
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

test('L14 two failures that may pass are tried again at once; a third is the answer', async () => {
  expect((await ask([status(529), status(500), 'Third.'])).answer).toMatchObject({ kind: 'text', text: 'Third.' });
  const { answer, asked } = await ask([status(529), status(529), status(529)]);
  expect(answer).toMatchObject({ kind: 'failed', detail: expect.stringContaining('529') });
  expect(asked).toHaveLength(3);
});

test.each([
  ['one that does not pass', status(401)],
  ['one whose provider wants a long wait', status(429, { 'retry-after': '60' })],
])('L14 a failure is final at once: %s', async (_, error) => {
  const { answer, asked } = await ask([error]);
  expect(answer.kind).toBe('failed');
  expect(asked).toHaveLength(1);
});

test('L51 tries that failed half-way are in the spend', async () => {
  const broken: Answer = async function* () {
    for await (const event of saying('half')) {
      if (event.type === 'content_block_stop') return;
      yield event;
    }
  };
  expect((await ask([broken, 'Whole.'])).answer).toMatchObject({ kind: 'text', spend: { usage: { input: 2_000 } } });
});

test('L47 an aborted signal ends it, also while it waits to try again', async () => {
  const attempt = attemptOf();
  const failing: Answer = () => {
    attempt.abort('stop');
    throw status(529);
  };
  expect((await ask([failing], attempt)).answer.kind).toBe('aborted');
});

test('a text that reaches the limit says that it was cut', async () => {
  expect((await ask([() => saying('Half a', 'max_tokens')])).answer).toMatchObject({ kind: 'text', cut: true });
});

test('L58 a lone surrogate in what it is asked does not make the request unreadable', async () => {
  const { asked } = await ask(['This.'], attemptOf(), 'half \ud83d of a pair, \ud83d\ude00 whole');
  expect(asked[0]?.messages).toEqual([{ role: 'user', content: 'half \ufffd of a pair, \ud83d\ude00 whole' }]);
});
