// A host that comes back after its sessions have moved (T19): it ends what it has running for them,
// writes nothing, and keeps their folders as they are.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { HostedSessions } from '../../store/hosted-sessions.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { jsonLines, modelFor, readyWorker } from '../support/cli.ts';
import { faultyProxy } from '../support/faulty-proxy.ts';
import { hideWorkspace, hostCluster, readFile, writes } from '../support/host-cluster.ts';
import { until } from '../support/until.ts';

test('a host that comes back finds that its session has moved, and captures the folder as it is in its place (T19)', async () => {
  const model = await modelFor([writes('a'), reply('One.'), writes('b'), reply('Two.'), reply('Three.')]);
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const id = (await one.run('start', '--permission-mode', 'bypass', 'make it')).out.trim() as SessionId;
  expect(jsonLines((await one.run('watch', '--json', id)).out).at(-1)).toMatchObject({ text: 'One.' });
  first.signal('SIGKILL');
  await first.status;
  writeFileSync(join(one.cwd, 'unseen'), 'a person wrote this\n');
  const hidden = hideWorkspace(one);
  const second = await readyWorker(two);
  expect(await two.run('send', id, 'more')).toMatchObject({ status: 0 });
  expect(jsonLines((await two.run('watch', '--json', id)).out).at(-1)).toMatchObject({ text: 'Two.' });
  expect([readFile(one, 'a'), readFile(one, 'b')]).toEqual(['a\n', 'b\n']);
  // The disk of the first host is back, and the second one keeps its own.
  rmSync(one.cwd, { recursive: true });
  renameSync(hidden, one.cwd);
  const back = await readyWorker(one);
  const hosted = new HostedSessions(one.data);
  const { lost } = await until(() => (hosted.read(id)?.lost ? hosted.read(id) : null));
  expect(lost).toMatchObject({
    to: 'host-two',
    snapshots: [{ root: one.cwd, id: expect.stringMatching(/^[0-9a-f]{40}$/) }],
  });
  await until(() => back.err().includes(`session ${id} works on host host-two now`));
  expect([readFile(one, 'unseen'), existsSync(join(one.cwd, 'b'))]).toEqual(['a person wrote this\n', false]);
  const list = async (...flags: readonly string[]) => (await one.run('list', '--lost-folders', ...flags)).out;
  expect(jsonLines(await list('--json'))).toMatchObject([
    {
      session: id,
      folders: [one.cwd],
      host: 'host-two',
      isBack: false,
      isStored: false,
      changes: { files: 2, insertions: 1, deletions: 1 },
    },
  ]);
  expect(await list()).toMatch(new RegExp(`^${id} +host-two .* \\+1 −1 +no +${one.cwd}$`, 'm'));
  expect((await one.run('diff', id, '--lost', '--stat')).out).toMatch(/added b .*\ndeleted unseen /);
  expect((await two.run('diff', id, '--lost')).err).toContain('was not left with a captured folder');
  expect(await one.run('list', '--lost-folders', '--forget', id)).toMatchObject({ status: 0 });
  expect(await list('--json')).toBe('');
  for (const worker of [second, back]) worker.signal('SIGTERM');
  expect(await Promise.all([second.status, back.status])).toEqual([0, 0]);
});

/** Freezes a worker at some moment of its call, moves its session, and thaws it. */
async function frozen(command: string, when: 'claimed' | 'running') {
  const model = await modelFor([writes('a'), reply([toolUse('bash', { command })]), reply('All done.')]);
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  let freeze = (): void => undefined;
  const proxy = await faultyProxy(String(one.env['AWS_ENDPOINT_URL_S3']), {
    fault: ({ method, path }) => {
      if (method === 'PUT' && /\/calls\//.test(path) && model.requests.length === 2) freeze();
      return null;
    },
  });
  one.env['AWS_ENDPOINT_URL_S3'] = proxy.endpoint;
  const first = await readyWorker(one);
  let isFrozen = false;
  const stopFirst = (): void => {
    isFrozen = true;
    process.kill(first.pid, 'SIGSTOP');
  };
  if (when === 'claimed') freeze = stopFirst;
  const id = (await one.run('start', '--permission-mode', 'bypass', 'make it')).out.trim();
  if (when === 'running') {
    await until(() => existsSync(join(one.cwd, 'begun')));
    stopFirst();
  }
  await until(() => isFrozen);
  const hidden = hideWorkspace(one);
  const second = await readyWorker(two);
  const watched = await two.run('watch', '--json', id);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ reason: 'completed', text: 'All done.' });
  const [transcript, requests] = [(await two.run('show', '--json', id)).out, proxy.passed.length];
  process.kill(first.pid, 'SIGCONT');
  await until(() => first.err().includes(`session ${id} works on host host-two now`));
  first.signal('SIGTERM');
  expect(await first.status).toBe(0);
  expect((await two.run('show', '--json', id)).out).toBe(transcript);
  // A value that no record names is nothing, and so is a record that is refused: it is there already.
  const written = proxy.passed
    .slice(requests)
    .filter(({ method, path, status }) => method === 'PUT' && path.includes('/keys/') && status === 200)
    // It may note beside its own claim that it was cut off.
    .filter(({ path }) => !path.endsWith('.stopped'));
  const result = {
    written,
    hidden,
    cwd: one.cwd,
    outcomes: JSON.stringify(model.requests[2]),
    models: model.requests.length,
  };
  second.signal('SIGTERM');
  await second.status;
  return result;
}

test('a host that was frozen while its session moved stores nothing and begins no effect when it thaws (T19 L39 L47)', async () => {
  const [claimed, running] = await Promise.all([
    frozen('echo once >> effect', 'claimed'),
    frozen('touch begun; echo once >> effect; sleep 600; echo late >> effect', 'running'),
  ]);
  expect(claimed).toMatchObject({ written: [], models: 3 });
  for (const folder of [claimed.hidden, claimed.cwd]) expect(existsSync(join(folder, 'effect'))).toBe(false);
  expect(running).toMatchObject({ written: [], models: 3 });
  expect(readFileSync(join(running.hidden, 'effect'), 'utf8')).toBe('once\n');
  expect(existsSync(join(running.cwd, 'effect'))).toBe(false);
  for (const { outcomes } of [claimed, running]) expect(outcomes).toMatch(/outcome unknown/);
});
