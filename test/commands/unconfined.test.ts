// What happens, and what a person is told, where bubblewrap does not work.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { MAY_NOT_MOUNT } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

const program = join(import.meta.dirname, '../../bin/perdure.mjs');
/** Runs a program where bubblewrap does not work. */
const without = [
  '-m',
  'sh',
  '-c',
  'for p in /usr/bin/bwrap; do test ! -e $p || mount --bind /bin/false $p || exit 9; done; exec "$@"',
  'sh',
];
const cannot = existsSync('/usr/bin/bwrap') && spawnSync('unshare', [...without, 'true']).status !== 0;

const touches = reply([toolUse('bash', { command: 'touch made' })]);

async function placeOf() {
  const place = cliPlace(await modelFor([touches, reply('Done.'), touches, reply('Done.')]));
  const { cwd, env } = place;
  const start = (...args: readonly string[]) => {
    const child = spawn('unshare', [...without, process.execPath, program, ...args], { cwd, env });
    onTestFinished(() => void child.kill('SIGKILL'));
    const said = { out: '', err: '' };
    child.stdout.on('data', (bytes: Buffer) => (said.out += bytes.toString()));
    child.stderr.on('data', (bytes: Buffer) => (said.err += bytes.toString()));
    const status = new Promise<number | null>((resolve) => child.once('close', resolve));
    return { said, status, end: () => child.kill('SIGTERM') };
  };
  const run = async (...args: readonly string[]) => {
    const { said, status } = start(...args);
    return { status: await status, ...said };
  };
  return { ...place, start, run, isMade: () => existsSync(join(cwd, 'made')) };
}

const count = (text: string, words: string): number => text.split(words).length - 1;
const REFUSED = 'commands are refused here, because bubblewrap';
const task = ['run', '--permission-mode', 'bypass'] as const;

describe.skipIf(cannot)(`a worker without bubblewrap (${MAY_NOT_MOUNT})`, () => {
  test('refuses a command, says so once to the person and to the model, and starts nothing', async () => {
    const { run, isMade } = await placeOf();
    const { status, out, err } = await run(...task, '--json', 'Go.');
    expect([status, count(err, REFUSED), isMade()]).toEqual([0, 1, false]);
    expect(err).toContain('let commands run unconfined with --unconfined, or with `sandbox: { unconfined: true }`');
    expect(out).toContain(`Not run: ${REFUSED}`);
  });

  test('runs it with --unconfined or by the person’s own configuration, and says what that means', async () => {
    const { run, isMade, env, cwd } = await placeOf();
    const flagged = await run(...task, '--unconfined', 'Go.');
    expect([flagged.status, count(flagged.err, REFUSED), isMade()]).toEqual([0, 0, true]);
    expect(flagged.err).toContain("commands aren't confined here, as you allowed: an agent that may run one can read");
    // The same file in the workspace says nothing.
    const text = 'export default { memory: false, snapshots: false, sandbox: { unconfined: true } };';
    writeFileSync(join(cwd, 'perdure.config.mjs'), text);
    expect((await run('doctor')).out).toMatch(/missing +sandbox +refused: Commands are refused here/);
    writeFileSync(join(env['XDG_CONFIG_HOME'] ?? '', 'perdure', 'perdure.config.mjs'), text);
    expect((await run('doctor')).out).toMatch(/note +sandbox +unconfined: Shell commands run unconfined/);
    expect((await run(...task, 'Go.')).err).toContain("commands aren't confined here, as you allowed");
  });

  test('says in its first line and in its metric which holds, and no run beside it says otherwise', async () => {
    const { start, run } = await placeOf();
    for (const [flags, line, metric] of [
      [[], `tools: Commands are refused here`, 'perdure_unconfined{commands="refused"'],
      [['--unconfined'], 'tools: Shell commands run unconfined', 'perdure_unconfined{commands="unconfined"'],
    ] as const) {
      const { said, status, end } = start('worker', '--metrics', '0', ...flags);
      await until(() => said.out.includes('ready'));
      expect(said.err).toContain(line);
      const url = /metrics (http:[^,\s]+)/.exec(said.err)?.[1] ?? '';
      const found = (await (await fetch(url)).text()).split('\n').find((each) => each.startsWith(metric));
      expect(found).toMatch(flags.length === 0 ? / 0$/ : / 1$/);
      const beside = await run(...task, '--unconfined', 'Go.');
      expect([beside.status, beside.err]).toEqual([
        2,
        expect.stringContaining('a worker that stays runs the commands'),
      ]);
      end();
      expect(await status).toBe(0);
    }
  });
});

test('with bubblewrap nothing is said of it', async ({ skip }) => {
  skip(!existsSync('/usr/bin/bwrap'), 'needs bubblewrap');
  const { err } = await cliPlace(await modelFor([reply('Done.')])).run('run', 'Go.');
  expect(err).not.toMatch(/confined|refused/);
});
