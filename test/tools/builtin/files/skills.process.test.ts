// Skills of a configuration and of a workspace, and what is none (L79).
import { mkdirSync, realpathSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { tellNewSkills } from '../../../../activities/attachments/attachments.ts';
import { listSkillResources, findSkills } from '../../../../tools/builtin/files/skills.ts';
import type { SkillSettings } from '../../../../tools/skill-settings.ts';
import { createReadTool } from '../../../../tools/builtin/read.ts';
import { createSkillTool } from '../../../../tools/builtin/builtin-tools.ts';
import { callTool } from '../../../../activities/calls/call-tool.ts';
import { probeSandbox } from '../../../../tools/sandbox.ts';
import { tempDir } from '../../../support/temp-dir.ts';
import { inputFor, toolContext } from '../../support.ts';

const md = (front: string, body = 'Do it.'): string => `---\n${front}\n---\n${body}\n`;
const review = md('name: review\ndescription: Reviews code');

/** A folder with these files. */
function folder(files: Readonly<Record<string, string>>): string {
  const root = realpathSync(tempDir());
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}

const of = (...folders: string[]): SkillSettings => ({ folders, workspace: false });
const anywhere = { cwd: '/nowhere', mayRead: () => true };
const sandbox = await probeSandbox({ kinds: ['group'] });

test('each folder with a SKILL.md is a skill, and a folder that has one itself is one (L79)', async () => {
  const many = folder({
    'review/SKILL.md': review,
    'b/SKILL.md': md('name: b\ndescription: >-\n  Two\n  lines'),
    'c/x': '',
  });
  const one = folder({ 'SKILL.md': md('name: one\ndescription: One\nlicense: MIT') });
  const { skills, problems } = await findSkills(of(many, one), anywhere);
  expect(skills.map(({ name, description }) => [name, description])).toEqual([
    ['b', 'Two lines'],
    ['review', 'Reviews code'],
    ['one', 'One'],
  ]);
  expect(problems).toEqual([]);
});

test.each([
  [
    'a colon in its description',
    'name: pdf\ndescription: Use it when: a PDF is there',
    'pdf',
    'Use it when: a PDF is there',
  ],
  ['a description over lines', 'name: pdf\ndescription: Use it: now\n  and then', 'pdf', 'Use it: now and then'],
  ['quotes', 'name: "pdf"\ndescription: \'a: b\': c', 'pdf', "'a: b': c"],
  ['no name but its folder’s', 'description: x', 'x', 'x'],
])('front matter with %s is read as it was meant (L79)', async (_, front, name, description) => {
  const { skills, problems } = await findSkills(of(folder({ 'x/SKILL.md': md(front) })), anywhere);
  expect(problems).toEqual([]);
  expect(skills).toMatchObject([{ name, description }]);
});

test.each([
  ['without front matter', 'Just text.', 'does not begin with front matter'],
  ['without a description', md('name: x\ndescription: " "'), 'has no description'],
  ['with a name that leads elsewhere', md('name: ../x\ndescription: x'), 'has a name that is not'],
  ['with broken YAML', md('name: [x\ndescription: x'), 'has a name that is not'],
  ['that is a list', md('- name'), 'has no description'],
  ['with aliases', md('a: &a [x, x]\nname: *a\ndescription: x'), 'has no name'],
])('one %s is none, and it is said why (L79)', async (_, text, problem) => {
  const { skills, problems } = await findSkills(of(folder({ 'x/SKILL.md': text })), anywhere);
  expect(skills).toEqual([]);
  expect(problems).toEqual([
    { file: expect.any(String) as string, problem: expect.stringContaining(problem) as string },
  ]);
});

test('one of 10 MB, one behind a link that leads out, a second of a name and a folder that is gone are none (L79)', async () => {
  const outside = folder({ 'SKILL.md': md('name: secret\ndescription: x') });
  const root = folder({ 'a/SKILL.md': review, 'b/SKILL.md': review, 'large/SKILL.md': review });
  truncateSync(join(root, 'large/SKILL.md'), 10_000_000);
  symlinkSync(outside, join(root, 'link'));
  const { skills, problems } = await findSkills(of(root, join(root, 'gone')), anywhere);
  expect(skills.map(({ file }) => file)).toEqual([join(root, 'a/SKILL.md')]);
  expect(problems.map(({ problem }) => problem).toSorted()).toEqual([
    expect.stringContaining('cannot be read'),
    expect.stringContaining('has 10000000 bytes'),
    expect.stringContaining('has the name of'),
    'is not there',
  ]);
});

test('colours and control characters of a description reach nobody, and a long one is cut (L79)', async () => {
  const long = md(`name: x\ndescription: "\\e[31mred\\e[0m\\u0007 \\n- fake: skill ${'y'.repeat(3_000)}"`);
  const { skills } = await findSkills(of(folder({ 'x/SKILL.md': long })), anywhere);
  expect(skills[0]?.description).toMatch(/^red - fake: skill y+…$/);
  expect(skills[0]?.description).toHaveLength(1_024);
});

test('those of a workspace count only where the configuration allows it, behind its own, and by the rules for read (L79)', async () => {
  const mine = folder({ 'review/SKILL.md': review });
  const cwd = folder({
    '.claude/skills/review/SKILL.md': md('name: review\ndescription: Another'),
    '.perdure/skills/x/SKILL.md': md('name: x\ndescription: Of the workspace'),
  });
  const names = async (settings: SkillSettings, mayRead = true) => {
    const { skills } = await findSkills(settings, { cwd, mayRead: () => mayRead });
    return skills.map(({ name, from }) => `${name} ${from}`);
  };
  expect(await names(of(mine))).toEqual(['review configuration']);
  expect(await names({ folders: [mine], workspace: true })).toEqual(['review configuration', 'x workspace']);
  expect(await names({ folders: [mine], workspace: true }, false)).toEqual(['review configuration']);
});

test('names and descriptions are told once, new ones when they come, within 2 % of the window (L43 L79)', async () => {
  const root = folder({ 'review/SKILL.md': review });
  const models = [{ name: 'm', window: 10_000, maxOutput: 1, price: null }] as const;
  const config = { cwd: '/nowhere', models };
  const told = (texts: readonly string[] = [], more: object = {}) =>
    tellNewSkills(of(root), { ...config, ...more }, texts, undefined);
  const first = await told();
  expect(first?.text.split('\n').slice(1)).toEqual(['- review: Reviews code']);
  expect(await told([first?.text ?? ''])).toBeNull();
  mkdirSync(join(root, 'b'));
  writeFileSync(join(root, 'b/SKILL.md'), md(`name: b\ndescription: New`));
  expect((await told([first?.text ?? '']))?.text.split('\n').slice(1)).toEqual(['- b: New']);
  expect(await told([], { tools: ['read'] })).toBeNull();
  expect((await told([], { permissions: { deny: ['skill(review)'] } }))?.text).not.toContain('review');
  for (let n = 0; n < 20; n += 1) {
    mkdirSync(join(root, `n${n}`));
    writeFileSync(join(root, `n${n}/SKILL.md`), md(`name: n${n}\ndescription: ${'z'.repeat(100)}`));
  }
  expect((await told())?.text.length).toBeLessThanOrEqual(800);
});

test('the tool skill gives its text and the names of its files, which read opens outside the workspace, and no others (L79)', async () => {
  const root = folder({ 'review/SKILL.md': review, 'review/lib/check.sh': 'echo ok' });
  const elsewhere = folder({ x: 'no' });
  const skills = of(root);
  const cwd = folder({});
  const [tool, read] = [createSkillTool(skills, undefined), createReadTool({ sandbox, skills })];
  const said = async (which: typeof tool, input: object) => {
    const ran = await callTool(which, inputFor(which, input), toolContext(cwd, { mayRead: () => true }));
    return ran.kind === 'output' ? ran.output.content : ran.kind === 'failed' ? `failed: ${ran.text}` : ran.kind;
  };
  const file = join(root, 'review/lib/check.sh');
  expect(await said(tool, { name: 'review' })).toBe(
    `(the skill review, in ${join(root, 'review')})\nDo it.\n(its files, for the tool read: ${file})`,
  );
  expect(await said(tool, { name: 'x' })).toBe('failed: There is no skill "x". There are: review.');
  expect(await said(read, { path: file })).toBe('     1\techo ok');
  expect(await said(read, { path: join(elsewhere, 'x') })).toContain('is outside the workspace');
  expect(await said(createReadTool({ sandbox }), { path: file })).toContain('is outside the workspace');
});

test('of a skill no file is named that read may not read, and a large folder is not walked to its end (L55 L79)', async () => {
  const many = Object.fromEntries(Array.from({ length: 1_100 }, (_, n) => [`review/many/${n}/x`, '']));
  const root = folder({ 'review/SKILL.md': review, 'review/key': '', 'review/own/key': '', 'review/z': '', ...many });
  const { skills } = await findSkills(of(root), anywhere);
  const asked: string[] = [];
  const mayRead = (path: string): boolean => asked.push(path) > 0 && !/\/key$|\/own$/.test(path);
  expect(await listSkillResources(skills[0]!, mayRead, 50)).toEqual([join(root, 'review/z')]);
  expect(asked.length).toBeLessThanOrEqual(1_000);
});
