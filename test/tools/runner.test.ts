// The calls of the loop as the activities make them: traits, what watchers see, what comes back.
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Attempt } from '../../activities/attempt.ts';
import type { HookRunner } from '../../activities/hooks/hooks.ts';
import type { LiveEvent } from '../../store/live/events.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { createRegistry, createChangingRegistry } from '../../tools/registry.ts';
import { createCallRunner } from '../../activities/calls/call-runner.ts';
import type { Tool } from '../../tools/tool.ts';
import { memoryStore } from '../support/memory-store.ts';
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import { noHooks, noHooksBut } from '../support/no-hooks.ts';
import { simpleTool } from './support.ts';

const config = {
  session: 's-1' as SessionId,
  queryId: 'q',
  depth: 0,
  cwd: '/',
  mode: 'default',
  rules: { maxBudgetUsd: null, maxTokens: null },
} as unknown as RunConfig;
const key = 'chain.head.0' as CallKey;

const attempt: Attempt = {
  session: config.session,
  number: 1,
  signal: new AbortController().signal,
  abortedBy: () => null,
  run: 'run',
  fence: () => Promise.resolve(true),
  remembered: undefined,
  remember: () => undefined,
};

const block = (name: string, input: unknown = {}) => ({ index: 0, id: 'toolu_1', name, input });

function runner(tools: readonly Tool[], hooks: HookRunner = noHooks) {
  const events: LiveEvent[] = [];
  const port = { iteration: 3, say: (event: LiveEvent): void => void events.push(event) };
  return { calls: createCallRunner(memoryStore(), createRegistry(tools), hooks), events, port };
}

test('a call is planned by what is known of it: one that cannot run, asks or has a hook goes the regular way (L35 L37)', () => {
  const tools = [simpleTool({ name: 'look', risk: 'read' }), simpleTool({ name: 'act' })];
  const preToolHook = noHooksBut({ has: (name) => name === 'preTool' });
  const bypass: RunConfig = { ...config, mode: 'bypass' };
  const budgeted: RunConfig = { ...bypass, rules: { ...bypass.rules, maxTokens: 1_000 } };
  const plan = (name: string, input: unknown = {}, run = config, hooks?: HookRunner): unknown => {
    const { safe, plan: way } = runner(tools, hooks).calls.bind(run, block(name, input)).traits();
    return [safe ? 'safe' : 'effectful', way];
  };
  expect(plan('look')).toEqual(['safe', 'early']);
  expect(plan('act')).toEqual(['effectful', 'regular']);
  expect(plan('act', {}, bypass)).toEqual(['effectful', 'with_reply']);
  expect(plan('act', {}, budgeted)).toEqual(['effectful', 'regular']);
  expect(plan('look', {}, budgeted)).toEqual(['safe', 'early']);
  expect(plan('act', { bad: 1 })).toEqual(['safe', 'regular']);
  expect(plan('absent')).toEqual(['safe', 'regular']);
  expect(plan('look', {}, config, preToolHook)).toEqual(['safe', 'regular']);
  expect(plan('act', {}, bypass, preToolHook)).toEqual(['effectful', 'regular']);
});

test('what earlier calls changed counts for traits and for the call (L38)', async () => {
  const { calls, port } = runner([simpleTool({ name: 'look', risk: 'read' })]);
  const context = { allowedTools: ['other'] };
  expect(calls.bind(config, block('look'), context).traits().plan).toBe('regular');
  const early = await calls
    .bind(config, block('look'), context)
    .runEarly({ id: 'id', ...port, signal: attempt.signal });
  expect(early?.outcome.content).toContain('not among the tools');
  expect(
    await calls.bind(config, block('look'), context).runClaimed(attempt, { key, ...port, safe: true }),
  ).toMatchObject({
    outcome: { isError: true },
  });
});

test('a call that waits for a decision is not shown to have started (L55)', async () => {
  const { calls, events, port } = runner([simpleTool({})]);
  const asked = await calls.bind(config, block('simple')).runClaimed(attempt, { key, ...port, safe: false });
  if (!('ask' in asked)) throw new Error('not asked');
  expect(events).toEqual([]);
  const decision = { kind: 'allow', inputHash: asked.ask.inputHash } as const;
  await calls.bind(config, block('simple')).runClaimed(attempt, { key, ...port, safe: false, decision });
  expect(events.map(({ type }) => type)).toEqual(['tool_start', 'tool_end']);
});

test('watchers see the start before what the call says, and once (L60)', async () => {
  const tool = simpleTool({ risk: 'read', call: async (_, { progress }) => (progress('half'), { content: 'done' }) });
  const { calls, events, port } = runner([tool]);
  await calls.bind(config, block('simple')).runClaimed(attempt, { key, ...port, safe: true });
  expect(events.map(({ type }) => type)).toEqual(['tool_start', 'tool_progress', 'tool_end']);
});

test('tools get the variables of the worker and, before those, of the session (Q7)', async () => {
  const seen: unknown[] = [];
  const tool = simpleTool({ risk: 'read', call: async (_, { env }) => (seen.push(env), { content: '' }) });
  const toolEnv = { A: 'worker', B: 'worker' };
  const calls = createCallRunner(memoryStore(), createRegistry([tool]), noHooks, { toolEnv });
  const port = { iteration: 1, say: (): void => undefined };
  const given: RunConfig = { ...config, toolEnv: { B: 'session' } };
  await calls.bind(given, block('simple')).runClaimed(attempt, { key, ...port, safe: true });
  expect(seen).toEqual([{ A: 'worker', B: 'session' }]);
});

test('definitions are those of the last refresh (L44)', async () => {
  const log = (): void => undefined;
  const registry = createChangingRegistry(() => [simpleTool({ name: 'came' })], { initial: [], log });
  const calls = createCallRunner(memoryStore(), registry, noHooks);
  expect(calls.definitions).toEqual([]);
  await calls.refresh({});
  expect(calls.definitions.map(({ name }) => name)).toEqual(['came']);
  await expect(runner([]).calls.refresh({})).resolves.toBeUndefined();
});

const enriching = (backfill: (input: Record<string, unknown>) => unknown): Tool =>
  simpleTool({ inputSchema: z.looseObject({}), backfillObservableInput: (input) => backfill(input as never) });

test('observers see an enriched copy, and the input stays as it was (L18)', () => {
  const tool = enriching((input) => {
    (input['list'] as string[]).push('added');
    return { ...input, path: '/workspace/a' };
  });
  const input = { list: ['own'] };
  expect(runner([tool]).calls.copyInput(config, block('simple', input))).toEqual({
    list: ['own', 'added'],
    path: '/workspace/a',
  });
  expect(input).toEqual({ list: ['own'] });
});

const loop: Record<string, unknown> = {};
loop['self'] = loop;

test.each<[string, (input: Record<string, unknown>) => unknown]>([
  [
    'throws',
    () => {
      throw new TypeError('broken');
    },
  ],
  ['answers nothing', () => undefined],
  ['answers with what is no JSON', () => loop],
  ['answers with a function', () => () => 1],
])('where the tool %s, observers see a copy of the input (L18)', (_, backfill) => {
  const input = { a: { b: 1 } };
  const seen = runner([enriching(backfill)]).calls.copyInput(config, block('simple', input));
  expect(seen).toEqual(input);
  expect((seen as typeof input).a).not.toBe(input.a);
});

test('an unknown tool, an input that does not fit and one too deep to copy throw nothing (L18)', () => {
  const { calls } = runner([simpleTool({ backfillObservableInput: () => ({ enriched: true }) })]);
  expect(calls.copyInput(config, block('absent', { a: 1 }))).toEqual({ a: 1 });
  expect(calls.copyInput(config, block('simple', { text: 3 }))).toEqual({ text: 3 });
  let deep: unknown = [];
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  expect(() => calls.copyInput(config, block('simple', deep))).not.toThrow();
  expect(calls.bind(config, block('simple', deep)).traits()).toMatchObject({ safe: true, plan: 'regular' });
});
