// A session that comes in a file: what it brings is said, and asked about where it lets the agent
// do more.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';

test('what a file brings is said before it is taken up, and needs --yes where nobody can be asked (W4)', async () => {
  const from = cliPlace(await modelFor([reply('Done.')]));
  const options = ['--permission-mode', 'bypass', '--allow', 'bash(*)', '--system-prompt', 'You count.'];
  expect(await from.run('run', ...options, '--session', 's-moved', 'Count.')).toMatchObject({ status: 0 });
  const file = join(from.cwd, 'moved.perdure');
  expect(await from.run('export', 's-moved', file)).toMatchObject({ status: 0 });
  const to = cliPlace(null);
  const refused = await to.run('import', file);
  expect([refused.status, refused.out]).toEqual([2, '']);
  for (const line of [
    'it brings permission mode bypass\n',
    'it brings rules that allow: bash(*)\n',
    'it brings a system prompt of 10 characters: You count.\n',
    `perdure: ${file} lets the agent do, or tells it, the above: pass --yes to import it\n`,
  ])
    expect(refused.err).toContain(line);
  expect((await to.run('list', '--json')).out).toBe('');
  const taken = await to.run('import', '--yes', file);
  expect([taken.status, taken.out]).toEqual([0, 's-moved\n']);
  expect(taken.err).toContain('it brings permission mode bypass\n');
});
