import { expect, test, vi } from 'vitest';
import { findReply } from '../../activities/find-reply.ts';
import type { ModelResult } from '../../workflows/contract/activities.ts';
import { fault, gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import { benchDeps, fakeAttempt, look, touching, type BenchOptions, type FakeAttempt } from '../support/bench-deps.ts';
import { until } from '../support/until.ts';

const { session } = fakeAttempt();
const touch = toolUse('touch', { file: 'a' });

async function bench(script: BenchOptions['script'], tool = touching().tool, hooks: BenchOptions['hooks'] & {} = {}) {
  const made = await benchDeps({ script, tools: [tool, look], hooks });
  const found = (call = made.input()): Promise<ModelResult> => findReply(made.deps)(fakeAttempt(), { call, step: 9 });
  return { ...made, found };
}

test('a stored reply is found, told again in the place of what was shown, and its open calls are in doubt (L39 L47)', async () => {
  const { tool, effects } = touching();
  const { call, found, lines, model, deps, input } = await bench(
    [reply([text('I begin.'), toolUse('look', {}), touch])],
    tool,
  );
  const { step } = input();
  const before = await call();
  lines.length = 0;
  const open = vi.spyOn(deps.live, 'open');
  const after = await found();
  expect(open).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ supersedes: step, retells: step }));
  if (before.kind !== 'message' || after.kind !== 'message') throw new Error(after.kind);
  expect(after).toEqual({
    ...before,
    calls: [before.calls[0], { ...before.calls[1], ran: undefined, mayHaveBegun: true }],
  });
  expect(effects).toHaveLength(1);
  expect(model.requests).toHaveLength(1);
  expect(lines).toContainEqual(expect.objectContaining({ type: 'text_delta', text: 'I begin.' }));
  expect(lines.at(-1)).toMatchObject({ type: 'fate', fate: 'stored' });
});

test('where nothing was stored there is nothing, and an attempt that is still alive stores and begins nothing any more (L47)', async () => {
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

test.each<[string, (later: FakeAttempt) => void, ReturnType<typeof fault>, object]>([
  ['is stopped', (later) => later.abort('stop'), reply('Never.'), { kind: 'nothing' }],
  ['is refused', () => {}, fault({ status: 400 }), { kind: 'failed' }],
])(
  'when an attempt ends without a reply, for it %s, a frozen one before it stores and begins nothing any more (L40 L47)',
  async (_what, end, answer, value) => {
    const [frozen, held] = [gate(), gate()];
    const { tool, effects } = touching();
    const script = [reply([touch], { hold: frozen.hold }), { ...answer, hold: held.hold }];
    const { call, model } = await bench(script, tool);
    const first = call(fakeAttempt(1));
    await until(() => model.requests.length === 1);
    const attempt = fakeAttempt(2);
    const later = call(attempt);
    await until(() => model.requests.length === 2);
    end(attempt);
    held.release();
    expect(await later).toMatchObject(value);
    frozen.release();
    expect(await first).toEqual(await later);
    expect(effects).toEqual([]);
  },
);

test('when a hook stops a later attempt, a frozen one before it stores and begins nothing any more (L30 L40 L47)', async () => {
  const frozen = gate();
  const { tool, effects } = touching();
  let asked = 0;
  const stopsSecond = () => ((asked += 1) === 1 ? undefined : { stop: 'enough' });
  const script = [reply([touch], { hold: frozen.hold })];
  const { call, model } = await bench(script, tool, { promptSubmitted: [stopsSecond] });
  const first = call(fakeAttempt(1));
  await until(() => model.requests.length === 1);
  const later = await call(fakeAttempt(2));
  expect(later).toMatchObject({ kind: 'hook_stopped', detail: 'enough' });
  frozen.release();
  expect(await first).toEqual(later);
  expect(effects).toEqual([]);
});

test('an attempt that was given up, and comes to no reply, leaves it to the one in its place (L16 L50)', async () => {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const { call } = await bench([reply('No.', { stop_reason: 'refusal', usage }), reply('Done.', { usage })]);
  // Its heartbeat has told it, and what it waited for was there at the same moment.
  const lost = { ...fakeAttempt(1), abortedBy: () => 'lost' as const };
  await expect(call(lost)).rejects.toThrow('given up: lost');
  const later = await call(fakeAttempt(2, lost.left));
  expect(later).toMatchObject({ kind: 'message', spend: { usage: { input: 20, output: 10 } } });
});
