// Where bubblewrap does not work, commands of agents are refused unless a person has allowed them.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createHookRunner } from '../../activities/hooks/hook-runner.ts';
import { createBackground } from '../../tools/builtin/shell/background.ts';
import { createBuiltinTools } from '../../tools/builtin/builtin-tools.ts';
import { commandNotice, commandPolicy, probeSandbox } from '../../tools/sandbox.ts';
import { findPrograms } from '../../system/process/programs.ts';
import { hookContext } from '../activities/hooks/support.ts';
import { openTestServers, oddServer } from '../support/mcp/servers.ts';
import { workingSandboxes } from './sandboxes.ts';
import { tempFolder, toolContext } from './support.ts';

const found = findPrograms(process.env);
/** Every program of this machine but for bubblewrap. */
const without = { ...found, at: (name: string) => (name === 'bwrap' ? '/nowhere/bwrap' : found.at(name)) };
const refusing = await probeSandbox({ programs: without });
const SENTENCE =
  'commands are refused here, because bubblewrap, which confines them, is missing: install it, or let commands run ' +
  'unconfined with --unconfined, or with `sandbox: { unconfined: true }` in your own configuration';

test('one sentence says what is missing and what to do, and a permission lets commands run', async () => {
  expect([refusing.refusal, commandPolicy(refusing), commandNotice(refusing)]).toEqual([SENTENCE, 'refused', SENTENCE]);
  expect(refusing.describe).toBe(`C${SENTENCE.slice(1)}.`);
  const allowed = await probeSandbox({ programs: without, unconfined: true });
  expect([allowed.refusal, commandPolicy(allowed)]).toEqual([null, 'unconfined']);
  expect(commandNotice(allowed)).toMatch(/^commands aren't confined here, as you allowed: .* read Perdure's keys/);
  expect(allowed.describe).toMatch(/^Shell commands run unconfined, in /);
});

test('bubblewrap that cannot do its work is named with its own words, and with what would help', async () => {
  const failing = (words: string) => {
    const program = join(tempFolder(), 'bwrap');
    writeFileSync(program, `#!/bin/sh\necho "bwrap: ${words}" >&2\nexit 1\n`, { mode: 0o755 });
    return probeSandbox({ programs: { ...found, at: (name) => (name === 'bwrap' ? program : found.at(name)) } });
  };
  const remedy =
    process.getuid?.() === 0 ? 'run as another user than root, and allow user namespaces' : 'allow user namespaces';
  const words = 'No permissions to create new namespace, likely because the kernel does not allow it. See <a page>.';
  expect((await failing(words)).refusal).toContain(
    `bubblewrap, which confines them, doesn't work (bwrap: No permissions to create new namespace): ${remedy}, or`,
  );
  expect((await failing("Can't mount proc on /newroot/proc: Operation not permitted")).refusal).toContain(
    'Operation not permitted): unmask /proc, or',
  );
});

test('where bubblewrap works commands are confined, whatever a person has allowed', async ({ skip }) => {
  skip(!(await workingSandboxes()).some(({ kind }) => kind === 'bwrap'), 'needs bubblewrap');
  const sandbox = await probeSandbox({ unconfined: true });
  expect([commandPolicy(sandbox), commandNotice(sandbox)]).toEqual(['confined', null]);
});

test('bash refuses each command before anybody is asked, also one in the background, and starts nothing', async () => {
  const cwd = tempFolder();
  const background = createBackground({ folder: tempFolder(), hasPidNamespace: false });
  const tools = createBuiltinTools({ sandbox: refusing, dataDir: tempFolder(), background });
  const bash = tools.find(({ name }) => name === 'bash');
  const context = toolContext(cwd, { session: 's-1' });
  for (const input of [{ command: 'touch made' }, { command: 'ls' }, { command: 'touch made', background: true }]) {
    expect(await bash?.validate?.(input, context)).toBe(`Not run: ${SENTENCE}.`);
    await expect(bash?.call(input, context)).rejects.toThrow(SENTENCE);
  }
  expect(existsSync(join(cwd, 'made'))).toBe(false);
});

test('programs of Perdure itself run: a search finds what it looks for', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'a.txt'), 'needle\n');
  const grep = createBuiltinTools({ sandbox: refusing, dataDir: tempFolder() }).find(({ name }) => name === 'grep');
  expect(await grep?.call({ pattern: 'needle' }, toolContext(cwd))).toMatchObject({
    content: expect.stringContaining('a.txt:1:needle'),
  });
});

const hooksWith = (config: Parameters<typeof createHookRunner>[0]) => {
  const { refusal, wrap } = refusing;
  const hold = { refusal, spares: false, wrap: (argv: readonly string[]) => wrap(argv, { cwd: '/' }) };
  return createHookRunner(config, { env: { PATH: process.env['PATH'] }, folder: tempFolder(), hold });
};

test('a hook with `sandbox: true` is refused and told as failed, and one of the person’s own runs', async () => {
  const cwd = tempFolder();
  const own = { name: 'own', command: 'touch own' };
  const hooks = hooksWith({ stop: [{ name: 'tests', command: 'touch made', sandbox: true }, own] });
  const ran = await hooks.stop(hookContext({ cwd }), { text: 'done', active: false, system: [] });
  expect(ran.failed).toEqual([{ hook: 'tests', detail: expect.stringContaining('commands are refused here') }]);
  expect([existsSync(join(cwd, 'made')), existsSync(join(cwd, 'own'))]).toEqual([false, true]);
});

test('a guard of calls that cannot run denies them: its failure would let each one through', async () => {
  const hooks = hooksWith({ preTool: [{ name: 'guard', command: 'exit 0', sandbox: true }] });
  const call = { name: 'write', toolUseId: 'toolu_1', input: {}, risk: 'write' } as const;
  expect(await hooks.preTool(hookContext(), call as never)).toMatchObject({
    decision: { kind: 'deny', why: expect.stringContaining('commands are refused here') },
  });
});

test('an MCP server that is a program is away with the sentence', async () => {
  const { warnings, names } = await openTestServers({ odd: oddServer() }, { sandbox: refusing });
  await expect.poll(() => warnings.length).toBeGreaterThan(0);
  expect(warnings[0]).toBe(`MCP server odd: ${SENTENCE}`);
  expect(names()).toEqual([]);
});
