// The command line on a real terminal: what is typed, asked and drawn.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type ParsedRequest, reply, text, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { onTerminal } from '../support/pty.ts';
import { until } from '../support/until.ts';

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url));
const perdure = (...args: readonly string[]) => [process.execPath, program, ...args];

/** Types a line until it is taken: a question that has just appeared takes none. */
const typeUntil = ({ type }: ReturnType<typeof onTerminal>, line: string, isTaken: () => boolean) =>
  until(async () => {
    if (!isTaken()) type(line);
    for (let tick = 0; tick < 4; tick += 1) await until.tick();
    return isTaken();
  });

test('`run` on a terminal renders replies, asks, and sends what is typed meanwhile, and leaves the terminal as it was (O18)', async () => {
  const waits = 'while [ ! -e go ]; do sleep 0.1; done; touch made';
  const model = await modelFor([
    reply([text('I **will** make it.'), toolUse('bash', { command: waits })]),
    reply('All of it is **done**.'),
  ]);
  const { cwd, env } = cliPlace(model);
  const terminal = onTerminal(perdure('run', 'make it'), { cwd, env });
  await terminal.shows('▸ 1 yes');
  expect(terminal.lines()).toContain('I will make it.');
  terminal.type('y');
  await terminal.shows('runs bash');
  terminal.type('use tabs');
  await terminal.shows('› use tabs');
  terminal.type('\r');
  await terminal.shows('⋯ waits: use tabs');
  terminal.type('draft');
  await terminal.shows('› draft');
  expect(existsSync(join(cwd, 'made'))).toBe(false);
  writeFileSync(join(cwd, 'go'), '');
  await terminal.shows('[status 0]');
  await terminal.ended;
  const lines = terminal.lines();
  expect(existsSync(join(cwd, 'made'))).toBe(true);
  expect(lines.filter((line) => line === '› use tabs')).toHaveLength(1);
  expect(lines.filter((line) => line === 'All of it is done.')).toHaveLength(1);
  expect(lines).toContain('not sent: draft');
  expect(lines.some((line) => line.includes('⋯'))).toBe(false);
  expect(lines.at(-2)).toBe(' icanon');
  expect(JSON.stringify(model.requests.at(-1))).toContain('use tabs');
});

test('clicks, answers to queries and a paste decide no question, which is drawn where the terminal tells no size (L55 O18)', async () => {
  const model = await modelFor([reply([toolUse('bash', { command: 'touch made' })]), reply('Done.')]);
  const { cwd, env } = cliPlace(model);
  const terminal = onTerminal(perdure('run', 'make it'), { cwd, env, tellsNoSize: true });
  await terminal.shows('▸ 1 yes');
  terminal.type('\u001b[<0;12;40M\u001b[<0;12;40m\u001b]11;rgb:1e1e/1e1e/1e1e\u0007\u001bP>|yes 1\u001b\\');
  for (const part of ['\u001b[?1', ';2c', '\u001b[200~1\ry', '\u001b[201~', '\u001b[27;2;13~', '\u001b[13;5u'])
    terminal.type(part);
  // The mark moves once all of it was read, and the question still waits.
  terminal.type('\u001b[B');
  await terminal.shows('▸ 2 ');
  expect(existsSync(join(cwd, 'made'))).toBe(false);
  terminal.type('n');
  await terminal.shows('[status 0]');
  await terminal.ended;
  expect(existsSync(join(cwd, 'made'))).toBe(false);
  expect(JSON.stringify(model.requests.at(-1))).toMatch(/denied|declined|refused/i);
});

test.each([{}, { NO_COLOR: '1' }])(
  'a command that is wider than the terminal goes on in marked rows, and nothing of it looks like a line of ours (L55) %j',
  async (colours) => {
    const command = `true${' '.repeat(71)}because: it only looks; touch made`;
    const model = await modelFor([reply([toolUse('bash', { command })]), reply('Done.')]);
    const { cwd, env } = cliPlace(model);
    const terminal = onTerminal(perdure('run', 'make it'), { cwd, env: { ...env, ...colours } });
    await terminal.shows('NO_COLOR' in colours ? 'bash? [y]es / [a]lways' : 'Allow this command?');
    const lines = terminal.lines();
    expect(lines.filter((line) => /^ *because:/.test(line))).toHaveLength('NO_COLOR' in colours ? 1 : 0);
    expect(lines.some((line) => /^ {2}↪ .*touch made$/.test(line))).toBe(true);
    terminal.type('\u0003');
    await terminal.ended;
    expect(existsSync(join(cwd, 'made'))).toBe(false);
  },
);

test('a chat says that no key was found before it opens anything, which may take minutes the first time (O20)', async () => {
  const { cwd, env } = cliPlace(null);
  const terminal = onTerminal(perdure(), { cwd, env });
  await terminal.shows('New session s-');
  const lines = terminal.lines();
  const rowOf = (words: string): number => lines.findIndex((line) => line.includes(words));
  expect(rowOf('No API key found.')).toBeGreaterThanOrEqual(0);
  expect(rowOf('No API key found.')).toBeLessThan(rowOf('New session s-'));
  terminal.type('\u0004');
  await terminal.shows('[status 0]');
});

test('`perdure` talks with a session of the folder, which stays when the person leaves and is found again with -c (O20)', async () => {
  const model = await modelFor([
    reply('Hello, **you**.'),
    reply([text('I run it.'), toolUse('bash', { command: 'touch begun; sleep 60' })]),
    reply('Plain again.'),
  ]);
  const place = cliPlace(model);
  const { cwd, env } = place;
  const first = onTerminal(perdure('--permission-mode', 'bypass'), { cwd, env });
  await first.shows('New session s-');
  first.type('/statu\r');
  await first.shows('did you mean status?');
  first.type('hello\r');
  await first.shows('Hello, you.');
  await first.shows('completed');
  first.type('\u0004');
  await first.shows('[status 0]');
  const [, session = ''] = /comes back to session (s-\w+)/.exec(first.lines().join(' ')) ?? [];
  const shown = await place.run('show', session.slice(0, 6));
  expect(shown.out).toContain(`${session}  hello`);

  const again = onTerminal(perdure('-c'), { cwd, env });
  await again.shows(`Session ${session}`);
  expect(again.lines()).toContain('Hello, you.');
  await again.shows('bypass (⇧Tab)');
  again.type('\u001b[A');
  await again.shows('› hello');
  again.type('\u0015run it\r');
  await until(() => existsSync(join(cwd, 'begun')));
  again.type('\u001b');
  await again.shows('ended during tool calls: interrupted');
  expect(again.lines().filter((line) => line.includes('interrupt') && !line.includes('Esc'))).toHaveLength(1);
  again.type('\u0003');
  await again.shows('press Ctrl-C again to leave, or Ctrl-D');
  again.type('\u0003');
  await again.shows('[status 0]');

  const plain = onTerminal(perdure('--resume', session.slice(0, 6)), { cwd, env: { ...env, NO_COLOR: '1' } });
  await plain.shows('Ctrl-D leaves');
  plain.type('and now\n');
  await plain.shows('Plain again.');
  plain.type('\u0004');
  await plain.shows('[status 0]');
  expect(plain.raw()).not.toContain('\u001b');
});

test('a chat shows what may be written next in its empty row: Tab writes it, Enter sends it then, and not before (L56)', async () => {
  const isSmall = ({ model }: ParsedRequest): boolean => model.startsWith('claude-haiku');
  let suggested = 0;
  const model = await modelFor((request) => {
    if (!isSmall(request)) return reply('Done.');
    suggested += 1;
    return reply(suggested === 1 ? 'Run the tests too.' : 'NONE');
  });
  const { cwd, env, root } = cliPlace(model);
  const folder = join(root, 'own', 'perdure');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'perdure.config.mjs'), 'export default { suggestPrompts: true, memory: false };');
  const own = { ...env, XDG_CONFIG_HOME: join(root, 'own') };
  const terminal = onTerminal(perdure('chat', 'mend it'), { cwd, env: own });
  await terminal.shows('› Run the tests too.  (Tab)');
  const asked = (): number => model.requests.filter(({ body }) => !isSmall(body as ParsedRequest)).length;
  terminal.type('\r');
  terminal.type('\t');
  await until(() => terminal.lines().includes('› Run the tests too.'));
  expect(asked()).toBe(1);
  terminal.type('\r');
  await until(() => asked() === 2);
  expect(JSON.stringify(model.requests.findLast(({ body }) => !isSmall(body as ParsedRequest)))).toContain(
    'Run the tests too.',
  );
  terminal.type('\u0004');
  await terminal.ended;
});

test('`!command` runs as the person, its output goes along without secrets, and an argument of `chat` runs nothing (O20)', async () => {
  const model = await modelFor([reply('Hello.'), reply('Seen.')]);
  const { cwd, env } = cliPlace(model);
  const own = { ...env, ANTHROPIC_API_KEY: 'sk-secret-of-the-process' };
  const terminal = onTerminal(perdure('chat', '!touch given'), { cwd, env: own });
  await terminal.shows('completed');
  expect(JSON.stringify(model.requests[0]?.body)).toContain('!touch given');
  terminal.type('!touch typed; echo out $ANTHROPIC_API_KEY; exit 3\r');
  await terminal.shows('it ended with status 3; its output goes with your next message');
  expect([existsSync(join(cwd, 'typed')), existsSync(join(cwd, 'given'))]).toEqual([true, false]);
  expect(model.requests).toHaveLength(1);
  terminal.type('what is it?\r');
  await terminal.shows('Seen.');
  const asked = JSON.stringify(model.requests[1]?.body);
  expect(asked).toContain('I ran this command myself, which ended with status 3: touch typed; echo out');
  expect(asked).toContain('out [redacted');
  expect(asked).not.toContain('sk-secret-of-the-process');
  terminal.type('\u0004');
  await terminal.ended;
});

test('`-r` without an id opens a picker with the last words of each session: typing searches, Enter goes on, Esc leaves (O20)', async () => {
  const place = cliPlace(
    await modelFor([reply('The payments are **done**.'), reply('A report of it.'), reply('On it.')]),
  );
  const { cwd, env } = place;
  for (const task of ['move the payments', 'write the report']) await place.run('run', '--json', task);
  const left = onTerminal(perdure('-r'), { cwd, env });
  await left.shows('A report of it.');
  left.type('\u001b');
  await left.shows('no session chosen');
  await left.ended;
  const terminal = onTerminal(perdure('-r'), { cwd, env });
  await terminal.shows('▸ write the report');
  terminal.type('pay');
  await terminal.shows('The payments are **done**.');
  expect(terminal.lines().some((line) => line.includes('write the report'))).toBe(false);
  terminal.type('\r');
  await terminal.shows('Enter sends, Esc interrupts');
  terminal.type('and now\r');
  await terminal.shows('On it.');
  expect(terminal.lines()).toContain('› move the payments');
  terminal.type('\u0004');
  await terminal.ended;
});

test('Esc twice in an empty row goes back to a prompt, with the files, and `/rewind undo` undoes it (T6 T7)', async () => {
  const write = (content: string) => reply([toolUse('write', { path: 'made', content })]);
  const model = await modelFor([write('one'), reply('It is one.'), write('two'), reply('It is two.')]);
  const { cwd, env, root } = cliPlace(model);
  const config = 'export default { memory: false, snapshots: true };';
  writeFileSync(join(root, 'settings', 'perdure', 'perdure.config.mjs'), config);
  const made = (): string => readFileSync(join(cwd, 'made'), 'utf8');
  const terminal = onTerminal(perdure('chat', '--permission-mode', 'bypass', 'make one'), { cwd, env, columns: 150 });
  await terminal.shows('It is one.');
  await terminal.shows('completed');
  terminal.type('make two\r');
  await terminal.shows('It is two.');
  expect(made()).toBe('two');
  await terminal.shows('(⇧Tab) · /help');
  terminal.type('\u001b\u001b');
  await terminal.shows('which prompt?');
  await terminal.shows('conversation: 2 turns left behind');
  await terminal.shows('made  +1 −1');
  expect(terminal.lines().findLast((line) => line.includes('▸'))).toContain('make two');
  terminal.type('\r');
  await terminal.shows('▸ 1 the conversation and 1 file');
  terminal.type('1');
  await terminal.shows('went back: the conversation and 1 file; /rewind undo undoes it');
  await terminal.shows('› make two');
  expect(made()).toBe('one');
  terminal.type('\u0015/rewind undo\r');
  await terminal.shows('undone: the conversation and 1 file');
  expect(made()).toBe('two');
  terminal.type('\u0004');
  await terminal.ended;
});

test.each(['', 'sh -c "sh -c \'', 'npx --offline '])(
  'Ctrl-Z gives the terminal back to the shell, also with this between: %j, and fg brings the chat back (O18 O20)',
  async (between) => {
    const { cwd, env } = cliPlace(await modelFor([]));
    const own = { ...env, PS1: 'shell> ', npm_config_update_notifier: 'false' };
    const terminal = onTerminal(['bash', '--norc', '-i'], { cwd, env: own });
    const isNpx = between.startsWith('npx');
    if (isNpx) {
      const bin = join(cwd, 'node_modules', '.bin');
      mkdirSync(bin, { recursive: true });
      symlinkSync(program, join(bin, 'perdure'));
    }
    // What follows in it keeps a shell from replacing itself by the program.
    const close = between === '' || isNpx ? '' : `; true'; true"`;
    await terminal.shows('shell>');
    terminal.type(`${between}${isNpx ? 'perdure chat' : perdure('chat').join(' ')}${close}\r`);
    await terminal.shows('Ctrl-D leaves');
    terminal.type('draft');
    await terminal.shows('› draft');
    terminal.type('\u001a');
    await terminal.shows('Stopped');
    terminal.type('echo back at $((6 * 7))\r');
    await terminal.shows('back at 42');
    terminal.type('fg\r');
    await until(() => terminal.lines().findLast((line) => line !== '' && !line.includes('·')) === '› draft');
    terminal.type('\u0015\u0004');
    await until(() => terminal.lines().filter((line) => line.startsWith('shell>')).length === 4);
    terminal.type('exit\r');
    await terminal.ended;
  },
);

test.each([
  [['--plain'], {}],
  [[], { PERDURE_PLAIN: '1' }],
  [[], { TERM: 'dumb' }],
])(
  'plain (%j %j): lines in order and nothing drawn, a question is left or answered by a line, also later (O18 L55)',
  async (flags, more) => {
    const ask = [toolUse('bash', { command: 'touch made' })];
    const place = cliPlace(await modelFor([reply([text('I **will**.'), ...ask]), reply('All of it is **done**.')]));
    const { cwd, env } = place;
    const settings = { cwd, env: { ...env, ...more } };
    const run = onTerminal(perdure('run', 'make it', ...flags), settings);
    await run.shows('[i]nterrupt / [l]ater:');
    const hints = (): number => run.lines().filter((line) => line.includes('perdure approve s-')).length;
    await typeUntil(run, 'l\r', () => hints() === 2);
    const list = onTerminal(perdure('approvals', ...flags), settings);
    await list.shows('1 of 1');
    await list.shows('[i]nterrupt / [l]ater:');
    await typeUntil(list, 'y\r', () => list.lines().some((line) => line.includes('[status 0]')));
    await run.shows('[status 0]');
    expect(existsSync(join(cwd, 'made'))).toBe(true);
    const top = onTerminal(perdure('top', ...flags), settings);
    await top.shows('[status 0]');
    const written = [run, list, top].map((terminal) => terminal.raw());
    for (const raw of written) expect(raw).not.toContain('\u001b');
    expect(written[0]).toContain('All of it is **done**.');
  },
);

test('what is typed while a chat starts stands in its row, and without a key three lines say what to do (O20 O22)', async () => {
  const { cwd, env } = cliPlace(null);
  const terminal = onTerminal(perdure('chat'), { cwd, env });
  await terminal.shows('Starting…');
  terminal.type('hello there');
  await terminal.shows('demo: `perdure run --demo`.');
  await until(() => terminal.lines().includes('› hello there'));
  expect(terminal.lines().join('\n')).not.toMatch(/Starting|Temporal server/);
  terminal.type('\u0015\u0004');
  await terminal.ended;
});
