import { expect, it } from 'vitest';
import { findReply } from '../../activities/find-reply.ts';
import type { ModelResult } from '../../workflows/contract/activities.ts';
import { readOutcome } from '../../activities/tools/outcome-record.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { gate, reply, text, toolUse } from '../../worker/scripted-model/index.ts';
import { benchDeps, fakeAttempt, look, touching } from '../support/bench-deps.ts';
import { until } from '../support/until.ts';

const { session } = fakeAttempt();
const touch = toolUse('touch', { file: 'a' });

async function bench(script: Parameters<typeof benchDeps>[0]['script'], tool = touching().tool) {
  const made = await benchDeps({ script, tools: [tool, look] });
  const found = (call = made.input()): Promise<ModelResult> => findReply(made.deps)(fakeAttempt(), { call, step: 9 });
  return { ...made, found };
}

it('L39 L47 a stored reply is found with the outcomes that its calls had, and nothing runs again', async () => {
  const { tool, effects } = touching();
  const { call, found, lines, model } = await bench([reply([text('I begin.'), toolUse('look', {}), touch])], tool);
  const before = await call();
  lines.length = 0;
  expect(await found()).toEqual(before);
  expect(effects).toHaveLength(1);
  expect(model.requests).toHaveLength(1);
  expect(lines).toContainEqual(expect.objectContaining({ type: 'text_delta', text: 'I begin.' }));
  expect(lines.at(-1)).toMatchObject({ type: 'fate', fate: 'stored' });
});

it('L40 L47 a call that was begun has an unknown outcome, and one that was not says so', async () => {
  const hangs = gate();
  const { tool, effects } = touching();
  const hanging = { ...tool, call: async () => (effects.push('begun'), await hangs.hold, { content: 'late' }) };
  const { call, found, deps } = await bench([reply([touch, toolUse('touch', { file: 'b' })])], hanging);
  const first = call();
  await until(() => effects.length === 1);
  const result = await found();
  if (result.kind !== 'message') throw new Error(result.kind);
  const told = await Promise.all(
    result.calls.map(({ index }) => readOutcome(deps.store, session, callKey('chain', result.head, index))),
  );
  expect(told.map((each) => each?.outcome.content)).toEqual([
    expect.stringContaining('outcome unknown'),
    expect.stringContaining('before it started'),
  ]);
  hangs.release();
  await first;
  expect(effects).toHaveLength(1);
});

it('L47 where nothing was stored there is nothing, and an attempt that is still alive stores and begins nothing any more', async () => {
  const held = gate();
  const { tool, effects } = touching();
  const { call, found, model, deps } = await bench([reply([touch], { hold: held.hold, holdAfterEvent: 2 })], tool);
  const first = call();
  await until(() => model.requests.length === 1);
  expect(await found()).toMatchObject({ kind: 'nothing' });
  held.release();
  expect(await first).toMatchObject({ kind: 'nothing' });
  expect(effects).toEqual([]);
  expect((await deps.transcripts.view(session, null)).entries).toEqual([]);
});
