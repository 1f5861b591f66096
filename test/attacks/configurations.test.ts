// A configuration guards the sessions that are begun with it: no other worker of the data folder
// works on them.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { query, type Query } from '../../client/runtime/query.ts';
import { workAlone } from '../../client/runtime/session-workers.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { forItsProgram } from '../../workflows/contract/task-queue.ts';
import type { Connected } from '../../connection/connect-client.ts';
import type { EmbeddedServer } from '../../worker/embedded/join-server.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';
import { until } from '../support/until.ts';

const touch = reply([toolUse('bash', { command: 'touch made' })]);

const GUARD = `export default {
  permissionMode: 'bypass',
  hooks: { preTool: [{ name: 'guard', run: () => ({ decision: 'deny', reason: 'the guard says no' }) }] },
};`;

/** A place, with a file whose hook denies every call. */
async function guardedPlace(script: Parameters<typeof modelFor>[0]) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  const config = join(place.root, 'guarded.mjs');
  writeFileSync(config, GUARD);
  const made = (): boolean => existsSync(join(place.cwd, 'made'));
  /** Whether the guard's word came back to the model in its request `n`, from 0. */
  const denied = (n: number): boolean => JSON.stringify(model.requests[n]?.body).includes('the guard says no');
  const worker = async (...args: readonly string[]) => {
    const started = place.start(['worker', ...args]);
    await until(() => started.out().includes('ready'));
    return started;
  };
  return { ...place, config, made, denied, worker };
}

async function ended(asking: Query) {
  const events = query(asking);
  for (;;) {
    const next = await events.next();
    if (next.done === true) return next.value;
  }
}

const deny = { name: 'guard', run: () => ({ decision: 'deny', reason: 'the guard says no' }) as const };
const guarded = (): PerdureConfig => ({ permissionMode: 'bypass', hooks: { preTool: [deny] } });

test.each(['--config', 'PERDURE_CONFIG'])(
  'hooks of `run` with %s are asked beside a worker that stays without them (L33 L57)',
  async (how) => {
    const { worker, start, config, made, denied } = await guardedPlace([touch, reply('Denied.')]);
    await worker();
    const run =
      how === '--config'
        ? start(['run', '--config', config, 'Go.'])
        : start(['run', 'Go.'], { env: { PERDURE_CONFIG: config } });
    expect({ status: await run.status, said: run.err() }).toMatchObject({ status: 0 });
    expect(denied(1)).toBe(true);
    expect(made()).toBe(false);
  },
);

test('hooks of query({ config }) are asked beside a worker without them, and so are those of a later query (L33 L52)', async () => {
  oneRuntime();
  const { worker, cwd, env, made, denied } = await guardedPlace([
    touch,
    reply('Denied.'),
    touch,
    reply('Denied again.'),
  ]);
  await worker();
  const first = await ended({ prompt: 'Go.', options: { cwd, env, config: guarded() } });
  expect(first).toMatchObject({ reason: 'completed', text: 'Denied.' });
  expect(denied(1)).toBe(true);
  const { sessionId: session } = first;
  const second = await ended({ prompt: 'Again.', options: { cwd, env, session, config: guarded() } });
  expect(second).toMatchObject({ sessionId: session, reason: 'completed', text: 'Denied again.' });
  expect(denied(3)).toBe(true);
  expect(made()).toBe(false);
});

test('a session waits for a worker with its configuration, says so, can be decided and stopped, and goes on (L33 L57)', async () => {
  const { worker, start, run, config, made, denied } = await guardedPlace([touch, reply('Denied.')]);
  const begun = start(['start', '--config', config, 'Go.']);
  expect(await begun.status).toBe(0);
  const session = begun.out().trim();
  const waits = `session ${session} waits for a worker with the configuration ${config}, and none runs: start one with \`perdure worker --config ${config}\``;
  expect(begun.err()).toContain(waits);
  const other = await worker();
  const watched = await run('watch', session);
  expect(watched).toMatchObject({ status: 1, err: expect.stringContaining(waits) as string });
  expect((await run('send', session, 'Quick.')).err).toContain(waits);
  expect((await run('list', '--json')).out).toContain(session);
  other.signal('SIGTERM');
  await other.status;
  await worker('--config', config);
  const again = await run('watch', '--json', session);
  expect(jsonLines(again.out).at(-1)).toMatchObject({ reason: 'completed', text: 'Denied.' });
  expect(denied(1)).toBe(true);
  expect(made()).toBe(false);
});

test('a session that waits for its configuration is cancelled without it, beside a worker that stays (L47 L49)', async () => {
  const { worker, start, run, config, made } = await guardedPlace([touch, reply('Denied.')]);
  const begun = start(['start', '--config', config, 'Go.']);
  await begun.status;
  await worker();
  const session = begun.out().trim();
  expect(await run('cancel', session)).toMatchObject({ status: 0 });
  expect(jsonLines((await run('list', '--json')).out)[0]).toMatchObject({ session, status: 'cancelled' });
  expect(made()).toBe(false);
});

test('a configuration that could not hold for a session is refused, not passed over (L57)', async () => {
  oneRuntime();
  const { run, start, config, root, cwd, env } = await guardedPlace([reply('Done.')]);
  const other = join(root, 'other.mjs');
  writeFileSync(other, GUARD);
  const plain = (await run('start', 'Go.')).out.trim();
  const begun = start(['start', '--config', config, 'Go.']);
  await begun.status;
  const session = begun.out().trim();
  const asked = [await run('watch', '--config', config, plain), await run('watch', '--config', other, session)];
  expect(asked.map(({ status }) => status)).toEqual([2, 2]);
  expect(asked[0]?.err).toContain(`session ${plain} was begun without a configuration of its own`);
  expect(asked[1]?.err).toContain(`session ${session} was begun with the configuration ${config}, and another one`);
  await expect(ended({ prompt: 'Go.', options: { cwd, env, session: plain, config: guarded() } })).rejects.toThrow(
    `session ${plain} was begun without a configuration of its own`,
  );
});

test('workers of a name share sessions: one from a program goes on with `perdure worker --config` of that name (L33 L57)', async () => {
  oneRuntime();
  const { worker, run, root, cwd, env, made, denied } = await guardedPlace([touch, reply('Denied.'), reply('Later.')]);
  const config = join(root, 'named.mjs');
  writeFileSync(config, GUARD.replace('{', "{ name: 'careful',"));
  const named = { name: 'careful', ...guarded() };
  const { sessionId: session } = await ended({ prompt: 'Go.', options: { cwd, env, config: named } });
  expect(denied(1)).toBe(true);
  expect((await run('send', session, 'More.')).err).toContain(`a worker with the configuration "careful"`);
  await worker('--config', config);
  const watched = await run('watch', '--json', session);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ reason: 'completed', text: 'Later.' });
  expect(made()).toBe(false);
});

test('of two that give a session a nameless configuration at once, one is refused: theirs need not be the same (L52 L57)', async () => {
  const session = 's-1';
  const workers = forItsProgram(session);
  const [mine, other] = [guarded(), guarded()];
  const opened = (...pids: readonly number[]): Parameters<typeof workAlone>[0] => ({
    embedded: { otherWorkers: () => pids.map((pid) => ({ pid })) } as unknown as EmbeddedServer,
    temporal: {} as Connected,
  });
  const alone = (config: PerdureConfig, ...pids: readonly number[]) =>
    workAlone(opened(...pids), session, { workers, config });
  await expect(alone(mine, process.pid + 1)).rejects.toThrow(
    `session ${session} is worked on with a configuration that`,
  );
  const letGo = await alone(mine);
  const again = await alone(mine, process.pid);
  await expect(alone(other, process.pid)).rejects.toThrow('give both configurations one name');
  letGo();
  again();
  (await alone(other))();
});
