// F10: commands that do not want to end, in every way of holding them that works here.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { childEnvironment } from '../../../system/process/environment.ts';
import { killTree, type KillResult } from '../../../system/process/kill-tree.ts';
import { spawnTree, type ProcessTree } from '../../../system/process/spawn-tree.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import { unfiltered, workingSandboxes } from '../sandboxes.ts';
import { until } from '../../support/until.ts';
import { processesWith, tempFolder } from '../support.ts';

const sandboxes = await workingSandboxes();

type Started = {
  readonly tree: ProcessTree;
  readonly output: () => string;
  kill(graceMs: number): Promise<KillResult>;
};

async function start(sandbox: Sandbox, command: string): Promise<Started> {
  const cwd = tempFolder();
  const callId = crypto.randomUUID();
  let output = '';
  const env = childEnvironment(process.env, { cwd, callId });
  const tree = await spawnTree(sandbox.wrap(['bash', '-c', command], { cwd }), {
    cwd,
    env,
    pipes: { folder: tempFolder(), programs: sandbox.programs },
    onOutput: (bytes) => void (output += Buffer.from(bytes).toString()),
  });
  const target = { callId, leader: tree.leader, fresh: true };
  const spareLeader = sandbox.kind !== 'group';
  return { tree, output: () => output, kill: (graceMs) => killTree(target, { graceMs, spareLeader }) };
}

/** Seconds nothing else sleeps, to know the processes of a test by. */
let unique = 700_000 + process.pid;

const nasty = [
  ['hangs', 'sleep N & echo ready; wait'],
  ['ignores TERM', `trap '' TERM; (trap '' TERM; sleep N) & echo ready; while :; do sleep N; done`],
  ['double-forks with setsid', 'setsid bash -c "sleep N & sleep N" & echo ready; sleep N'],
  ['double-forks with setsid and ends itself', 'setsid bash -c "(sleep N & sleep N) &" ; echo ready'],
  ['is stopped', 'sleep N & kill -STOP $!; echo ready; kill -STOP $$; sleep N'],
] as const;

test.each(
  sandboxes.flatMap((sandbox) => nasty.map(([what, command]) => ({ kind: sandbox.kind, sandbox, what, command }))),
)('nothing is left of a command that $what, held by $kind (L48 F10)', async ({ sandbox, command }) => {
  const mark = `sleep\0${++unique}`;
  const { output, kill } = await start(sandbox, command.replaceAll('N', String(unique)));
  await until(() => output().includes('ready'));
  expect((await kill(200)).left).toBe(0);
  await until(async () => (await processesWith(mark)).length === 0);
});

const wrapped = sandboxes.filter(({ kind }) => kind !== 'group');

test.each(wrapped)(
  '$kind also ends what hides: another session, no environment, no parent (L48 F10)',
  async (sandbox) => {
    const mark = `sleep\0${++unique}`;
    const { output, kill } = await start(sandbox, `setsid env -i setsid sleep ${unique} & echo ready; sleep 600`);
    await until(async () => output().includes('ready') && (await processesWith(mark)).length > 0);
    await kill(100);
    await until(async () => (await processesWith(mark)).length === 0);
  },
);

test.each(wrapped)('$kind ends a command whose worker is killed outright (F1)', async (sandbox) => {
  const mark = `sleep\0${++unique}`;
  const command = ['bash', '-c', `setsid env -i setsid sleep ${unique} & sleep 600`];
  const argv = unfiltered(sandbox.wrap(command, { cwd: tempFolder() }));
  const script = `require('child_process').spawn(process.argv[1], process.argv.slice(2), { detached: true, stdio: 'ignore' })`;
  const worker = spawn(process.execPath, ['-e', script, ...argv], { stdio: 'ignore' });
  await until(async () => (await processesWith(mark)).length > 0);
  worker.kill('SIGKILL');
  await until(async () => (await processesWith(mark)).length === 0);
});

test.each(sandboxes)('$kind lets a command clean up on SIGTERM, and runs nothing after it', async (sandbox) => {
  const { tree, output, kill } = await start(
    sandbox,
    `trap 'echo cleaned; exit 0' TERM; echo ready; sleep 600 & wait; echo after`,
  );
  await until(() => output().includes('ready'));
  await kill(3_000);
  await tree.drained;
  expect(output()).toBe('ready\ncleaned\n');
});

test.each(sandboxes)('$kind runs no further command of a list whose first was ended by SIGTERM', async (sandbox) => {
  const { tree, output, kill } = await start(sandbox, 'echo ready; sleep 600; echo after');
  await until(() => output().includes('ready'));
  await kill(3_000);
  await tree.drained;
  expect(output()).toBe('ready\n');
});

test('a process of our own that is no part of the tree is left alone', async () => {
  const [one, other] = await Promise.all([0, 1].map(() => start(sandboxes.at(-1) as Sandbox, 'echo ready; sleep 600')));
  await until(() => one?.output() === 'ready\n' && other?.output() === 'ready\n');
  await one?.kill(200);
  expect(readFileSync(`/proc/${other?.tree.leader.pid}/stat`, 'utf8')).not.toContain(') Z');
  await other?.kill(0);
});
