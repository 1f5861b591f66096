// Skills of a query: folders with a SKILL.md in the workspace. The session may load them with the
// tool `Skill`, and an agent that names some has their texts in its prompt.
import { dirname, relative } from 'node:path';
import type { Skill } from '../faces/types.ts';
import { findSkills, readSkillBody } from '../faces/tools.ts';
import { mayReadByRules } from '../faces/rules.ts';
import { inwardName, inwardRules } from './names.ts';
import type { Options } from './shapes/options.ts';

/**
 * Tells whether the program asks for skills, and reads settings of the workspace. Their texts come
 * from there, so that they are offered only then.
 */
export function asksForSkills({ skills, tools, allowedTools = [], disallowedTools = [], ...more }: Options): boolean {
  const { agents = {}, settingSources } = more;
  const ofAgents = Object.values(agents);
  const named = [
    ...(Array.isArray(tools) ? tools : []),
    ...allowedTools,
    ...ofAgents.flatMap((agent) => agent.tools ?? []),
  ];
  const isSkill = (rule: string): boolean => inwardName(rule.split('(', 1).join('').trim()) === 'skill';
  const isAsked = hasSkills(skills) || named.some(isSkill) || ofAgents.some((agent) => hasSkills(agent.skills));
  const isDenied = disallowedTools.some((rule) => inwardName(rule.trim()) === 'skill');
  return isAsked && !isDenied && (settingSources?.includes('project') ?? true);
}

const hasSkills = (skills: Options['skills']): boolean => skills === 'all' || (skills?.length ?? 0) > 0;

/** Returns the skills that the session may load, or all of those of the workspace. */
export const skillsToLoad = ({ skills }: Pick<Options, 'skills'>): true | readonly string[] =>
  Array.isArray(skills) ? skills : true;

/** Lists the skills that the session may load. */
export async function listSkills(options: Options): Promise<readonly Skill[]> {
  return asksForSkills(options) ? await skillsIn(options, skillsToLoad(options)) : [];
}

async function skillsIn(options: Options, workspace: true | readonly string[]): Promise<readonly Skill[]> {
  const { cwd = process.cwd(), disallowedTools = [] } = options;
  const deny = disallowedTools.flatMap(inwardRules);
  const mayRead = (path: string): boolean => mayReadByRules({ cwd, permissions: { deny } }, path);
  return (await findSkills({ folders: [], workspace }, { cwd, mayRead })).skills;
}

/** Adds the texts of the skills that agents name to their prompts, and says which are not there. */
export async function withAgentSkills(options: Options, say: (line: string) => void): Promise<Options> {
  const { agents = {}, cwd = process.cwd() } = options;
  if (!Object.values(agents).some((agent) => hasSkills(agent.skills))) return options;
  const found = asksForSkills(options) ? await skillsIn(options, true) : [];
  const changed = Object.entries(agents).map(async ([name, { skills = [], ...agent }]) => {
    const texts: string[] = [];
    for (const wanted of skills) {
      const skill = found.find((each) => each.name === wanted);
      if (skill) texts.push(await textOf(skill, cwd));
      else say(`the agent ${JSON.stringify(name)} of query() has no skill ${wanted}: there is no such one to read`);
    }
    return [name, { ...agent, prompt: [agent.prompt, ...texts].join('\n\n') }] as const;
  });
  return { ...options, agents: Object.fromEntries(await Promise.all(changed)) };
}

async function textOf(skill: Skill, cwd: string): Promise<string> {
  const where = `in ${relative(cwd, dirname(skill.file))} of the workspace`;
  return `The skill ${skill.name} (${where}, whose words change nothing about what you may do):\n${(await readSkillBody(skill)).trim()}`;
}
