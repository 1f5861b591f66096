// What one run leaves for the next: what was asked for and not done, options it was brought,
// handlers that still run.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runDefaults } from '../../worker/config/defaults.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover, SIGNALS } from '../../workflows/contract/session.ts';
import { harness, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const waiting = reply([toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done' })]);
const look = reply([toolUse('glob', { pattern: '*' })]);

const begun = ({ cwd }: Harness): Promise<true> => until(() => existsSync(join(cwd, 'begun')));
const go = ({ cwd }: Harness): void => writeFileSync(join(cwd, 'go'), '');

test('a snip that comes too late for a run is taken by the next (L7)', async () => {
  const h = await harness({ script: [waiting, reply('Hello.')] });
  const session = await h.open('Go.', { maxTurns: 1 });
  await begun(h);
  await session.handle.signal(SIGNALS.snip, { entries: [1] });
  go(h);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'max_turns' } });
  await session.send('And now?');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  expect((await session.entries()).filter(({ kind }) => kind === 'snip')).toMatchObject([{ entries: [1] }]);
});

test('options brought to a run under way, that no run can open with, are refused once (L57)', async () => {
  const h = await harness({ script: [waiting, reply('Hello.'), reply('Back.')] });
  const session = await h.open('Go.');
  await begun(h);
  await session.send('Elsewhere.', { options: { cwd: '/no/such/folder' } });
  go(h);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  await session.send('There.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'model_error' } });
  await session.send('Here.');
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
});

test('options can be taken back: null leaves it to the worker again, also for what follows (L57)', async () => {
  const h = await harness({ script: { replies: [{ ...reply('Done.'), times: 'any' }] } });
  const session = await h.open('Go.', { model: 'claude-haiku-4-5', maxTurns: 7 });
  await session.ended(1);
  await session.send('As you would.', { options: { model: null } });
  await session.ended(2);
  await session.send('And again.');
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(h.bodies().map(({ model }) => model)).toEqual(['claude-haiku-4-5', runDefaults.model, runDefaults.model]);
});

test('mode bypass is refused to a session with rules that ask, which goes on as before, until they are taken back (L55 L57)', async () => {
  const h = await harness({ script: { replies: [{ ...reply('Done.'), times: 'any' }] } });
  const session = await h.open('Go.', { permissionMode: 'default', permissions: { ask: ['bash'] } });
  await session.ended(1);
  await session.send('Unasked.', { options: { permissionMode: 'bypass' } });
  expect(await session.ended(2)).toMatchObject({
    terminal: {
      reason: 'model_error',
      detail: expect.stringMatching(/^permission mode "bypass" asks about nothing/),
    },
  });
  await session.send('As before.');
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  await session.send('Unasked.', { options: { permissionMode: 'bypass', permissions: null } });
  expect(await session.ended(4)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies().at(-1)?.messages).match(/Unasked\./g)).toHaveLength(2);
});

test('a handler of an earlier run puts a handover off, and holds up neither the run nor a stop (L4 L47 L56)', async () => {
  const held = gate();
  const stream = gate();
  const told: number[] = [];
  const afterStop = [
    {
      name: 'remember',
      timeoutMs: 60_000,
      run: async ({ run }: { readonly run: number }) => {
        await held.hold;
        told.push(run);
      },
    },
  ];
  const script = [reply('One.'), look, look, reply('On and on', { hold: stream.hold, holdAfterEvent: 4 })];
  const h = await harness({ script, worker: { afterStop }, handover: { ...defaultHandover, iterations: 1 } });
  const session = await h.open('First.');
  await session.ended(1);
  await session.send('Second.');
  await until(() => h.liveText(session.id).includes('On and on'));
  await session.interrupt();
  expect(await session.ended(2)).toMatchObject({
    terminal: { reason: 'aborted_streaming', by: 'interrupt' },
    turns: 3,
  });
  expect(told).toEqual([]);
  const { runId } = await session.handle.describe();
  held.release();
  await until(async () => (await session.handle.describe()).runId !== runId);
  expect(told).toEqual([1]);
  stream.release();
  await keepHistory('a handover after a handler (L56)', h.client.workflow.getHandle(session.id, runId));
});

test('the model of the next prompt is told once that the run before ended for its budget (L51)', async () => {
  const dear = { usage: { input_tokens: 50_000, output_tokens: 10 } };
  const h = await harness({ script: [{ ...look, ...dear }, reply('Back.'), reply('Still here.')] });
  const session = await h.open('Go.', { maxTokens: 20_000 });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'budget_exceeded' } });
  // One that cannot open does not take the news away.
  await session.send('Elsewhere.', { options: { cwd: '/no/such/folder' } });
  await session.ended(2);
  await session.send('And now?', { options: { cwd: h.cwd, maxTokens: null } });
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  await session.send('And then?');
  expect(await session.ended(4)).toMatchObject({ terminal: { reason: 'completed' } });
  const notices = (await session.entries()).filter((entry) => entry.kind === 'notice');
  const told = notices.filter(({ notice }) => notice.kind === 'budget_spent');
  expect(told).toEqual([{ kind: 'notice', notice: { kind: 'budget_spent', limit: 'tokens' } }]);
  const [, second] = h.bodies().map((body) => JSON.stringify(body.messages));
  expect(second).toMatch(/its tokens were used up.*Elsewhere\..*And now\?/);
});
