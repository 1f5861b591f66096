// How each prompt came is kept with it: in the transcript, for hooks, in lists; also of those that
// agents and programs send.
import { expect, test } from 'vitest';
import { createClient } from '../../client/index.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { reply } from '../../scripted-model/index.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

test('how a prompt came is in the transcript, told to hooks and listed; what is none is passed over (O12 L13)', async () => {
  const told: (readonly [string, unknown])[] = [];
  const tell = ({ hook, querySource }: { readonly hook: string; readonly querySource?: unknown }): void =>
    void told.push([hook, querySource]);
  const hooks = { sessionStart: [tell], promptSubmitted: [tell], stop: [tell] };
  const script = byPrompt({ 'Go.': [reply('One.'), reply('Two.'), reply('Three.')] });
  const h = await harness({ script, worker: { hooks }, handover: { events: 5, signals: 5_000, iterations: 1 } });
  const session = await h.open('Go.', {}, { querySource: 'cli' });
  await session.ended(1);
  await session.send('On.', { querySource: 'page' });
  await session.ended(2);
  expect((await session.memo())?.facts?.querySource).toBe('page');
  await session.send('And?', { querySource: 'telepathy' as never });
  await session.ended(3);
  const prompts = (await session.entries()).filter((entry) => entry.kind === 'user');
  expect(prompts.map(({ querySource }) => querySource)).toEqual(['cli', 'page', undefined]);
  expect(told).toEqual([
    ['sessionStart', 'cli'],
    ['promptSubmitted', 'cli'],
    ['stop', 'cli'],
    ['promptSubmitted', 'page'],
    ['stop', 'page'],
    ['promptSubmitted', undefined],
    ['stop', undefined],
  ]);
});

test('a program that says nothing is one, and what it asks an agent is said by an agent (O12 L66)', async () => {
  const script = byPrompt({ 'Go.': [reply([agentCall('Count.')]), reply('Done.')], 'Count.': [reply('Three.')] });
  const h = await harness({ script });
  const { client: temporal, taskQueue, storePlace } = h;
  const store = fileStore({ dir: storePlace });
  const sessions = createClient({ temporal, store, taskQueue });
  const { session } = await sessions.start('Go.', { cwd: h.cwd, permissionMode: 'bypass' });
  const ended = async (id: string) => (await sessions.describe(id)).last !== null;
  await until(() => ended(session));
  expect((await sessions.describe(session)).facts?.querySource).toBe('sdk');
  const all = [];
  for await (const info of sessions.list()) all.push(info);
  const agent = all.find(({ facts }) => facts?.agent?.parent === session);
  expect(agent?.facts?.querySource).toBe('agent');
});
