// Which runs are captured: as they were told, as the configuration says, and with neither.
import { linkSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openRun } from '../../../activities/run/open-run.ts';
import { emptyView } from '../../../store/view/view.ts';
import type { PerdureConfig } from '../../../worker/config/config.ts';
import { createDeps } from '../../../worker/create-deps.ts';
import { openModelAccess } from '../../../worker/model-access.ts';
import { fakeAttempt, SESSION } from '../../support/bench-deps.ts';
import { tempDir } from '../../support/temp-dir.ts';

async function openWorker(config: PerdureConfig) {
  const above = realpathSync(tempDir());
  const home = join(above, 'home');
  const [cwd, dataDir] = [join(home, 'work'), join(tempDir(), 'data')];
  for (const folder of [cwd, dataDir]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(cwd, 'one'), 'one\n');
  const said: string[] = [];
  const log = (_: string, line: string) => void said.push(line);
  const access = await openModelAccess({ ANTHROPIC_API_KEY: 'key' });
  onTestFinished(() => access.close());
  const env = { PATH: process.env['PATH'], HOME: home };
  const places = { storePlace: join(dataDir, 'store'), liveDir: join(dataDir, 'live'), dataDir };
  const deps = await createDeps({ ...config, ...places, access, env, log });
  onTestFinished(() => deps.snapshots?.close());
  const ids = new Map<string, string>();
  /** Says what is captured as a run begins in a folder; null when nothing is. */
  const begin = async (folder: string, options: { readonly snapshots?: boolean } = {}) => {
    const opened = await openRun(deps)(fakeAttempt(), {
      chain: 'c',
      run: 1,
      step: 1,
      options: { cwd: folder, ...options },
    });
    if (opened.kind !== 'opened') throw new Error(opened.detail);
    const started = { kind: 'run_started', run: 1, config: opened.config, at: 0 } as const;
    const base = { view: emptyView(SESSION), added: [started] };
    const { signal } = new AbortController();
    const opening = await deps.config(opened.config);
    const captured = await deps.snapshots?.capture({ config: opening, head: null, base, signal });
    for (const { root, id } of captured?.roots ?? []) ids.set(root, id);
    return captured?.roots.map(({ root, files }) => `${files} of ${root}`) ?? null;
  };
  return { above, home, cwd, said, begin, idOf: (root: string) => ids.get(root) };
}

test('files are captured unless the configuration or the run says no, and the run has the last word (T2)', async () => {
  const [none, off] = await Promise.all([openWorker({}), openWorker({ snapshots: false })]);
  expect(await none.begin(none.cwd)).toEqual([`1 of ${none.cwd}`]);
  expect(await none.begin(none.cwd, { snapshots: false })).toBeNull();
  expect(await off.begin(off.cwd)).toBeNull();
  expect(await off.begin(off.cwd, { snapshots: true })).toEqual([`1 of ${off.cwd}`]);
  expect([...none.said, ...off.said]).toEqual([]);
});

test('a run begins with a look at everything, which finds what the system does not tell of (T1)', async () => {
  const { above, cwd, begin, idOf } = await openWorker({});
  linkSync(join(cwd, 'one'), join(above, 'linked'));
  await begin(cwd);
  const before = idOf(cwd);
  writeFileSync(join(above, 'linked'), 'two\n');
  await begin(cwd);
  expect(idOf(cwd)).not.toBe(before);
});

test('a home folder, and what is above it, is captured only for someone who asks, and one line says so (T2)', async () => {
  const { above, home, begin, said } = await openWorker({});
  expect(await begin(home)).toBeNull();
  expect(await begin(home)).toBeNull();
  expect(await begin(above)).toBeNull();
  const words = (folder: string) =>
    `files of ${folder} are not captured, for the home folder lies in it: --snapshots captures them`;
  expect(said).toEqual([words(home), words(above)]);
  expect(await begin(home, { snapshots: true })).toEqual([`1 of ${home}`]);
  const asked = await openWorker({ snapshots: {} });
  expect(await asked.begin(asked.home)).toEqual([`1 of ${asked.home}`]);
});
