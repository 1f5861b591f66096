// perdure rewind: what it says before, as text and as JSON, and that it goes back to the beginning.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';

test('a rewind of the only prompt says its plan on stdout, does it, and undoes it, also as JSON (T6 T7 T9)', async () => {
  const { cwd, run } = cliPlace(
    await modelFor([reply([toolUse('bash', { command: 'echo b >> a; printf x > made.ts' })]), reply('Made.')]),
  );
  writeFileSync(join(cwd, 'a'), 'a\n');
  const options = ['--permission-mode', 'bypass', '--snapshots', '--session', 's-1'];
  expect(await run('run', ...options, 'Make it.')).toMatchObject({ status: 0 });
  const plan = [
    'the conversation goes back to its beginning, before the prompt "Make it.": 2 turns left behind',
    'a  +0 −1',
    'deleted made.ts  +0 −1',
    '2 files changed (+0 −2)',
    'may have done more than change files:',
    '  bash echo b >> a; printf x > made.ts',
    '',
  ].join('\n');
  expect(await run('rewind', 's-1', '--dry-run')).toMatchObject({ status: 0, out: plan });
  const [dry] = jsonLines((await run('rewind', 's-1', '--dry-run', '--json')).out);
  expect(dry).toMatchObject({ session: 's-1', position: 0, turns: 2, notLooked: null, problems: [], rewound: null });
  expect(dry).not.toHaveProperty('rewind');
  writeFileSync(join(cwd, 'a'), 'mine\n');
  const refused = await run('rewind', 's-1');
  expect(refused.err.match(/no worker runs: this process does that itself/g)).toHaveLength(1);
  expect(refused).toMatchObject({ status: 2, out: expect.stringContaining('this would stop it:\n  a was changed') });
  expect(refused.err).toContain('a was changed by someone else');
  const [done] = jsonLines((await run('rewind', 's-1', '--force', '--json')).out);
  expect(done).toMatchObject({ rewound: { to: null, files: [{ files: 2 }] } });
  expect([readFileSync(join(cwd, 'a'), 'utf8'), existsSync(join(cwd, 'made.ts'))]).toEqual(['a\n', false]);
  expect((await run('rewind', 's-1')).err).toContain('This session has no prompts, so there is nothing to rewind');
  expect((await run('show', 's-1', '--all')).out).toContain('Made.');
  expect((await run('list')).out).toContain('Make it.');
  const [undone] = jsonLines((await run('rewind', 's-1', '--undo', '--json')).out);
  expect(undone).toMatchObject({ session: 's-1', turns: 0, rewound: { files: [{ files: 2 }] } });
  expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('mine\n');
  expect((await run('rewind', 's-1', '--undo', '--all')).status).toBe(2);
});
