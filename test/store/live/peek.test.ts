// A look at the end of a session's live files.
import { expect, test } from 'vitest';
import { fileLive } from '../../../store/live/file-live.ts';
import { NOTHING_SAID } from '../../../store/live/peek.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';
import { tempDir } from '../../support/temp-dir.ts';

const session = 's-1' as SessionId;

test('output is a sign of life, and the start of an attempt or its wait for the next is none (F8)', async () => {
  const live = fileLive({ dir: tempDir() });
  expect(await live.peek(session)).toEqual(NOTHING_SAID);
  const writer = live.open({ session, step: 1, attempt: 1, activity: 'callModel' });
  writer.write({ type: 'request_start', iteration: 1, attempt: 1, model: 'm' });
  writer.write({ type: 'retry', iteration: 1, failures: 1, delayMs: 9, error: '529' });
  await expect.poll(async () => (await live.peek(session)).at).toBeNull();
  writer.write({ type: 'text_delta', iteration: 1, index: 0, text: 'Hello' });
  await expect.poll(async () => (await live.peek(session)).at).toBeGreaterThan(0);
  await writer.end({ type: 'fate', fate: 'done' });
});

test('a run whose attempts die without an answer has given no sign since the answer before (F8)', async () => {
  const live = fileLive({ dir: tempDir() });
  const first = live.open({ session, step: 1, attempt: 1, activity: 'callModel' });
  first.write({ type: 'text_delta', iteration: 1, index: 0, text: 'Hello' });
  await first.end({ type: 'fate', fate: 'done' });
  const { at } = await live.peek(session);
  for (const attempt of [1, 2]) {
    const writer = live.open({ session, step: 2, attempt, activity: 'callModel' });
    writer.write({ type: 'request_start', iteration: 2, attempt, model: 'm' });
    await writer.end({ type: 'fate', fate: 'died', why: 'no answer within 10 min' });
  }
  expect((await live.peek(session)).at).toBe(at);
});

test('calls that run are named with their input, and a reply with what it was billed (F7)', async () => {
  const live = fileLive({ dir: tempDir() });
  const writer = live.open({ session, step: 4, attempt: 2, activity: 'callModel' });
  const spend = { ...noSpend, usd: 0.5 };
  for (const index of [0, 1]) {
    const input = { command: `sleep ${index}` };
    writer.write({ type: 'tool_use', iteration: 1, index, id: `t${index}`, name: 'bash', input });
    writer.write({ type: 'tool_start', iteration: 1, index, name: 'bash', early: true });
  }
  writer.write({ type: 'reply', iteration: 1, stopReason: 'tool_use', fate: 'whole', spend });
  const end = { isError: false, content: '', durationMs: 1 };
  writer.write({ type: 'tool_end', iteration: 1, index: 0, name: 'bash', ...end });
  await expect
    .poll(async () => (await live.peek(session)).calls)
    .toEqual([{ tool: 'bash', input: { command: 'sleep 1' } }]);
  expect((await live.peek(session)).billed).toEqual(new Map([[4, spend]]));
  await writer.end({ type: 'fate', fate: 'done' });
  expect((await live.peek(session)).calls).toEqual([]);
});
