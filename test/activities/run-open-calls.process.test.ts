import { describe, expect, test } from 'vitest';
import { runTool } from '../../activities/run-tool.ts';
import { callIdOf, CALL_VARIABLE } from '../../system/process/environment.ts';
import { spawnCommand } from '../../system/process/spawner.ts';
import { gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import type { ModelResult } from '../../workflows/contract/activities.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, look, touching, type BenchOptions, type FakeAttempt } from '../support/bench-deps.ts';
import { until } from '../support/until.ts';

async function called(calls: ReturnType<typeof toolUse>[], options: Partial<BenchOptions> = {}) {
  const { tool, effects } = touching();
  const bench = await benchDeps({ script: [reply(calls)], tools: [tool, look], ...options });
  return { bench, effects, result: message(await bench.call()) };
}

function message(result: ModelResult): Extract<ModelResult, { kind: 'message' }> {
  if (result.kind !== 'message') throw new Error(result.kind);
  return result;
}

const touch = () => toolUse('touch', { file: 'a' });

describe('what a stored reply leaves open', () => {
  test('an effect runs at once when its reply is stored, and its outcome is recorded under its key (L33 L40)', async () => {
    const { bench, effects, result } = await called([toolUse('look', {}), touch()]);
    expect(effects).toEqual([{ file: 'a' }]);
    expect(result.calls).toMatchObject([
      { index: 0, outcome: {} },
      { index: 1, ran: {} },
    ]);
    expect(result.calls[1]?.outcome).toBeUndefined();
    expect(await bench.tool(fakeAttempt(), result.head, 1)).toEqual(result.calls[1]?.ran);
    expect(effects).toHaveLength(1);
  });

  test('a call that may be repeated runs at once too, and its outcome is recorded under its key (L40)', async () => {
    const { tool, effects } = touching();
    const { bench, result } = await called([touch()], { tools: [{ ...tool, recovery: 'rerun' }] });
    expect(result.calls).toMatchObject([{ ran: {} }]);
    expect(await bench.tool(fakeAttempt(), result.head, 0)).toEqual(result.calls[0]?.ran);
    expect(effects).toHaveLength(1);
  });

  test('when its attempt died in it, what that left running is ended before it runs again (L40)', async () => {
    const { tool, effects } = touching();
    const never = gate();
    const call = async () => {
      effects.push('begun');
      if (effects.length === 1) await never.hold;
      return { content: 'touched' };
    };
    const bench = await benchDeps({ script: [reply([touch()])], tools: [{ ...tool, recovery: 'rerun', call }] });
    void bench.call();
    await until(() => effects.length === 1);
    const found = message(await bench.call(fakeAttempt(2)));
    expect(found.calls).toMatchObject([{ mayHaveBegun: true }]);
    const env = { PATH: process.env['PATH'] ?? '', [CALL_VARIABLE]: callIdOf(callKey('chain', found.head, 0)) };
    const left = await spawnCommand({ argv: ['sleep', '1000'], cwd: '/', env }, env);
    const input = { head: found.head, config: bench.opened.config, step: 3, iteration: 1, index: 0 };
    expect(await runTool(bench.deps)(fakeAttempt(), { ...input, mayHaveBegun: true })).toEqual({
      result: expect.any(String),
    });
    expect(await left.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(effects).toHaveLength(2);
    never.release();
  });

  test('several effects run one after the other, in the order of the model (L35)', async () => {
    const files = ['a', 'b', 'c'];
    const { effects, result } = await called(files.map((file) => toolUse('touch', { file })));
    expect(effects).toEqual(files.map((file) => ({ file })));
    expect(result.calls).toMatchObject([{ ran: {} }, { ran: {} }, { ran: {} }]);
  });

  test('in the reply that sums up a run nothing runs, neither early nor with it (L51)', async () => {
    const { tool, effects } = touching();
    const bench = await benchDeps({ script: [reply([toolUse('look', {}), touch()])], tools: [tool, look] });
    const result = message(await bench.call(fakeAttempt(), { wrapUp: true }));
    expect(result.calls.map(({ outcome, ran }) => outcome ?? ran)).toEqual([undefined, undefined]);
    expect(effects).toEqual([]);
  });

  test('what one of them says of the others holds: they are left to the regular way (L36 L41)', async () => {
    const failing = {
      ...touching().tool,
      name: 'fail',
      call: () => Promise.resolve({ content: 'no', cancelsSiblings: true }),
    };
    const { tool, effects } = touching();
    const calls = [touch(), toolUse('fail', {}), touch()];
    const { result } = await called(calls, { tools: [tool, failing] });
    expect(effects).toHaveLength(1);
    expect(result.calls).toMatchObject([{ ran: {} }, { ran: { cancelsSiblings: true } }, {}]);
    expect(result.calls[2]?.ran).toBeUndefined();
  });

  test('an attempt that died after it is not made again: the next finds the reply, and the regular way the outcome (L40)', async () => {
    const { bench, effects, result } = await called([touch()]);
    const again = message(await bench.call(fakeAttempt(2)));
    expect(again.head).toBe(result.head);
    expect(again.calls[0]?.ran).toBeUndefined();
    expect(bench.bodies()).toHaveLength(1);
    expect(await bench.tool(fakeAttempt(), again.head, 0)).toEqual(result.calls[0]?.ran);
    expect(effects).toHaveLength(1);
  });

  test.each<[string, (later: FakeAttempt) => void]>([
    ['comes to a reply too', () => {}],
    ['is stopped, and has a part of one', (later) => later.abort('stop')],
  ])(
    'a frozen attempt stored its reply first and has begun its effect: a later one that %s leaves the call in doubt (L16 L40)',
    async (_what, end) => {
      const { tool, effects } = touching();
      const [frozen, held, begun] = [gate(), gate(), gate()];
      const hanging = { ...tool, call: async () => (effects.push('begun'), await begun.hold, { content: 'touched' }) };
      const script = [
        reply([touch()], { hold: frozen.hold }),
        reply([text('I begin.'), touch()], { hold: held.hold, holdAfterEvent: 4 }),
      ];
      const bench = await benchDeps({ script, tools: [hanging] });
      const first = bench.call(fakeAttempt(1));
      await until(() => bench.model.requests.length === 1);
      const attempt = fakeAttempt(2);
      const later = bench.call(attempt);
      await until(() => bench.lines.some(({ type }) => type === 'text_delta'));
      frozen.release();
      await until(() => effects.length === 1);
      end(attempt);
      held.release();
      const found = message(await later);
      begun.release();
      expect(found.head).toBe(message(await first).head);
      expect(found.calls).toMatchObject([{ index: 0, mayHaveBegun: true }]);
      expect(effects).toEqual(['begun']);
    },
  );

  test.each<[string, ReturnType<typeof toolUse>[], Partial<BenchOptions>]>([
    ['it must be asked about', [touch()], { run: { permissionMode: 'default' } }],
    ['a pre-tool hook is about it', [touch()], { hooks: { preTool: [() => undefined] } }],
    ['the budget may be spent (L51)', [touch()], { run: { maxTokens: 1_000_000 } }],
  ])('waits for the regular way when %s (L33)', async (_why, calls, options) => {
    const { effects, result } = await called(calls, options);
    expect(effects).toEqual([]);
    expect(result.calls.every(({ ran }) => ran === undefined)).toBe(true);
  });
});
