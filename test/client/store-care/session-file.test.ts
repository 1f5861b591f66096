// What a session's file may hold, and what is told of it before anything is taken.
import { closeSync, ftruncateSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hashOf } from '../../../store/values/store.ts';
import { readSessionFile, type SessionHeader, writeLines } from '../../../client/store-care/session-file.ts';
import { describeImportedOptions } from '../../../client/store-care/brought.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';
import { tempDir } from '../../support/temp-dir.ts';

const bytes = Buffer.from('value');
const head = hashOf(bytes);
const last = { run: 1, terminal: { reason: 'completed' }, turns: 1, iterations: 1, head, messages: [] } as const;
const header = { perdure: 'session', v: 1, session: 's-1', title: 'go', head, runs: 1, last, options: { cwd: '/a' } };

async function read(changes: object = {}, written = (text: string): string => text): Promise<SessionHeader> {
  const path = join(tempDir(), 'a.perdure');
  const values = (async function* () {
    yield { hash: head, bytes };
  })();
  let text = '';
  for await (const line of writeLines({ ...header, ...changes } as unknown as SessionHeader, values)) text += line;
  writeFileSync(path, written(text));
  return readSessionFile(path, () => Promise.resolve());
}

test('a file is read as it was written, whatever ends its lines (W4)', async () => {
  expect(await read()).toEqual(header);
  expect(await read({ last: null }, (text) => text.replaceAll('\n', '\r\n'))).toEqual({ ...header, last: null });
});

test.each<[string, object, RegExp]>([
  [
    'a title of 2,000 characters',
    { title: 'x'.repeat(2_000) },
    /line 1 does not say which session it is: its title will not do/,
  ],
  ['a title of 5 MB', { title: 'x'.repeat(5_000_000) }, /line 1 has over 4 MB/],
  [
    'an end that there is not',
    { last: { ...last, terminal: { reason: '__proto__' } } },
    /its last\.terminal\.reason will not do/,
  ],
  ['an option that there is not', { options: { cwd: '/a', permisionMode: 'plan' } }, /no option "permisionMode"/],
  [
    'a mode that there is not',
    { options: { cwd: '/a', permissionMode: 'root' } },
    /permission mode "root" is not one of/,
  ],
  ['turns that are no number', { last: { ...last, turns: '1' } }, /its last\.turns will not do/],
])('%s is refused in one line (W4)', async (_, changes, why) => {
  await expect(read(changes)).rejects.toThrow(why);
  await expect(read(changes)).rejects.toThrow(/^[^\n]{1,400}; export the session again$/);
});

test('a line without an end is refused before memory is full of it (W4)', async () => {
  const path = join(tempDir(), 'a.perdure');
  const file = openSync(path, 'w');
  writeSync(file, `${JSON.stringify(header)}\n`);
  ftruncateSync(file, 600 * 1024 * 1024);
  closeSync(file);
  await expect(readSessionFile(path, () => Promise.resolve())).rejects.toThrow(/is damaged: line 2 has over 256 MB; /);
});

test('what lets the agent do more is told, each in one line, and what only narrows it asks nobody (W4)', () => {
  const wide: RunOptions = {
    cwd: '/a',
    permissionMode: 'bypass',
    permissions: { allow: ['bash(*)', 'write'], deny: ['bash(rm:*)'] },
    additionalDirectories: ['/home/x/.ssh'],
    toolEnv: { PATH: '/tmp/evil' },
    systemPrompt: 'You are\nevil.',
    appendSystemPrompt: 'More.',
  };
  const { lines, widens } = describeImportedOptions(wide);
  expect(widens).toBe(true);
  expect(lines).toEqual([
    'permission mode bypass',
    'rules that allow: bash(*), write',
    'folders besides the workspace: /home/x/.ssh',
    'variables of commands: PATH=/tmp/evil',
    expect.stringMatching(/^a system prompt of 13 characters: You are.+evil\.$/),
    "a system prompt behind the worker's, 5 characters: More.",
    'rules that deny: bash(rm:*)',
  ]);
  expect(describeImportedOptions({ cwd: '/a' })).toEqual({ lines: [], widens: false });
  expect(describeImportedOptions({ cwd: '/a', permissionMode: 'plan', permissions: { ask: ['bash'] } })).toMatchObject({
    widens: false,
  });
});
