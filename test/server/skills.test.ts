// Skills of a configuration and of a workspace, on a real server (L79).
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { harness } from '../support/harness.ts';
import { tempDir } from '../support/temp-dir.ts';

function addSkill(folder: string, name: string, description: string): string {
  mkdirSync(join(folder, name), { recursive: true });
  const text = `---\nname: ${name}\ndescription: ${description}\n---\nAs ${name} says.\n`;
  writeFileSync(join(folder, name, 'SKILL.md'), text);
  return folder;
}

test('skills are told of once, new ones when they come, also over handovers, and one is loaded with its files (L4 L43 L79)', async () => {
  const skills = addSkill(tempDir(), 'review', 'Reviews code');
  const list = join(skills, 'review', 'list.txt');
  writeFileSync(list, 'tests\n');
  const h = await harness({
    script: (_request, n) => {
      if (n === 2) addSkill(skills, 'later', 'Came later');
      const calls = [
        toolUse('skill', { name: 'review' }),
        toolUse('read', { path: list }),
        toolUse('skill', { name: 'own' }),
      ];
      return calls[n - 1] ? reply([calls[n - 1] as ReturnType<typeof toolUse>]) : reply('Done.');
    },
    worker: { config: { skills: [skills], workspaceSkills: true, permissions: { deny: ['skill(own)'] } } },
    handover: { ...defaultHandover, iterations: 1 },
  });
  addSkill(join(h.cwd, '.claude/skills'), 'own', 'Of the workspace');
  addSkill(join(h.cwd, '.claude/skills'), 'kept', 'Of the workspace');
  const session = await h.open('Review it.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 4 });
  const last = JSON.stringify(h.bodies().at(-1)?.messages);
  expect(last.match(/- review: Reviews code/g)).toHaveLength(1);
  expect(last.match(/- kept \(of the workspace\): Of the workspace/g)).toHaveLength(1);
  expect(last.match(/- later: Came later/g)).toHaveLength(1);
  expect(last).not.toContain('- own');
  expect(JSON.stringify(h.bodies()[0]?.messages)).not.toContain('later');
  expect(last).toContain('As review says.');
  expect(last).toContain('1\\ttests');
  expect(last).toContain('denies it');
});
