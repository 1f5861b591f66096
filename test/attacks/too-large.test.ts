// A signal cannot be refused. What is too large in one is not dropped either: the conversation, or
// the run, says what became of it.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

const script = { replies: [{ ...reply('Yes.'), times: 'any' as const }] };

test('a text that is too long for a signal leaves a sentence in its place, for whoever sent it and for the model (L61)', async () => {
  const h = await harness({ script });
  const session = await h.open('First.');
  await session.ended(1);
  await session.send('x'.repeat(70_000));
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' }, messages: [{}] });
  expect(JSON.stringify(h.bodies()[1]?.messages.at(-1))).toContain(
    'A message of 70000 characters stood here and was not taken',
  );
});

test('options that are too large are refused with a sentence, and the session goes on as before (L57)', async () => {
  const h = await harness({ script });
  const session = await h.open('First.', { model: 'claude-haiku-4-5' });
  await session.ended(1);
  await session.send('Second.', { options: { systemPrompt: 'x'.repeat(200_000) } });
  expect(await session.ended(2)).toMatchObject({
    terminal: { reason: 'model_error', detail: expect.stringContaining('the options have 200') },
  });
  await session.send('Third.');
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(h.bodies().at(-1)?.model).toBe('claude-haiku-4-5');
});

test('options that are too large only together never keep a run from being handed over, and are refused at the next (L4 L57)', async () => {
  const wait = reply([toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done' })]);
  const look = reply([toolUse('glob', { pattern: '*' })]);
  const h = await harness({
    script: { replies: [wait, look, look, look, { ...reply('Yes.'), times: 'any' }] },
    handover: { ...defaultHandover, iterations: 2 },
  });
  const session = await h.open('First.');
  const before = (await session.handle.describe()).runId;
  await until(() => existsSync(join(h.cwd, 'begun')));
  await session.send('Second.', { options: { systemPrompt: 'x'.repeat(99_000) } });
  await session.send('Third.', { options: { outputSchema: { type: 'object', description: 'x'.repeat(64_000) } } });
  await session.send('Fourth.', {
    options: { permissions: { deny: [...Array(900).keys()].map((n) => `bash(${'x'.repeat(60)} ${n}:*)`) } },
  });
  writeFileSync(join(h.cwd, 'go'), '');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect((await session.handle.describe()).runId).not.toBe(before);
  await session.send('Fifth.');
  expect(await session.ended(2)).toMatchObject({
    terminal: { reason: 'model_error', detail: expect.stringContaining('the options have 2') },
  });
  await session.send('Sixth.');
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
});
