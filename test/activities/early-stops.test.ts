// What becomes of calls that started early when their attempt, or they themselves, come to no good
// end.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { callModel } from '../../activities/call-model.ts';
import { defineTool, type Tool } from '../../tools/tool.ts';
import { StoreError } from '../../store/values/store.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';

function safeTool(call: Tool['call']): Tool {
  return defineTool({
    name: 'look',
    description: 'Look.',
    inputSchema: z.record(z.string(), z.unknown()),
    risk: 'read',
    recovery: 'rerun',
    call: (input, context) => call(input, context),
  });
}

test('a deploy that meets one after the stream leaves it to run the regular way, not interrupted (L37 L50)', async () => {
  const until = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  const tool = safeTool(async (_input, { signal }) => {
    await until(signal);
    return { content: 'partly', stopped: true };
  });
  const bench = await benchDeps({ script: [reply([toolUse('look', {})])], tools: [tool] });
  const attempt = fakeAttempt();
  const model: typeof bench.deps.model = async (body, signal) => {
    const stream = await bench.deps.model(body, signal);
    return (async function* () {
      try {
        yield* stream;
      } finally {
        setImmediate(() => attempt.abort('deploy'));
      }
    })();
  };
  const result = await callModel({ ...bench.deps, model })(attempt, bench.input());
  expect(result).toMatchObject({ kind: 'message', calls: [{ name: 'look' }] });
  expect(result.kind === 'message' && result.calls[0]?.outcome).toBeUndefined();
  expect(bench.model.requests).toHaveLength(1);
});

test('one whose outcome cannot be stored runs the regular way, and the reply is kept (L37)', async () => {
  const full = safeTool(() => Promise.reject(new StoreError('unavailable', 'no space is left on the disk')));
  const bench = await benchDeps({ script: [reply([toolUse('look', {})])], tools: [full] });
  const result = await bench.call();
  expect(result).toMatchObject({ kind: 'message', calls: [{ name: 'look' }] });
  expect(result.kind === 'message' && result.calls[0]?.outcome).toBeUndefined();
});
