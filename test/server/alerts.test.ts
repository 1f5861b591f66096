// The hooks `waiting` and `failed` on a real server (O17): someone is told that a person is waited
// for, or that a run has ended badly, while nothing waits for the telling.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { HookInput } from '../../activities/hooks/hook-config.ts';
import { fault, reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover, UPDATES, type RunOptions } from '../../workflows/contract/session.ts';
import { harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const touch = (file: string) => toolUse('bash', { command: `touch ${file}` });
const asking: Partial<RunOptions> = { permissionMode: 'default' };
const failing = [fault({ status: 400, message: 'no such thing' })];

type Told = HookInput<'waiting'> | HookInput<'failed'>;

const settled = (session: OpenSession, phase: string) =>
  until(async () => ((await session.memo())?.phase === phase ? true : null));

async function approveAll(session: OpenSession): Promise<void> {
  const memo = await until(async () => ((await session.memo())?.approvals ? await session.memo() : null));
  for (const { call, inputHash } of memo?.approvals ?? [])
    await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
}

const scheduled = async (session: OpenSession): Promise<number> => {
  const { events } = await session.handle.fetchHistory();
  const types = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  return types.filter((type) => type === 'perdure.tellAlert').length;
};

describe('a call that begins to wait for a person', () => {
  test('is told to the hooks `waiting`, each call once, with what a pager needs (O17)', async () => {
    const told: Told[] = [];
    const h = await harness({
      script: [reply([touch('one'), touch('two')]), reply('Done.')],
      worker: { config: { hooks: { waiting: [(input) => void told.push(input)] } } },
    });
    const session = await h.open('Make two files.', asking);
    const calls = () => told.flatMap((input) => (input.hook === 'waiting' ? input.calls : []));
    await until(() => calls().length === 1);
    expect(told[0]).toMatchObject({ hook: 'waiting', session: session.id, title: 'Make two files.', cwd: h.cwd });
    expect(calls()[0]).toMatchObject({
      tool: 'bash',
      reason: expect.stringMatching(/Default mode asks first\.$/),
      call: '1.1.0',
    });
    expect(calls()[0]?.deadline).toBeGreaterThan(calls()[0]?.askedAt ?? Infinity);
    await approveAll(session);
    await until(() => calls().length === 2);
    await approveAll(session);
    await settled(session, 'idle');
    expect(calls().map(({ call }) => call)).toEqual(['1.1.0', '1.1.1']);
    expect(existsSync(join(h.cwd, 'two'))).toBe(true);
    await keepHistory('a wait that was told to hooks (O17)', session.handle);
  });

  test('is decided, and its run ends, while the hook still hangs (O17)', async () => {
    let signal: AbortSignal | undefined;
    const hang = (_: unknown, given: { readonly signal: AbortSignal }) => {
      ({ signal } = given);
      return new Promise<void>(() => undefined);
    };
    const h = await harness({
      script: [reply([touch('made')]), reply('Done.')],
      worker: { config: { hooks: { waiting: [hang] } } },
    });
    const session = await h.open('Go.', asking);
    await until(() => signal ?? null);
    await approveAll(session);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(signal?.aborted).toBe(false);
  });

  test('is told again by the next run after a handover that came first (O17 L4)', async () => {
    let told = 0;
    const hang = (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      told += 1;
      return told > 1 ? undefined : new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    };
    const h = await harness({
      script: [reply([touch('made')]), reply('Done.')],
      worker: { config: { hooks: { waiting: [hang] } } },
      handover: { ...defaultHandover, signals: 2 },
    });
    const session = await h.open('Go.', asking);
    await until(() => told === 1);
    await session.resume();
    await until(() => told > 1);
    await approveAll(session);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(told).toBe(2);
  });
});

describe('a run that ends badly', () => {
  test('is told until each hook has taken it, and to none of them twice (O17)', async () => {
    const told: Told[] = [];
    let tries = 0;
    const flaky = (): void => {
      tries += 1;
      if (tries < 3) throw new Error('the pager is away');
    };
    const logged: string[] = [];
    const h = await harness({
      script: [...failing, reply('Done.')],
      worker: {
        config: { hooks: { failed: [(input) => void told.push(input), { name: 'pager', run: flaky }] } },
        log: (_, message) => void logged.push(message),
      },
    });
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'model_error' } });
    await until(() => (tries === 3 ? true : null));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ hook: 'failed', run: 1, reason: 'model_error', status: 400, cwd: h.cwd });
    expect(logged.filter((line) => line.includes('hook pager of the alert "failed" failed'))).toHaveLength(2);
    await session.send('And now?');
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(told).toHaveLength(1);
    await keepHistory('a bad end that was told to hooks (O17)', session.handle);
  });

  test('is told by a command, also of a run that could not be opened, in a folder that is gone (O17)', async () => {
    const h = await harness({ script: [reply('Done.')], worker: {} });
    const file = join(h.storePlace, '..', 'told.json');
    await h.worker.stop();
    await h.startWorker({ config: { hooks: { failed: [{ command: `cat > ${file}` }] } } });
    rmSync(h.cwd, { recursive: true });
    const session = await h.open('Go.');
    const text = await until(() => (existsSync(file) ? readFileSync(file, 'utf8') : null) || null);
    expect(JSON.parse(text)).toMatchObject({ hook: 'failed', session: session.id, cwd: null, reason: 'model_error' });
  });

  test('is told by another worker when the one that told it stops (O17)', async () => {
    let first = 0;
    let second = 0;
    const hang = (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      first += 1;
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    };
    const h = await harness({ script: failing, worker: { config: { drainMs: 1, hooks: { failed: [hang] } } } });
    const session = await h.open('Go.');
    await session.ended(1);
    await until(() => (first === 1 ? true : null));
    const [stopped] = await Promise.all([
      h.worker.stop(),
      h.startWorker({ config: { hooks: { failed: [{ name: 'hang', run: () => void (second += 1) }] } } }),
    ]);
    expect(stopped).toBeUndefined();
    await until(() => (second === 1 ? true : null));
  });

  test('schedules nothing for a worker without such hooks (O17)', async () => {
    const h = await harness({ script: failing });
    const session = await h.open('Go.');
    await session.ended(1);
    await settled(session, 'idle');
    expect(await scheduled(session)).toBe(0);
  });
});
