// What becomes of a reply whose request was refused for thinking that no longer fits, or for a
// field that a server does not know.
import { expect, test } from 'vitest';
import { fault, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, prompt } from '../support/bench-deps.ts';

const BOUND =
  'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block.';

const thought = reply([thinking('Let me see.'), text('Looking.'), toolUse('look', {}, 'toolu_1')]);

test('thinking that the API finds bound to something else is left out at once, for good, and it is loud (L59)', async () => {
  const script = [thought, fault({ status: 400, message: BOUND }), reply('Done.'), reply('Again.')];
  const bench = await benchDeps({ script, run: { model: 'my-model' } });
  const { head } = (await bench.call()) as { head: Hash };
  const answered = (await bench.call(fakeAttempt(), { head, append: [], step: 3 })) as { kind: string; head: Hash };
  expect(answered.kind).toBe('message');
  await bench.call(fakeAttempt(), { head: answered.head, append: [prompt('And now?')], step: 4 });
  const withThinking = bench.bodies().map((body) => JSON.stringify(body).includes('Let me see.'));
  expect(withThinking).toEqual([false, true, false, false]);
  const epochs = (await bench.entries(answered.head)).flatMap((entry) => (entry.kind === 'epoch' ? [entry.why] : []));
  expect(epochs).toEqual(['first', 'refused']);
  expect(bench.warnings).toEqual([
    expect.stringMatching(/my-model found thinking bound to something else .*please report/),
  ]);
  expect(bench.model.problems).toEqual([]);
});

test('a refusal without any thinking to leave out is the end of the call, after one more request (L20 L59)', async () => {
  const bench = await benchDeps({
    script: [fault({ status: 400, message: BOUND }, '', { times: 2 })],
    run: { model: 'my-model' },
  });
  expect(await bench.call()).toMatchObject({ kind: 'failed', detail: expect.stringContaining('bound to a different') });
  expect(bench.bodies()).toHaveLength(2);
});

test('a server that does not know `block_binding` is asked without it, from then on at once (L59)', async () => {
  const refused = 'thinking.adaptive.block_binding: Extra inputs are not permitted';
  const script = [fault({ status: 400, message: refused }), thought, reply('Done.')];
  const bench = await benchDeps({ script, run: { model: 'claude-sonnet-5-5' } });
  const call = bench.caller();
  const { head } = (await call(fakeAttempt(), {})) as { head: Hash };
  expect(await call(fakeAttempt(), { head, append: [], step: 3 })).toMatchObject({ kind: 'message' });
  const asks = bench.model.requests.map(({ body, headers }) => [
    JSON.stringify(body).includes('block_binding'),
    (headers['anthropic-beta'] ?? '').includes('thinking-binding'),
  ]);
  expect(asks).toEqual([
    [true, true],
    [false, false],
    [false, false],
  ]);
});
