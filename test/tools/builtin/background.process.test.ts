// Commands in the background, held each way that works here: what they write, how they end, who is
// told.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openBackgroundFolder, sweepBackground } from '../../../system/process/background-files.ts';
import { processIdentity } from '../../../system/process/identity.ts';
import { createBashOutputTool, createBashStopTool } from '../../../tools/builtin/background-commands.ts';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import { createBackground } from '../../../tools/builtin/shell/background.ts';
import { planCall, prepareCall } from '../../../activities/calls/prepare.ts';
import { createRegistry, isListed } from '../../../tools/registry.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import type { ToolContext } from '../../../tools/tool.ts';
import { until } from '../../support/until.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { inputFor, processesWith, tempFolder, toolContext } from '../support.ts';

const sandboxes = await workingSandboxes();
const group = sandboxes.at(-1) as Sandbox;
const SESSION = 's-1';

function shells(sandbox: Sandbox = group, root = tempFolder(), lookMs?: number) {
  const held = sandbox.kind !== 'group';
  const background = createBackground({
    folder: join(root, 'background'),
    hasPidNamespace: held,
    ...(lookMs && { lookMs }),
  });
  onTestFinished(() => background.close());
  const options = { sandbox, background, dataDir: root };
  const cwd = tempFolder();
  const context = (more: Partial<ToolContext> = {}) => toolContext(cwd, { session: SESSION, ...more });
  const [bash, output, stop] = [createBashTool(options), createBashOutputTool(options), createBashStopTool(options)];
  const read = async (id: string, since?: number): Promise<string> =>
    (await output.call({ id, ...(since === undefined ? {} : { since }) }, context())).content;
  return {
    root,
    background,
    read,
    start: async (command: string, more: Partial<ToolContext> = {}): Promise<string> => {
      const { content } = await bash.call(inputFor(bash, { command, background: true }), context(more));
      return /as (bg-[0-9a-f]{8}),/.exec(content)?.[1] ?? content;
    },
    stop: async (id: string): Promise<string> => (await stop.call({ id }, context())).content,
    reads: (id: string, text: string) => until(async () => ((await read(id)).includes(text) ? true : null)),
  };
}

test.each(sandboxes)(
  '$kind: what it writes is read from a position on, and it is ended with all its processes (L84)',
  async (sandbox) => {
    const { start, read, reads, stop } = shells(sandbox);
    const mark = `background-${sandbox.kind}-${process.pid}`;
    const id = await start(`echo é1; (exec -a ${mark} sleep 1000) & exec -a ${mark} sleep 1000`);
    await reads(id, '\né1');
    expect(await read(id)).toMatch(
      /^bg-[0-9a-f]{8} \(echo é1; .*…?\) is running, for \d+ s\.\né1\n\(bytes 0 to 4 of 4; next: since 4\)$/,
    );
    expect(await read(id, 4)).toMatch(/\.\n\(bytes 4 to 4 of 4; next: since 4\)$/);
    await until(async () => ((await processesWith(mark)).length > 1 ? true : null));
    expect(await stop(id)).toMatch(/was ended by bash_stop\.$/);
    expect(await processesWith(mark)).toEqual([]);
    expect(await read(id)).toContain('was ended by bash_stop.');
    expect(await stop(id)).toMatch(/was ended by bash_stop\.$/);
  },
);

test('its end is told once, by one worker of the machine, and again until a reply is there (L84 L43)', async () => {
  const { start, reads, background, root } = shells();
  const id = await start('echo out; exit 3');
  await reads(id, 'exit status 3');
  const told = background.news(SESSION, 7);
  expect(told).toEqual([
    {
      source: `command ${id} in the background`,
      text: `${id} (echo out; exit 3) has ended with exit status 3. The end of its output:\n> out`,
    },
  ]);
  expect(background.news(SESSION, 7)).toEqual(told);
  const other = shells(group, root);
  expect(other.background.news(SESSION, 9)).toEqual([]);
  expect(await other.read(id)).toContain('has ended with exit status 3');
  expect(background.news('s-2', 0)).toEqual([]);
});

test('another worker of the machine reads it and ends it; what the model ended itself is not told (L84)', async () => {
  const { start, reads, root } = shells();
  const id = await start('echo hello; sleep 1000');
  await reads(id, '\nhello');
  const other = shells(group, root);
  expect(await other.read(id)).toContain('hello');
  expect(await other.stop(id)).toMatch(/^bg-/);
  expect(other.background.news(SESSION, 1)).toEqual([]);
});

test('it is gone when its worker is dead, and this is told (L84)', async () => {
  const { background, root, read } = shells();
  const files = openBackgroundFolder(join(root, 'background'), SESSION);
  files.openOutput('bg-00000000').add(Buffer.from('half a li'));
  const owner = { ...processIdentity(), startTime: '1' };
  const leader = { pid: 1, startTime: '1', bootId: 'none' };
  files.write({ id: 'bg-00000000', command: 'serve', mark: 'x', leader, owner, startedAt: 1 });
  expect(background.news(SESSION, 1)[0]?.text).toMatch(
    /^bg-00000000 \(serve\) is gone: its worker has died(.|\n)*half a li$/,
  );
  expect(await read('bg-00000000')).toContain('is gone');
  await expect(read('bg-11111111')).rejects.toThrow('There is no command bg-11111111 of this session here.');
});

test('a ninth is refused, none is left when the worker closes, and each is told why it ended (L84)', async () => {
  const { start, background } = shells();
  for (let n = 0; n < 8; n++) await start('sleep 1000');
  await expect(start('sleep 1000')).rejects.toThrow(
    /^Not started: 8 commands run in the background already \((bg-\w{8}(, )?){8}\)/,
  );
  await background.close();
  const texts = background.news(SESSION, 1).map(({ text }) => text);
  expect(texts).toHaveLength(8);
  expect(texts[0]).toContain('was ended, for its worker was shut down');
});

test('it ends with its session, and nothing of it is kept (L84)', async () => {
  const { start, reads, background, read } = shells(group, tempFolder(), 20);
  let over = false;
  const id = await start('echo up; sleep 1000', { sessionIsOver: () => Promise.resolve(over) });
  await reads(id, '\nup');
  over = true;
  await until(
    async () =>
      await read(id).then(
        () => null,
        () => true,
      ),
  );
  expect(background.news(SESSION, 1)).toEqual([]);
});

test('of those that have ended sixteen are kept, the newest (L84)', async () => {
  const { start, root, reads } = shells();
  const files = openBackgroundFolder(join(root, 'background'), SESSION);
  const leader = { pid: 1, startTime: '1', bootId: 'none' };
  const ended = { command: 'x', mark: 'x', leader, owner: processIdentity(), end: { kind: 'lost' }, told: 1 } as const;
  for (let n = 10; n < 30; n++) {
    files.openOutput(`bg-000000${n}`).add(Buffer.from('x'));
    files.write({ id: `bg-000000${n}`, startedAt: n, ...ended });
  }
  await reads(await start('echo out'), 'exit status 0');
  expect(files.list().map(({ id }) => id)).toHaveLength(17);
  expect([files.read('bg-00000013'), files.readOutput('bg-00000013', 0, 1).total]).toEqual([null, 0]);
});

test('an end that was not told is kept, however many end between two model calls (L84)', async () => {
  const { start, root, reads, background } = shells();
  const files = openBackgroundFolder(join(root, 'background'), SESSION);
  const leader = { pid: 1, startTime: '1', bootId: 'none' };
  const ended = { command: 'x', mark: 'x', leader, owner: processIdentity(), end: { kind: 'lost' } } as const;
  files.openOutput('bg-00000010').close();
  for (let n = 10; n < 30; n++) files.write({ id: `bg-000000${n}`, startedAt: n, ...ended });
  await reads(await start('echo out'), 'exit status 0');
  expect(background.news(SESSION, 1)).toHaveLength(21);
});

test('what a worker left that died before its session is removed after a month (L84)', () => {
  const root = tempFolder();
  const files = openBackgroundFolder(root, SESSION);
  files.openOutput('bg-00000000').add(Buffer.from('x'));
  const ended = { command: 'x', mark: 'x', leader: { pid: 1, startTime: '1', bootId: 'none' }, startedAt: 1 };
  files.write({ id: 'bg-00000000', owner: processIdentity(), ...ended });
  const later = Date.now() + 31 * 86_400_000;
  sweepBackground(root, later);
  expect(files.list()).toHaveLength(1);
  files.write({ id: 'bg-00000000', owner: { ...processIdentity(), startTime: '1' }, ...ended });
  sweepBackground(root, Date.now());
  expect(files.list()).toHaveLength(1);
  sweepBackground(root, later);
  expect(files.list()).toEqual([]);
  expect(() => sweepBackground(`${root}/none`, later)).not.toThrow();
});

test('of a flood the newest is kept, and a reader is told what is not (L84)', () => {
  const files = openBackgroundFolder(tempFolder(), SESSION);
  const output = files.openOutput('bg-00000000');
  const line = Buffer.alloc(1_000_000, 'x');
  for (let n = 0; n < 20; n++) output.add(line);
  output.add(Buffer.from('end'));
  const { total, kept, bytes } = files.readOutput('bg-00000000', undefined, 5);
  expect([total, bytes.toString()]).toEqual([20_000_003, 'xxend']);
  expect(kept).toBeGreaterThan(10_000_000);
  expect(files.readOutput('bg-00000000', 5, 10).from).toBe(kept);
});

test('rules judge it as any command; it never runs early, takes no timeout, and needs a session (L55 L84)', async () => {
  const tool = createBashTool({ sandbox: group });
  const settings = { mode: 'default', cwd: tempFolder(), permissions: { deny: ['bash(rm:*)'] } } as const;
  const prepared = (command: string, more: object = {}) =>
    prepareCall(createRegistry([tool]), settings, { name: 'bash', input: { command, background: true, ...more } });
  expect(prepared('ls')).toMatchObject({ kind: 'ready', safe: false, permission: { kind: 'allow' } });
  expect(planCall(prepared('ls'), { hasPreHook: false, hasPostHook: false, budgeted: false })).toBe('with_reply');
  expect(prepared('rm -r x')).toMatchObject({ permission: { kind: 'deny' } });
  expect(prepared('npm start')).toMatchObject({ permission: { kind: 'ask' } });
  const context = toolContext(settings.cwd);
  expect(await tool.validate?.({ command: 'ls', background: true, timeout: 5 }, context)).toContain('has no timeout');
  await expect(tool.call({ command: 'ls', background: true }, context)).rejects.toThrow('call it without background');
  expect([isListed(['bash'], 'bash_output'), isListed(['read'], 'bash_stop')]).toEqual([true, false]);
});
