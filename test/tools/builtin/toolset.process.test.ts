// The toolset of Managed Agents against the SDK's own one, on the same folder: the same names and
// inputs, and answers that say the same.
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { betaAgentToolset20260401 } from '@anthropic-ai/sdk/tools/agent-toolset/node';
import { expect, onTestFinished, test } from 'vitest';
import { callTool } from '../../../activities/calls/call-tool.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { createRunRegistries } from '../../../tools/builtin/run-tools.ts';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';
import { ShellStates } from '../../../tools/builtin/shell/kept-shell.ts';
import { createRegistry } from '../../../tools/registry.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import { copyForObservers } from '../../../tools/observed-input.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandboxes = await workingSandboxes();
const group = sandboxes.at(-1) as Sandbox;
const TOOLSET = 'agent_toolset_20260401';
/** The SDK's `glob` needs Node 22. */
const HAS_GLOB = Number(process.versions.node.split('.')[0]) >= 22;

type Answer = { readonly text: string; readonly bad: boolean };

function place(sandbox: Sandbox = group, offline = false) {
  const [cwd, dataDir] = [tempFolder(), tempFolder()];
  const options = { sandbox, dataDir };
  const registry = createRunRegistries(
    createRegistry(createBuiltinTools(options)),
    options,
  )({ toolset: TOOLSET, offline });
  const theirs = betaAgentToolset20260401({ workdir: cwd, env: { PATH: process.env['PATH'] } });
  onTestFinished(async () => {
    for (const { close } of theirs) await close?.();
  });
  let dir = cwd;
  return {
    cwd,
    dataDir,
    registry,
    theirs,
    write: (name: string, text: string | Uint8Array): void => writeFileSync(join(cwd, name), text),
    async ours(name: string, input: unknown, session = 's-1'): Promise<Answer> {
      const tool = registry.get(name)!;
      const ran = await callTool(tool, inputFor(tool, input), toolContext(cwd, { dir, session }));
      if (ran.kind === 'failed') return { text: ran.text, bad: true };
      if (ran.kind !== 'output') throw new Error(ran.kind);
      dir = ran.output.modify?.cwd ?? dir;
      return { text: ran.output.content, bad: ran.output.isError === true };
    },
    async sdk(name: string, input: unknown): Promise<Answer> {
      try {
        const run = theirs.find((tool) => 'name' in tool && tool.name === name)!.run as (input: unknown) => unknown;
        return { text: String(await run(input)), bad: false };
      } catch (error) {
        return { text: (error as Error).message, bad: true };
      }
    },
  };
}

/** Without the last line, which counts what was found. */
const found = ({ text }: Answer): readonly string[] =>
  text
    .trimEnd()
    .split('\n')
    .filter((line) => !/^\(.*\)$/.test(line));

type Schema = {
  readonly properties: Readonly<
    Record<string, { readonly type?: string; readonly items?: { readonly type?: string } }>
  >;
  readonly required?: readonly string[];
};

/** The fields of a schema with their types. */
const shapeOf = ({ properties, required = [] }: Schema) => ({
  required: required.toSorted(),
  fields: Object.fromEntries(Object.entries(properties).map(([name, { type, items }]) => [name, [type, items?.type]])),
});

test('names, fields, types and what is required are those of the SDK (G51)', () => {
  const { registry, theirs } = place();
  const definitions = registry.definitions();
  for (const tool of theirs) {
    if (!('input_schema' in tool)) throw new Error('no schema');
    const ours = definitions.find(({ name }) => name === tool.name);
    expect(shapeOf(ours?.input_schema as unknown as Schema), tool.name).toEqual(shapeOf(tool.input_schema as Schema));
  }
  const names = definitions.map(({ name }) => name);
  expect(names).toEqual(names.toSorted());
  expect(names).not.toContain('bash_output');
  expect(registry.get('bash_stop')).toBeUndefined();
  expect(registry.definitions()).toBe(definitions);
});

test('a file reads as it is, and by ranges as the SDK counts them (G51)', async () => {
  const { ours, sdk, write } = place();
  write('a.txt', Array.from({ length: 12 }, (_, n) => `line ${n + 1}`).join('\n'));
  for (const view_range of [undefined, [], [1, 1], [3, 5], [11, 40], [4, -1], [0, 2]]) {
    const input = { file_path: 'a.txt', ...(view_range && { view_range }) };
    expect(await ours('read', input), JSON.stringify(view_range)).toEqual(await sdk('read', input));
  }
  expect(await ours('read', { file_path: 'a.txt', view_range: [40, 50] })).toMatchObject({
    text: expect.stringContaining('12 lines') as string,
  });
  expect((await ours('read', { file_path: 'absent' })).bad).toBe((await sdk('read', { file_path: 'absent' })).bad);
  expect((await ours('read', { file_path: '/etc/passwd' })).bad).toBe(
    (await sdk('read', { file_path: '/etc/passwd' })).bad,
  );
});

test('a file that is too long says with which range it goes on (G51)', async () => {
  const { ours, write } = place();
  const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n + 1}`);
  write('long.txt', lines.join('\n'));
  let [next, whole, rounds] = [1, '', 0];
  for (; rounds < 20 && next > 0; rounds++) {
    const { text } = await ours('read', { file_path: 'long.txt', view_range: [next, -1] });
    const [, part = text, on = '0'] =
      /^(.*)\n\(lines \d+ to \d+; more follow, read on with view_range \[(\d+), -1\]\)$/s.exec(text) ?? [];
    whole += `${part}\n`;
    next = Number(on);
  }
  expect(whole).toBe(`${lines.join('\n')}\n`);
  expect(rounds).toBeGreaterThan(2);
});

test('write and edit do to files what the SDK does (G51)', async () => {
  const run = async (side: 'ours' | 'sdk') => {
    const { cwd, [side]: call } = place();
    const answers = [
      await call('write', { file_path: 'sub/new/a.txt', content: 'one two two\n' }),
      await call('edit', { file_path: 'sub/new/a.txt', old_string: 'two', new_string: '2' }),
      await call('edit', { file_path: 'sub/new/a.txt', old_string: 'one', new_string: '$&1' }),
      await call('edit', { file_path: 'sub/new/a.txt', old_string: 'two', new_string: '2', replace_all: true }),
      await call('edit', { file_path: 'sub/new/a.txt', old_string: 'three', new_string: '3' }),
      await call('write', { file_path: '../out.txt', content: 'x' }),
    ];
    return { bad: answers.map(({ bad }) => bad), text: readFileSync(join(cwd, 'sub/new/a.txt'), 'utf8') };
  };
  const ours = await run('ours');
  expect(ours).toEqual(await run('sdk'));
  expect(ours).toEqual({ bad: [false, true, false, false, true, true], text: '$&1 2 2\n' });
});

test('glob answers absolute paths, the newest first, and none that leave the workspace (G51)', async () => {
  const { cwd, ours, sdk, write } = place();
  mkdirSync(join(cwd, 'src'));
  for (const [at, name] of ['b.ts', 'src/a.ts', 'src/c.ts', 'src/d.js'].entries()) {
    write(name, name);
    utimesSync(join(cwd, name), 1_000_000 + at, 1_000_000 + at);
  }
  symlinkSync('/etc', join(cwd, 'out'));
  for (const [input, ...expected] of [
    [{ pattern: '**/*.ts' }, 'src/c.ts', 'src/a.ts', 'b.ts'],
    [{ pattern: '*.ts', path: 'src' }, 'src/c.ts', 'src/a.ts'],
    [{ pattern: '**/*', path: 'src' }, 'src/d.js', 'src/c.ts', 'src/a.ts'],
    [{ pattern: 'src/{a,d}.*' }, 'src/d.js', 'src/a.ts'],
  ] as const) {
    const files = found(await ours('glob', input));
    expect(files, input.pattern).toEqual(expected.map((name) => join(cwd, name)));
    if (HAS_GLOB) expect(files, input.pattern).toEqual(found(await sdk('glob', input)));
  }
  for (const pattern of ['../*', 'out/passwd']) {
    expect(found(await ours('glob', { pattern }))).not.toContainEqual(expect.stringContaining('passwd'));
  }
});

test('of more files than an answer has, glob names the newest (G51)', async () => {
  const { ours, write } = place();
  for (let at = 0; at < 210; at++) write(`f${at}`, '');
  const { text } = await ours('glob', { pattern: '*' });
  expect(text.split('\n')).toHaveLength(201);
  expect(text).toContain('(210 files, newest 200 shown)');
});

test('grep answers path, line and text as the SDK does (G51)', async () => {
  const { cwd, ours, sdk, write } = place();
  mkdirSync(join(cwd, 'src'));
  write('a.txt', 'needle one\nhay\nneedle two\n');
  write('src/b.txt', 'hay\nneedle three\n');
  for (const input of [{ pattern: 'needle t\\w+' }, { pattern: 'hay', path: 'src' }])
    expect(found(await ours('grep', input)).toSorted(), input.pattern).toEqual(
      found(await sdk('grep', input)).toSorted(),
    );
  expect(found(await ours('grep', { pattern: '^needle o', path: 'a.txt' }))).toEqual([
    `${join(cwd, 'a.txt')}:1:needle one`,
  ]);
  expect((await ours('grep', { pattern: 'x', path: '/etc' })).bad).toBe(
    (await sdk('grep', { pattern: 'x', path: '/etc' })).bad,
  );
});

/** What a shell keeps of a command for the next ones. */
const steps: readonly (readonly [input: object, same?: boolean])[] = [
  [{ command: 'mkdir -p a/b; cd a; export KEPT="x y\nz" UNSET=1; echo here; pwd' }],
  [{ command: 'pwd; echo "$KEPT"; cd b && pwd' }],
  [{ command: 'cd -; export PATH="$PATH:/extra"; unset UNSET; unset HOME; false' }],
  [{ command: 'pwd; echo "${PATH##*:} ${UNSET-gone} ${HOME-gone}"; echo to stderr >&2' }],
  [{ command: 'cd absent 2>/dev/null; echo $?' }],
  [{ command: 'set -a; SOURCED=2; set +a; ls; pwd' }],
  [{ command: 'echo $SOURCED' }],
  [{ command: 'cd b' }],
  [{ command: 'pwd' }],
  [{ command: 'pwd; echo "${KEPT-gone}"', restart: true }],
  [{ command: 'printf %s "$KEPT"; (cd a; export KEPT=inner); pwd' }],
  [{ command: "cat <<'E'\nquote ' and \" and $x\nE" }],
  [{ command: 'echo one\nif then' }, false],
  [{ command: 'pwd' }],
];

test.each(sandboxes)('$kind: folder and exported variables last as in the SDK’s shell (G51)', async (sandbox) => {
  const { ours, sdk } = place(sandbox);
  for (const [input, same = true] of steps) {
    const [our, their] = [await ours('bash', input), await sdk('bash', input)];
    expect(our.bad, JSON.stringify(input)).toBe(their.bad);
    const text = our.text.replace(/\n?\(exit status \d+\)$/, '');
    if (same) expect(text, JSON.stringify(input)).toBe(their.text.replace(/^exit \d+$/, ''));
  }
});

test('a restart alone begins anew in the workspace, and another session never sees the variables (G51)', async () => {
  const { cwd, ours, registry } = place();
  await ours('bash', { command: 'mkdir a; cd a; export SECRET=1' });
  expect(await ours('bash', { command: 'echo "${SECRET-none}"' }, 's-2')).toEqual({ text: 'none', bad: false });
  expect(await ours('bash', { restart: true })).toEqual({ text: 'The shell begins anew.', bad: false });
  expect(await ours('bash', { command: 'pwd; echo "${SECRET-none}"' })).toEqual({ text: `${cwd}\nnone`, bad: false });
  expect(() => inputFor(registry.get('bash')!, {})).toThrow(/give a command/);
  expect(() => inputFor(registry.get('bash')!, { command: 'ls', background: true })).toThrow();
});

test.each(sandboxes)(
  '$kind: a folder outside the workspace, or one that is gone, is not carried on (G51 L38)',
  async (sandbox) => {
    const { cwd, ours } = place(sandbox);
    expect(await ours('bash', { command: 'cd /tmp; pwd' })).toEqual({
      text: `/tmp\n(the next command begins in ${cwd}: /tmp is outside the workspace)`,
      bad: false,
    });
    expect((await ours('bash', { command: 'mkdir gone; cd gone; rmdir ../gone' })).text).toContain('is gone');
    expect((await ours('bash', { command: 'pwd' })).text).toBe(cwd);
  },
);

test.each(sandboxes)('$kind: what a command may not choose for the next is not carried on (G51)', async (sandbox) => {
  const { ours } = place(sandbox);
  await ours('bash', {
    command:
      'export PERDURE_CALL=forged LC_ALL=C TRACEPARENT=x GIT_CONFIG_COUNT=0 IFS=: LD_X=1; f() { echo fun; }; plain=1',
  });
  const { text } = await ours('bash', {
    command:
      'echo "$PERDURE_CALL|$LC_ALL|$TRACEPARENT|$LD_X|$plain"; f 2>/dev/null || echo none; env | grep -c __perdure',
  });
  expect(text).toMatch(/^[0-9a-f]{64}\|C\.UTF-8\|\|1\|\nnone\n0/);
  expect((await ours('bash', { command: 'echo $GIT_CONFIG_COUNT' })).text).not.toBe('0');
});

test('a command that kills or replaces its shell leaves both as they were (G51)', async () => {
  const { cwd, ours } = place();
  await ours('bash', { command: 'export KEPT=1' });
  for (const command of [
    'mkdir a; cd a; export KEPT=2; kill -9 $$',
    'cd a; export KEPT=3; exec true',
    'cd a; export KEPT=4; trap - EXIT',
  ])
    await ours('bash', { command });
  expect((await ours('bash', { command: 'pwd; echo $KEPT' })).text).toBe(`${cwd}\n1`);
});

test('output that is bytes, long or like the report comes as it is (G51)', async () => {
  const { ours } = place();
  const zeros = await ours('bash', {
    command: "printf 'a\\0perdure-b\\0c'; x=$(head -c 100 /dev/zero | tr '\\0' x); echo $x$x",
  });
  expect(zeros.text.replaceAll(/[^a-z-]/g, '')).toBe(`aperdure-bc${'x'.repeat(200)}`);
  const { text } = await ours('bash', { command: 'seq 1 30000 | tail -n 1; exec >out.txt; echo into the file' });
  expect(text).toBe('30000');
  expect((await ours('read', { file_path: 'out.txt' })).text).toBe('into the file');
});

test('file tools begin in the workspace wherever the shell is (G51)', async () => {
  const { cwd, ours } = place();
  await ours('bash', { command: 'mkdir deep; cd deep' });
  await ours('write', { file_path: 'a.txt', content: 'x' });
  expect(readdirSync(cwd).toSorted()).toEqual(['a.txt', 'deep']);
  expect(found(await ours('glob', { pattern: '*.txt' }))).toEqual([join(cwd, 'a.txt')]);
});

test.each(sandboxes)(
  '$kind: the variables lie in the data folder, where the workspace does not reach (G51)',
  async (sandbox) => {
    const { cwd, dataDir, ours } = place(sandbox);
    await ours('bash', { command: 'export A=1' });
    expect(readdirSync(cwd)).toEqual([]);
    const [folder = ''] = readdirSync(join(dataDir, 'shells'));
    expect(existsSync(join(dataDir, 'shells', folder, 'variables/exported'))).toBe(true);
    const other = await ours('bash', { command: `ls ${dataDir}/shells | wc -l; ls ${dataDir} | wc -l` }, 's-2');
    if (sandbox.kind === 'bwrap') expect(other.text.split('\n').map(Number)).toEqual([1, 1]);
    // A link that a command leaves in the place of the file is replaced, and leads nowhere.
    await ours('bash', {
      command: `ln -sf /etc/passwd ${join(dataDir, 'shells', folder, 'variables/exported')} 2>/dev/null; export B=2`,
    });
    expect((await ours('bash', { command: 'echo $A$B' })).text).toBe('12');
  },
);

test.each([
  ['read', { file_path: 'a', view_range: [2, 3] }, { path: 'a', offset: 2, limit: 2 }],
  ['write', { file_path: 'a', content: 'x' }, { path: 'a', content: 'x' }],
  ['edit', { file_path: 'a', old_string: 'x', new_string: 'y' }, { path: 'a', old_string: 'x', new_string: 'y' }],
  ['bash', { command: 'ls', timeout_ms: 5 }, { command: 'ls', timeout: 5 }],
  ['bash', { restart: true }, { command: 'true', restart: true }],
])(
  'hooks and watchers see a call of %s by the input of the built-in tool, and may give that back (L18 G51)',
  (name, input, own) => {
    const { registry } = place();
    const tool = registry.get(name)!;
    expect(copyForObservers(tool, input)).toEqual(own);
    expect(inputFor(tool, own)).toEqual(own);
  },
);

test('rules of the worker hold for its calls as for those of the built-in tools (G24 L55)', () => {
  const { cwd, registry } = place();
  mkdirSync(join(cwd, 'sub'));
  const permissions = { deny: ['read(secret/**)', 'write(*.env)', 'bash(rm *)'], ask: ['edit'], allow: ['bash'] };
  const judge = (name: string, input: unknown, dir = cwd): string => {
    const prepared = prepareCall(registry, { mode: 'default', permissions, cwd, dir }, { name, input });
    return prepared.kind === 'ready' ? prepared.permission.kind : prepared.kind;
  };
  expect(judge('read', { file_path: 'secret/key' })).toBe('deny');
  expect(judge('read', { file_path: join(cwd, 'secret/key') })).toBe('deny');
  expect(judge('read', { file_path: 'secret/key' }, join(cwd, 'sub'))).toBe('deny');
  expect(judge('read', { file_path: 'open', view_range: [1, 2] })).toBe('allow');
  expect(judge('write', { file_path: 'a.env', content: '' })).toBe('deny');
  expect(judge('edit', { file_path: 'a', old_string: 'x', new_string: 'y' })).toBe('ask');
  expect(judge('bash', { command: 'rm a' })).toBe('deny');
  expect(judge('bash', { command: 'rm a', restart: true })).toBe('deny');
  expect(judge('bash', { command: 'make' })).toBe('allow');
  expect(judge('bash_output', { id: 'x' })).toBe('invalid');
});

test('a look around that changes the folder runs alone, and unasked (L35 G51)', () => {
  const { cwd, registry } = place();
  const settings = { mode: 'default' as const, cwd };
  const judge = (command: string) => prepareCall(registry, settings, { name: 'bash', input: { command } });
  expect(judge('ls')).toMatchObject({ safe: true, permission: { kind: 'allow' } });
  expect(judge('cd sub && ls')).toMatchObject({ safe: false, permission: { kind: 'allow' } });
  expect(judge('touch a')).toMatchObject({ safe: false, permission: { kind: 'ask' } });
});

test('a refused input says what is wrong by the names that the model knows (G51)', () => {
  const { registry } = place();
  expect(() => inputFor(registry.get('read')!, { file_path: 3 })).toThrow(/file_path/);
  expect(() => inputFor(registry.get('read')!, { file_path: 'a', view_range: [1] })).toThrow(/first and the last/);
});

test.each(sandboxes)(
  '$kind: without a network commands reach nothing, and no page is fetched (G73)',
  async (sandbox) => {
    const { ours, registry } = place(sandbox, true);
    const { text, bad } = await ours('bash', {
      command: 'test -e /proc/net/route && tail -n +2 /proc/net/route | wc -l',
    });
    expect(sandbox.kind === 'bwrap' ? text : bad).toBe(sandbox.kind === 'bwrap' ? '0' : true);
    const fetching = registry.get('web_fetch')!;
    const context = { cwd: '/', dir: '/', mode: 'bypass' as const };
    expect(await fetching.canUse?.({ url: 'https://example.org' }, context)).toMatchObject({ kind: 'deny' });
  },
);

test('what a session left is forgotten when it was not used for 30 days, and its folder when it is gone (G51)', async () => {
  const { cwd, dataDir, ours } = place();
  const states = new ShellStates(dataDir);
  await ours('bash', { command: 'mkdir a; cd a; export A=1' });
  expect(states.folderOf('s-1', cwd)).toBe(join(cwd, 'a'));
  expect(states.folderOf('s-1', join(cwd, 'b'))).toBeUndefined();
  states.sweep(Date.now() + 29 * 24 * 3_600_000);
  expect(readdirSync(join(dataDir, 'shells'))).toHaveLength(1);
  await ours('bash', { command: 'rmdir ../a; ln -s /etc ../a' });
  expect(states.folderOf('s-1', cwd)).toBeUndefined();
  states.sweep(Date.now() + 31 * 24 * 3_600_000);
  expect(readdirSync(join(dataDir, 'shells'))).toEqual([]);
});
