// Prompt hooks inside a model call: what they add, how they end a run, and that a request made
// again asks them no more.
import { expect, test } from 'vitest';
import { callModel } from '../../../activities/call-model.ts';
import type { HookConfig } from '../../../activities/hooks/hook-config.ts';
import { fault, reply } from '../../../scripted-model/index.ts';
import type { Append } from '../../../workflows/contract/activities.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, prompt } from '../../support/bench-deps.ts';
import { runner } from './support.ts';

const started = (run: number): Append => ({ kind: 'run_started', run, config: 'c' as Hash, at: 0 });

async function bench(hooks: HookConfig, script: Parameters<typeof benchDeps>[0]['script']) {
  const made = await benchDeps({ script });
  const deps = { ...made.deps, hooks: runner(hooks) };
  return { ...made, deps, model: callModel(deps), sent: made.model };
}

test('what a hook says to a prompt follows the prompt, in the transcript and for the model', async () => {
  const seen: unknown[] = [];
  const hooks: HookConfig = {
    promptSubmitted: [
      { name: 'git', run: ({ prompts, cwd }) => (seen.push(prompts, typeof cwd), { context: 'branch main' }) },
      { name: 'bad', run: () => Promise.reject(new Error('boom')) },
    ],
  };
  const { model, input, entries, sent, lines } = await bench(hooks, [reply('Done.')]);
  const result = await model(fakeAttempt(), input());
  if (result.kind !== 'message') throw new Error(result.kind);
  expect(seen).toEqual([['Do it.'], 'string']);
  expect((await entries(result.head)).slice(0, 3)).toMatchObject([
    { kind: 'user' },
    { kind: 'notice', notice: { kind: 'hook_context', hook: 'git', text: 'branch main' } },
    { kind: 'notice', notice: { kind: 'hook_failed', hook: 'bad', detail: 'boom' } },
  ]);
  expect(JSON.stringify(sent.requests[0]?.body)).toContain('branch main');
  expect(lines.filter(({ type }) => type === 'hook_start' || type === 'notice')).toHaveLength(4);
});

test('what a hook said is shown again by an attempt that finds the reply stored (L16)', async () => {
  const { model, input, lines } = await bench({ promptSubmitted: [() => ({ context: 'branch main' })] }, [
    reply('Done.'),
  ]);
  await model(fakeAttempt(1), input());
  lines.length = 0;
  await model(fakeAttempt(2), input());
  const notice = { kind: 'hook_context', hook: 'function', text: 'branch main' };
  expect(lines.filter(({ type }) => type === 'notice')).toEqual([{ type: 'notice', notice }]);
});

test('a hook that stops a prompt ends the run before the model is called (L41)', async () => {
  const { model, input, sent } = await bench({ promptSubmitted: [() => ({ stop: 'not on a Friday' })] }, []);
  expect(await model(fakeAttempt(), input())).toMatchObject({ kind: 'hook_stopped', detail: 'not on a Friday' });
  expect(sent.requests).toHaveLength(0);
});

test('a retry asks no hook again, and is told the same', async () => {
  let asked = 0;
  const hooks = { promptSubmitted: [() => ({ context: `asked ${++asked}` })] };
  const { model, input, sent } = await bench(hooks, [fault({ status: 500 }), reply('Done.')]);
  await expect(model(fakeAttempt(1), input())).rejects.toThrow();
  await model(fakeAttempt(2), input());
  expect(asked).toBe(1);
  expect(JSON.stringify(sent.requests[1]?.body)).toContain('asked 1');
});

test('hooks are told of prompts that a compaction stored before the model saw them, and never of those of earlier runs', async () => {
  const told: unknown[] = [];
  const hooks: HookConfig = { promptSubmitted: [({ prompts }) => void told.push(prompts)] };
  const { model, commit, input } = await bench(hooks, [reply('Done.'), reply('Done.')]);
  const { head } = await commit(null, [started(1), prompt('stopped'), started(2), prompt('stored')]);
  const first = await model(fakeAttempt(), input({ head, append: [] }));
  if (first.kind !== 'message') throw new Error(first.kind);
  await model(fakeAttempt(), input({ head: first.head, append: [prompt('new')], step: 5 }));
  expect(told).toEqual([['stored'], ['new']]);
});
