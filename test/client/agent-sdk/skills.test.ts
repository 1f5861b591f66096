// Checks which skills a query has, and what an agent knows of those that it names.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { query } from '../../../client/agent-sdk/index.ts';
import { initMessage } from '../../../client/agent-sdk/messages.ts';
import { translateOptions } from '../../../client/agent-sdk/options.ts';
import { listSkills, withAgentSkills } from '../../../client/agent-sdk/skills.ts';
import { findSkills } from '../../../tools/builtin/files/skills.ts';
import { checkConfig } from '../../../worker/config/config.ts';
import type { Options } from '../../../client/agent-sdk/shapes/options.ts';

const cwd = mkdtempSync(join(tmpdir(), 'perdure-skills-'));
beforeAll(() => {
  for (const name of ['release', 'review']) {
    mkdirSync(join(cwd, '.claude/skills', name), { recursive: true });
    writeFileSync(
      join(cwd, '.claude/skills', name, 'SKILL.md'),
      `---\ndescription: About ${name}.\n---\nDo the ${name}.\n`,
    );
  }
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const quiet = (): void => undefined;
const configOf = (options: Options) => translateOptions({ cwd, ...options }, quiet).config;

test.each<[string, Options, true | readonly string[] | undefined]>([
  ['all skills', { skills: 'all' }, true],
  ['some skills', { skills: ['release'] }, ['release']],
  ['the tool in allowedTools', { allowedTools: ['Skill', 'Read'], settingSources: ['project'] }, true],
  ['the tool in tools', { tools: ['Skill'] }, true],
  ['an agent with the tool', { agents: { a: { description: 'd', prompt: 'p', tools: ['Skill'] } } }, true],
  ['nothing of it', { allowedTools: ['Read'] }, undefined],
  ['no settings of the workspace', { skills: 'all', settingSources: [] }, undefined],
  ['the tool in disallowedTools', { skills: 'all', disallowedTools: ['Skill'] }, undefined],
])('a query that names %s has the skills that it asks for (Q7 L79)', (_what, options, expected) => {
  const config = configOf(options);
  expect(config.workspaceSkills).toEqual(expected);
  expect(() => checkConfig(config, 'the options')).not.toThrow();
  const { tools } = initMessage('s', { cwd, ...options }, cwd);
  expect(tools.includes('Skill')).toBe(expected !== undefined);
});

test('the skills of a query are listed, but for those that it leaves out or may not read (Q7 L79)', async () => {
  const names = async (options: Options) => (await listSkills({ cwd, ...options })).map(({ name }) => name);
  expect(await names({ skills: 'all' })).toEqual(['release', 'review']);
  expect(await names({ skills: ['review'] })).toEqual(['review']);
  expect(await names({ skills: 'all', disallowedTools: ['Read(.claude/skills/release/**)'] })).toEqual(['review']);
  expect(await names({})).toEqual([]);
  const { skills } = await query({ prompt: 'x', options: { cwd, skills: ['review'] } }).reloadSkills();
  expect(skills).toEqual([{ name: 'review', description: 'About review.', argumentHint: '' }]);
  const mayRead = () => true;
  expect((await findSkills({ folders: [], workspace: [] }, { cwd, mayRead })).skills).toEqual([]);
});

test('an agent has the texts of its skills in its prompt, and the program hears which are not there (Q7)', async () => {
  const agents = { a: { description: 'd', prompt: 'Help.', skills: ['release', 'missing'] } };
  const said: string[] = [];
  const options = await withAgentSkills({ cwd, agents }, (line) => said.push(line));
  const prompt = options.agents?.['a']?.prompt ?? '';
  expect(prompt).toMatch(
    /^Help\.\n\nThe skill release \(in \.claude\/skills\/release of the workspace, .*\):\nDo the release\.$/,
  );
  expect(said).toEqual(['the agent "a" of query() has no skill missing: there is no such one to read']);
  expect(configOf(options).agents?.['a']).toMatchObject({ systemPrompt: prompt });
  const isolated = await withAgentSkills({ cwd, agents, settingSources: [] }, quiet);
  expect(isolated.agents?.['a']?.prompt).toBe('Help.');
});

test('memory and an initial prompt of an agent are passed over, said so, and unknown fields are refused (Q7)', () => {
  const said: string[] = [];
  const agent = { description: 'd', prompt: 'p' };
  const types = (more: object) =>
    translateOptions({ cwd, agents: { a: { ...agent, ...more } } }, (line) => said.push(line));
  expect(() => types({ memory: 'project', initialPrompt: 'x', skills: [], observer: undefined })).not.toThrow();
  expect(said).toEqual([
    expect.stringMatching(/^the agent "a" of query\(\) has memory, which is passed over: it remembers nothing/),
    expect.stringMatching(/^the agent "a" of query\(\) has initialPrompt, which is passed over/),
  ]);
  expect(() => types({ observer: 'b' })).toThrow('has "observer", which is not known here: leave it out');
});
