// Runs that do not go on are told to the hooks `silent` of one worker, once.
import { expect, onTestFinished, test } from 'vitest';
import type { HookInput } from '../../../activities/hooks/hook-config.ts';
import { watchSilence } from '../../../cli/with-staying-worker.ts';
import type { SessionActivity, RunningState } from '../../../client/sessions/running/running-row.ts';
import type { Store } from '../../../store/values/store.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { createSilenceTeller } from '../../../worker/silence-teller.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { until } from '../../support/until.ts';
import { description } from '../support.ts';
import { runner } from '../../activities/hooks/support.ts';

type Told = HookInput<'silent'>;

/** Workers that share a store, and look at sessions that gave their last sign then. */
function stagedSilence(
  hook: (input: Told) => void,
  lastSigns: Readonly<Record<string, number>>,
  {
    workers = 1,
    doing = [],
    create,
  }: Partial<{ workers: number; doing: readonly SessionActivity[]; create: Store['create'] }> = {},
) {
  const [store, logged, asked]: [ReturnType<typeof memoryStore>, string[], string[]] = [memoryStore(), [], []];
  const config = { silent: [{ name: 'pager', afterMs: 60_000, run: hook }] };
  const hooks = runner(config);
  const teller = createSilenceTeller(config, {
    hooks,
    store: { create: create ?? store.create },
    log: (_, line) => logged.push(line),
  });
  const list = async function* ({ filter = '' } = {}) {
    asked.push(filter);
    for (const [session, lastSign] of Object.entries(lastSigns))
      yield await Promise.resolve(
        description({
          session: session as SessionId,
          title: `Task of ${session}`,
          phase: 'running',
          running: { doing, model: null, lastSign } as unknown as RunningState,
        }),
      );
  };
  for (let at = 0; at < workers; at += 1)
    onTestFinished(watchSilence({ sessions: { list }, teller, say: (line) => logged.push(line), everyMs: 1 }));
  return { logged, asked };
}

test('a run that gave no sign for the time of a hook is told once, whichever workers look (O14)', async () => {
  const told: Told[] = [];
  const lastSigns: Record<string, number> = { 's-old': Date.now() - 90_000, 's-new': Date.now() - 30_000 };
  const { asked } = stagedSilence((input) => void told.push(input), lastSigns, { workers: 3 });
  await until(() => told.length === 1 && asked.length > 20);
  const [{ hook, session, title, silentMs, doing }] = told as [Told];
  expect([hook, session, title, silentMs >= 90_000, doing]).toEqual(['silent', 's-old', 'Task of s-old', true, null]);
  expect(asked[0]).toBe('phase:running idle>60s');
  // It went on, and fell silent again.
  lastSigns['s-old'] = Date.now() - 61_000;
  await until(() => told.length === 2);
});

test('a hook that fails is told again, and its failure is a line of the log (O14)', async () => {
  let tries = 0;
  const fail = (): void => {
    tries += 1;
    if (tries === 1) throw new Error('no network');
  };
  const { logged } = stagedSilence(fail, { 's-1': 0 });
  await until(() => tries === 2);
  expect(logged).toEqual([expect.stringContaining('hook pager of the alert "silent" failed')]);
});

test('a run that waits for its agents is not told of, for they are looked at themselves (O14)', async () => {
  const told: Told[] = [];
  const waits = { kind: 'agents', step: null, since: 0, attempt: 1, agents: 1 } as unknown as SessionActivity;
  const { asked } = stagedSilence((input) => void told.push(input), { 's-parent': 0 }, { doing: [waits] });
  await until(() => asked.length > 5);
  expect(told).toEqual([]);
});

test('a store that cannot be written to is a line for people, and the looks go on (O14)', async () => {
  const create = () => Promise.reject(new Error('no space left on the disk'));
  const { logged, asked } = stagedSilence(() => undefined, { 's-1': 0, 's-2': 0 }, { create });
  await until(() => logged.length > 4 && asked.length > 2);
  expect(new Set(logged)).toEqual(
    new Set(['s-1', 's-2'].map((id) => `silent run ${id} cannot be told: no space left on the disk`)),
  );
});

test('without such a hook nothing is looked at (O14)', () => {
  expect(createSilenceTeller({ waiting: [] }, {} as never)).toBeNull();
});
