// A folder that cannot be captured now, and can later.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CapturePool } from '../../../activities/snapshots/capture-pool.ts';
import { WorkerSnapshots } from '../../../activities/snapshots/snapshots.ts';
import type { CallRunner } from '../../../activities/calls/call-port.ts';
import type { RunConfig } from '../../../store/configuration.ts';
import type { Entry } from '../../../store/log/entries.ts';
import type { FilesEntry } from '../../../store/snapshots/files-entry.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { emptyView, type View } from '../../../store/view/view.ts';
import { DEFAULT_CAPS } from '../../../store/snapshots/take-snapshot.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import { findPrograms } from '../../../system/process/programs.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import type { SessionHost } from '../../../workflows/contract/session.ts';
import {
  appendSegment,
  callBlock,
  files,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  session,
  stored,
  user,
} from '../../support/transcript.ts';
import { tempFolder } from '../../tools/support.ts';

test('a folder that cannot be captured is told of once, and is captured a minute after that has changed (T2)', async () => {
  const [root, dataDir] = [tempFolder(), tempFolder()];
  writeFileSync(join(root, 'one'), '1\n');
  const inTheWay = join(dataDir, 'snapshots');
  writeFileSync(inTheWay, 'not a folder');
  const lines: string[] = [];
  let time = 0;
  const snapshots = new WorkerSnapshots({
    store: memoryStore(),
    storeId: () => Promise.resolve('store-1'),
    sandbox: await probeSandbox({ kinds: ['group'] }),
    dataDir,
    host: undefined,
    env: {},
    setting: true,
    home: tempFolder(),
    caps: DEFAULT_CAPS,
    tools: { bind: () => expect.unreachable() },
    log: (_level, line) => void lines.push(line),
    now: () => time,
  });
  onTestFinished(() => snapshots.close());
  const config = { session, cwd: root } as RunConfig;
  const { signal } = new AbortController();
  const capture = () =>
    snapshots.capture({ config, head: null, base: { view: emptyView(session), added: [runStarted(1)] }, signal });
  expect(await capture()).toBe(null);
  time += 60_000;
  expect(await capture()).toBe(null);
  expect(lines).toEqual([expect.stringContaining(`files of ${root} are not captured: `)]);
  rmSync(inTheWay);
  time += 59_000;
  expect(await capture()).toBe(null);
  time += 1_000;
  expect(await capture()).toMatchObject({ roots: [{ root, files: 1 }] });
  expect(lines).toHaveLength(1);
});

test('where the repository was removed, captures go on in a new one (T2)', async () => {
  const [root, dataDir, sandbox] = [tempFolder(), tempFolder(), await probeSandbox()];
  const pool = new CapturePool({ sandbox, dataDir, log: () => undefined });
  onTestFinished(() => pool.close());
  const place = placeOfRoot(dataDir, session, root);
  const request = { place, git: sandbox.programs.at('git'), caps: DEFAULT_CAPS, include: [], before: null };
  writeFileSync(join(root, 'one'), '1\n');
  const first = await pool.capture(request);
  rmSync(place.gitDir, { recursive: true });
  expect((await pool.capture(request)).id).toBe(first.id);
  expect(existsSync(join(place.gitDir, place.ref))).toBe(true);
});

test('without git nothing is captured, which is said once, also to someone who asked for it (T2)', async () => {
  const [root, bin] = [tempFolder(), tempFolder()];
  const lines: string[] = [];
  const found = findPrograms(process.env);
  const programs = { ...found, at: (name: string) => (name === 'git' ? join(bin, name) : found.at(name)) };
  const snapshots = new WorkerSnapshots({
    store: memoryStore(),
    storeId: () => Promise.resolve('store-1'),
    sandbox: { ...(await probeSandbox({ kinds: ['group'] })), programs },
    dataDir: tempFolder(),
    host: undefined,
    env: {},
    setting: undefined,
    home: tempFolder(),
    caps: DEFAULT_CAPS,
    tools: { bind: () => expect.unreachable() },
    log: (level, line) => void lines.push(`${level}: ${line}`),
    now: () => 0,
  });
  onTestFinished(() => snapshots.close());
  const { signal } = new AbortController();
  const capture = (config: Partial<RunConfig>) =>
    snapshots.capture({
      config: { session, cwd: root, ...config } as RunConfig,
      head: null,
      base: { view: emptyView(session), added: [runStarted(1)] },
      signal,
    });
  expect(await capture({})).toBe(null);
  expect(await capture({ session: 's-2' as SessionId, cwd: tempFolder() })).toBe(null);
  expect(await capture({ session: 's-3' as SessionId, snapshots: true })).toBe(null);
  expect(lines).toEqual(['info: files are not captured, for git is not installed']);
});

/** Captures one folder of a session, step by step as a run does. */
async function openSession({ host, now = () => 0 }: { readonly host?: SessionHost; readonly now?: () => number } = {}) {
  const root = tempFolder();
  const bound: string[] = [];
  const snapshots = new WorkerSnapshots({
    store: memoryStore(),
    storeId: () => Promise.resolve('store-1'),
    sandbox: await probeSandbox({ kinds: ['group'] }),
    dataDir: tempFolder(),
    host,
    env: {},
    setting: true,
    home: tempFolder(),
    caps: DEFAULT_CAPS,
    tools: {
      bind: (_config, { id, name }) => {
        bound.push(id);
        return { traits: () => ({ safe: name === 'read' }) } as ReturnType<CallRunner['bind']>;
      },
    },
    log: () => undefined,
    now,
  });
  onTestFinished(() => snapshots.close());
  const config = { session, cwd: root } as RunConfig;
  const { signal } = new AbortController();
  return {
    root,
    bound,
    capture: (view: View, ...added: readonly Entry[]) =>
      snapshots.capture({ config, head: null, base: { view, added }, signal }),
    captureEarly: (head: Hash, view: View) => snapshots.captureEarly({ config, head, view, files: null }),
    captureAfter: (head: Hash, view: View, ...added: readonly Entry[]) =>
      snapshots.capture({ config, head, base: { view, added }, signal }),
    /** `at`: the id of the host that has the session. */
    captureLast: (view: View, added: readonly Entry[], at?: string) =>
      snapshots.captureLast({ config, head: null, base: { view, added }, host: at, signal }),
  };
}

const writes = (id: string): Entry => reply([callBlock(id, {}, 'write')]);
const reads = (id: string): Entry => reply([callBlock(id, {}, 'read')]);

test('changes whose step fails are captured by the next attempt, and by the end of the run (T1)', async () => {
  const { root, capture, captureLast } = await openSession();
  const store = memoryStore();
  const first = await capture(emptyView(session), runStarted(1));
  let view = await stored(store, [runStarted(1), user('go'), writes('one'), first as FilesEntry]);
  writeFileSync(join(root, 'one'), '1\n');
  const done = outcomes(outcome(0, 'written'));
  // The model's answer to each of these attempts is a failure.
  for (let attempt = 1; attempt <= 3; attempt += 1)
    expect(await capture(view, done)).toMatchObject({ roots: [{ added: 1, names: ['one'] }] });
  const ended = await captureLast(view, [done, runEnded(1)]);
  expect(ended).toMatchObject({ roots: [{ added: 1, names: ['one'] }] });
  view = await appendSegment(store, view, [done, runEnded(1), ended as FilesEntry]);
  expect(await capture(view, runStarted(2))).toBe(null);
});

test('each call is judged once, and a step that only reads is not looked at (T14)', async () => {
  const { root, bound, capture } = await openSession();
  const store = memoryStore();
  let view = await stored(store, [runStarted(1), user('go')]);
  const first = await capture(view);
  view = await appendSegment(store, view, [reads('0'), first as FilesEntry]);
  for (let step = 1; step <= 50; step += 1) {
    // Someone else changes files: a step without an effect does not find it.
    writeFileSync(join(root, 'theirs'), `${step}\n`);
    expect(await capture(view, outcomes(outcome(0, 'read')))).toBe(null);
    view = await appendSegment(store, view, [outcomes(outcome(0, 'read')), reads(`${step}`)]);
  }
  expect(bound).toEqual(Array.from({ length: 50 }, (_, at) => `${at}`));
});

test('a worker that begins anew judges the calls since the last capture that is stored (T1)', async () => {
  const [before, after] = [await openSession(), await openSession()];
  const store = memoryStore();
  const view = await stored(store, [runStarted(1), user('go'), reads('0'), files(before.root), reads('1')]);
  expect(await after.capture(view, outcomes(outcome(0, 'read')))).toBe(null);
  expect(after.bound).toEqual(['0', '1']);
});

test('a host that no longer has the session does not capture it at the end of a run (T19)', async () => {
  const here = { id: 'here', name: 'host-one' };
  const { root, captureLast } = await openSession({ host: here });
  const view = await stored(memoryStore(), [runStarted(1), user('go'), files(root), writes('one')]);
  writeFileSync(join(root, 'one'), '1\n');
  const end = [outcomes(outcome(0, 'written')), runEnded(1)];
  expect(await captureLast(view, end, 'elsewhere')).toBe(null);
  expect(await captureLast(view, end, here.id)).toMatchObject({ host: 'here', roots: [{ root }] });
});

test('a capture has the time at which it began, also where that was before its step (T1 T18)', async () => {
  let time = 1;
  const { root, capture, captureEarly, captureAfter } = await openSession({ now: () => time });
  const first = capture(emptyView(session), runStarted(1));
  time = 2;
  expect(await first).toMatchObject({ at: 1 });
  const view = await stored(memoryStore(), [runStarted(1), user('go'), writes('one'), (await first) as FilesEntry]);
  writeFileSync(join(root, 'one'), '1\n');
  const head = 'a'.repeat(64) as Hash;
  captureEarly(head, view);
  time = 3;
  expect(await captureAfter(head, view, outcomes(outcome(0, 'written')))).toMatchObject({ at: 2 });
});
