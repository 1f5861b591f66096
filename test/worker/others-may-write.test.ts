// Files that choose policy, which another user of the machine could write: they are refused in one
// line that says what to do.
import { chmodSync, chownSync, lchownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../worker/config/load-config.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A configuration folder of a user. */
function settings() {
  const root = tempDir();
  const folder = join(root, '.config', 'perdure');
  const skill = join(root, 'skills', 'review');
  mkdirSync(folder, { recursive: true });
  mkdirSync(skill, { recursive: true });
  writeFileSync(join(skill, 'SKILL.md'), '---\nname: review\ndescription: how to review\n---\n');
  const file = join(folder, 'perdure.config.mjs');
  const skills = join(root, 'skills');
  writeFileSync(file, `export default { maxTurns: 3, skills: [${JSON.stringify(skills)}] };`);
  for (const path of [root, folder, skill, skills, join(root, '.config')]) chmodSync(path, 0o755);
  for (const path of [file, join(skill, 'SKILL.md')]) chmodSync(path, 0o644);
  return { root, folder, file, skills, skill, load: (named?: string) => loadConfig(named, { HOME: root }) };
}

const refused = (what: string, at: string, mode: string): string =>
  `${what} is not used, for ${at} can be written by other users of this machine: run \`chmod ${mode} ${at}\``;

describe('a configuration that others may write is not used', () => {
  test('one that nobody else may write is', async () => {
    const { load, file } = settings();
    expect(await load()).toMatchObject({ path: file, config: { maxTurns: 3 } });
  });

  test.each([
    ['the file itself', ({ file }: ReturnType<typeof settings>) => file, 0o646],
    ['its folder', ({ folder }: ReturnType<typeof settings>) => folder, 0o777],
    ['a folder above', ({ root }: ReturnType<typeof settings>) => root, 0o757],
  ])('%s', async (_what, of, mode) => {
    const place = settings();
    chmodSync(of(place), mode);
    const message = refused(`the configuration ${place.file}`, of(place), 'o-w');
    await expect(place.load()).rejects.toMatchObject({ name: 'ConfigProblem', message });
    chmodSync(of(place), 0o755);
    expect(await place.load()).toMatchObject({ path: place.file });
  });

  test('a group of others may not write either; a folder where nobody takes names away may be open', async () => {
    const { load, file, folder, root } = settings();
    chmodSync(root, 0o1777);
    chmodSync(file, 0o664);
    // The group of the user's own number and name is the user's alone.
    expect(await load()).toMatchObject({ path: file });
    if (process.getuid?.() !== 0) return;
    chownSync(folder, 0, 12_345);
    chmodSync(folder, 0o775);
    await expect(load()).rejects.toMatchObject({ message: refused(`the configuration ${file}`, folder, 'g-w') });
  });

  test('one of another user, or in a folder of theirs, or that a link of such a folder leads to', async () => {
    const { load, file, folder, root } = settings();
    const open = join(root, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    symlinkSync(file, join(open, 'linked.mjs'));
    await expect(load(join(open, 'linked.mjs'))).rejects.toThrow(`run \`chmod o-w ${open}\``);
    renameSync(file, join(open, 'real.mjs'));
    symlinkSync(join(open, 'real.mjs'), file);
    await expect(load()).rejects.toThrow(`run \`chmod o-w ${open}\``);
    if (process.getuid?.() !== 0) return;
    chmodSync(open, 0o755);
    for (const at of [folder, join(open, 'real.mjs'), file]) {
      lchownSync(at, 65_534, 65_534);
      await expect(load()).rejects.toThrow(
        `is not used, for ${at} belongs to another user of this machine (65534), who may change it: run \`chown 0 ${at}\``,
      );
      lchownSync(at, 0, 0);
    }
  });
});

test('skills that a configuration names are held to the same', async () => {
  const { load, file, skills, skill } = settings();
  for (const at of [skills, skill, join(skill, 'SKILL.md')]) {
    chmodSync(at, 0o777);
    const message = refused(`a folder of skills of the configuration ${file}`, at, 'o-w');
    await expect(load()).rejects.toMatchObject({ message });
    chmodSync(at, 0o755);
  }
  expect(await load()).toMatchObject({ path: file });
});

test('so is the configuration of Temporal, which says whose server decides', () => {
  const path = join(tempDir(), 'temporal.toml');
  writeFileSync(path, '[profile.default]\naddress = "127.0.0.1:7233"\n');
  const env = { TEMPORAL_CONFIG_FILE: path };
  expect(resolveConnection(env)).toMatchObject({ address: '127.0.0.1:7233' });
  chmodSync(path, 0o666);
  expect(() => resolveConnection(env)).toThrow(refused(`the Temporal configuration ${path}`, path, 'o-w'));
});
