// A folder that cannot be captured now, and can later.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { WorkerSnapshots } from '../../../activities/snapshots/snapshots.ts';
import type { RunConfig } from '../../../store/configuration.ts';
import { emptyView } from '../../../store/view/view.ts';
import { DEFAULT_CAPS } from '../../../store/snapshots/take-snapshot.ts';
import { memoryStore } from '../../../store/values/memory-store.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import { findPrograms } from '../../../system/process/programs.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { runStarted, session } from '../../support/transcript.ts';
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

test('without git nothing is captured, which is said once, also to someone who asked for it (T2)', async () => {
  const [root, bin] = [tempFolder(), tempFolder()];
  const lines: string[] = [];
  const found = findPrograms(process.env);
  const programs = { ...found, at: (name: string) => (name === 'git' ? join(bin, name) : found.at(name)) };
  const snapshots = new WorkerSnapshots({
    store: memoryStore(),
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
