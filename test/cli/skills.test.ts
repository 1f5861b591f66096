// perdure skills: what runs may load, and why a file is no skill.
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mainHere } from '../support/cli-here.ts';
import { tempDir } from '../support/temp-dir.ts';

async function listed(config: object) {
  const cwd = realpathSync(tempDir());
  for (const [name, text] of [
    ['a', '---\nname: a\ndescription: "Does\\e[1m a"\n---\n'],
    ['b', 'no front matter'],
  ] as const) {
    mkdirSync(join(cwd, '.claude/skills', name), { recursive: true });
    writeFileSync(join(cwd, '.claude/skills', name, 'SKILL.md'), text);
  }
  const file = join(tempDir(), 'config.mjs');
  writeFileSync(file, `export default ${JSON.stringify(config)};`);
  const env = { PATH: process.env['PATH'], HOME: tempDir(), PERDURE_DATA: join(tempDir(), 'data') };
  const ran = await mainHere(['skills', '--config', file], { cwd: () => cwd, env, input: '' });
  return { ...ran, cwd };
}

test('lists skills with their files on standard output, and says on standard error why others are none (L79)', async () => {
  const { status, out, err, cwd } = await listed({ workspaceSkills: true });
  expect([status, out]).toEqual([0, `a: Does a\n  ${join(cwd, '.claude/skills/a/SKILL.md')}\n`]);
  expect(err).toContain('.claude/skills/b/SKILL.md does not begin with front matter');
});

test('says how skills are configured where none are (L79)', async () => {
  const { status, out, err } = await listed({});
  expect([status, out]).toEqual([0, '']);
  expect(err).toContain('name their folders in the configuration ("skills")');
});

test('refuses a configuration whose folder of skills is half a path, or everything (L79)', async () => {
  for (const folder of ['skills', '/x/..']) {
    const { status, err } = await listed({ skills: [folder] });
    expect([status, err]).toEqual([2, expect.stringContaining('give the absolute path of a folder, and not the root')]);
  }
});
