// What people are told when a run opens, of files that are no skills for it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openRun } from '../../../activities/run/open-run.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';
import { benchDeps, fakeAttempt } from '../../support/bench-deps.ts';
import { tempDir } from '../../support/temp-dir.ts';

async function told(files: Readonly<Record<string, string>>, options: Partial<RunOptions> = {}, runs = 1) {
  const cwd = tempDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  const { deps, lines } = await benchDeps({ script: [] });
  const open = openRun({ ...deps, skills: { folders: [], workspace: true } });
  for (let run = 1; run <= runs; run += 1)
    await open(fakeAttempt(), { chain: 'c', run, step: run, options: { cwd, ...options } });
  return lines.flatMap((line) =>
    line.type === 'notice' && line.notice.kind === 'about_skills' ? [line.notice.text.replaceAll(cwd, '.')] : [],
  );
}

const good = '---\nname: good\ndescription: Helps.\n---\nDo it.\n';
const bad = '---\nname: bad\n---\nDo it.\n';

test('a file that is no skill is told to watchers with its reason, once in a session (L79)', async () => {
  const files = { '.claude/skills/good/SKILL.md': good, '.claude/skills/bad/SKILL.md': bad };
  expect(await told(files, {}, 2)).toEqual(['left out as a skill: ./.claude/skills/bad/SKILL.md has no description']);
});

test('of many that are none some are named, and it is said where the others are (L79)', async () => {
  const files = Array.from({ length: 9 }, (_, at) => [`.claude/skills/s${at}/SKILL.md`, bad]);
  const lines = await told(Object.fromEntries(files) as Record<string, string>);
  expect(lines).toHaveLength(6);
  expect(lines.at(-1)).toBe('left out as skills: 4 more, which `perdure skills` lists');
});

test('a run that may load none is told of none (L79)', async () => {
  expect(await told({ '.claude/skills/bad/SKILL.md': bad }, { tools: ['read'] })).toEqual([]);
});
