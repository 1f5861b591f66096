// Folders of uploaded skills below /mnt, as the tools of a session use them, in each sandbox there is.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callTool } from '../../../activities/calls/call-tool.ts';
import { Skills } from '../../../store/values/skills.ts';
import { writeZip } from '../../../system/zip.ts';
import { createRunRegistries } from '../../../tools/builtin/run-tools.ts';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';
import { createRegistry } from '../../../tools/registry.ts';
import type { Sandbox } from '../../../tools/sandbox.ts';
import type { RunMount } from '../../../workflows/contract/mounts.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandboxes = await workingSandboxes();
const confining = sandboxes.filter(({ kind }) => kind === 'bwrap');
const any = sandboxes.at(-1) as Sandbox;
const VERSION = 'skillver_1';
const AT = '/mnt/skills/tables';
const version = { skill: 'skill_1', name: 'tables', description: 'Makes tables.', createdAt: 0 };
const archive = writeZip([
  { path: 'tables/SKILL.md', bytes: Buffer.from('Run scripts/sum.sh.'), isExecutable: false },
  { path: 'tables/scripts/sum.sh', bytes: Buffer.from('#!/bin/sh\necho "sum $1"\n'), isExecutable: true },
]);

async function place(sandbox: Sandbox = any) {
  const uploadedSkills = new Skills(memoryStore(), Date.now);
  await uploadedSkills.keepVersion(VERSION, version, archive);
  const cwd = join(tempFolder(), 'sesn_a');
  mkdirSync(cwd, { recursive: true });
  const open = (id = VERSION) => {
    const mounts: readonly RunMount[] = [{ path: AT, access: 'read_only', skill: id }];
    const options = { sandbox, dataDir: tempFolder(), uploadedSkills };
    const base = createRegistry(createBuiltinTools(options));
    const registry = createRunRegistries(base, options)({ toolset: 'agent_toolset_20260401', mounts, cwd });
    return async (name: string, input: unknown): Promise<string> => {
      const tool = registry.get(name)!;
      const ran = await callTool(tool, inputFor(tool, input), toolContext(cwd, { session: 'sesn_a' }));
      if (ran.kind === 'failed') return `failed: ${ran.text}`;
      if (ran.kind !== 'output') throw new Error(ran.kind);
      return ran.output.content;
    };
  };
  return { cwd, open, folder: `${cwd}.mnt/skills/tables`, state: `${cwd}.mnt-state/${VERSION}` };
}

test('file tools read the files of a skill below /mnt, and write none of them (G64)', async () => {
  const { open, folder } = await place();
  const run = open();
  expect(await run('read', { file_path: `${AT}/SKILL.md` })).toContain('Run scripts/sum.sh.');
  expect(await run('glob', { pattern: `${AT}/**/*.sh` })).toContain(`${AT}/scripts/sum.sh`);
  expect(await run('grep', { pattern: 'echo', path: AT })).toContain(`${AT}/scripts/sum.sh:2:`);
  for (const name of ['SKILL.md', 'new.md'])
    expect(await run('write', { file_path: `${AT}/${name}`, content: 'x' })).toContain('outside the workspace');
  expect(await run('read', { file_path: `${AT}/../../../etc/passwd` })).toMatch(/^failed: /);
  expect(readdirSync(folder).toSorted()).toEqual(['SKILL.md', 'scripts']);
  expect(statSync(join(folder, 'scripts/sum.sh')).mode & 0o777).toBe(0o555);
});

test.each(confining.map((sandbox) => [sandbox.kind, sandbox] as const))(
  'a command in %s runs the scripts of a skill and changes none (G64)',
  async (_, sandbox) => {
    const { open, folder } = await place(sandbox);
    const run = open();
    expect(await run('bash', { command: `${AT}/scripts/sum.sh 7` })).toContain('sum 7');
    const changes = `cd ${AT}; chmod u+w SKILL.md; echo x > SKILL.md; rm -rf scripts; touch new; ls`;
    expect(await run('bash', { command: changes })).toContain('SKILL.md\nscripts');
    expect(readFileSync(join(folder, 'SKILL.md'), 'utf8')).toBe('Run scripts/sum.sh.');
  },
);

test('a folder is laid once by calls side by side, and what a killed worker left of one counts for nothing (G64)', async () => {
  const { open, folder, state } = await place();
  mkdirSync(join(state, 'new'), { recursive: true });
  writeFileSync(join(state, 'new/SKILL.md'), 'half');
  const read = (run: ReturnType<typeof open>) => run('read', { file_path: `${AT}/SKILL.md` });
  const answers = await Promise.all([open(), open(), open()].map(read));
  for (const answer of answers) expect(answer).toContain('Run scripts/sum.sh.');
  const { ino } = statSync(folder);
  await read(open());
  expect([statSync(folder).ino, existsSync(join(state, 'new'))]).toEqual([ino, false]);
});

test('a skill whose files are gone from the store fails the call, and leaves no folder (G64)', async () => {
  const { open, folder } = await place();
  await expect(open('skillver_2')('read', { file_path: `${AT}/SKILL.md` })).rejects.toThrow('skillver_2 are missing');
  expect(existsSync(folder)).toBe(false);
});
