// Words behind a slash: which are commands, and what each asks of the session.
import { expect, test, vi } from 'vitest';
import { slashCommand, slashHelp } from '../../../cli/chat/slash-commands.ts';
import type { Talk } from '../../../cli/chat/talk.ts';
import { createPaint } from '../../../client/paint.ts';
import { description, session } from '../../client/support.ts';

const aside = {
  answer: 'Three\nfiles.',
  cut: false,
  model: 'claude-a',
  usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 0 },
  costUsd: 0.01,
};

function talking() {
  const done = () => Promise.resolve();
  const sessions = {
    describe: () => Promise.resolve(description({ phase: 'idle' })),
    interrupt: vi.fn(done),
    resume: vi.fn(done),
    cancel: vi.fn(done),
    setOptions: vi.fn(done),
    topUp: vi.fn(done),
    askAside: vi.fn(() => Promise.resolve(aside)),
    diff: vi.fn(() => Promise.resolve({ files: [], patch: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n' })),
  };
  const said: string[] = [];
  const [leave, setMode] = [vi.fn(), vi.fn()];
  const talk = {
    setMode,
    sessions,
    session,
    self: 'perdure',
    say: (line: string) => void said.push(line),
    cwd: '/w',
    out: createPaint(false),
    leave,
  };
  return { talk: talk as unknown as Talk, sessions, said, leave, setMode };
}

const run = async (text: string) => {
  const place = talking();
  await slashCommand(text)?.(place.talk);
  return place;
};

test('words and paths are no commands, a word that is none is refused with one that is near (O20)', () => {
  for (const text of ['hello', ' /help', '/etc/hosts says', '/']) expect(slashCommand(text)).toBeNull();
  expect(() => slashCommand('/modle x')).toThrow('there is no /modle: did you mean model?');
});

test('each asks of the session what the command line asks (O20)', async () => {
  const { sessions } = await run('/model claude-a');
  expect(sessions.setOptions.mock.calls).toEqual([[session, { model: 'claude-a' }]]);
  expect((await run('/model none')).sessions.setOptions.mock.calls).toEqual([[session, { model: null }]]);
  expect((await run('/mode plan')).setMode.mock.calls).toEqual([['plan']]);
  await expect(run('/mode plann')).rejects.toThrow('plann');
  expect((await run('/turns 9')).sessions.topUp.mock.calls).toEqual([[session, { maxTurns: 9 }]]);
  expect((await run('/budget 2.5')).sessions.topUp.mock.calls).toEqual([[session, { maxBudgetUsd: 2.5 }]]);
  for (const name of ['interrupt', 'resume', 'cancel'] as const)
    expect((await run(`/${name}`)).sessions[name].mock.calls).toEqual([[session]]);
  expect((await run('/exit')).leave).toHaveBeenCalledOnce();
});

test('/btw asks aside, and says the answer with what it took (O20)', async () => {
  const { sessions, said } = await run('/btw what have you found?');
  expect(sessions.askAside.mock.calls).toEqual([[session, 'what have you found?']]);
  expect(said).toEqual([
    'asked on the side: the run continues',
    'Three\nfiles.',
    'aside, by claude-a · 6 tokens · $0.01',
  ]);
  expect((await run('/btw what\nelse?')).sessions.askAside.mock.calls).toEqual([[session, 'what\nelse?']]);
  await expect(async () => run('/btw')).rejects.toThrow('add a question after it');
});

test('what cannot be is said before anything is sent (O20)', async () => {
  await expect(async () => run('/model')).rejects.toThrow('add a model after it');
  await expect(async () => run('/mode loud')).rejects.toThrow('loud');
  await expect(async () => run('/turns many')).rejects.toThrow('is not a number');
});

test('/help lists them all, /status tells how the session stands (O20)', async () => {
  expect((await run('/help')).said).toEqual(slashHelp());
  expect((await run('/status')).said[0]).toMatch(/^session s-1 · idle · /);
});

test('/diff shows the patch, of a path where one is named, and says how to see the rest of a long one (O20)', async () => {
  const { sessions, said } = await run('/diff src/x');
  expect(sessions.diff.mock.calls).toEqual([[session, { paths: ['src/x'] }]]);
  expect(said).toEqual(['--- a/x', '+++ b/x', '@@ -1 +1 @@', '-one', '+two']);
  const long = talking();
  long.sessions.diff.mockResolvedValue({ files: [], patch: '+line\n'.repeat(1_000) });
  await slashCommand('/diff')?.(long.talk);
  expect(long.said.slice(399)).toEqual(['+line', `… 600 more lines: \`perdure diff ${session}\` prints all`]);
});
