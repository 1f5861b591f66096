// How skills belong to agents and sessions (G64): which versions, where their folders are, and what
// the agent reads about them.
import type { z } from 'zod';
import type { Skills } from '../../client/faces/stored.ts';
import type { Resources, RunMount, SkillItem } from '../../client/faces/types.ts';
import { invalid, unsupported } from '../errors.ts';
import type { AgentVersion } from '../log/stored.ts';
import type { skills } from '../shapes/agents.ts';
import { readVersion } from './skill-resources.ts';

/** Skills of a session, those of all of its agents together. */
const MOST_SKILLS = 20;
const LATEST = 'latest';
const MOUNT = '/mnt/skills';
/** Where the SDK's worker lays skills, seen from its folder. */
const BOXED = 'skills';

type SkillParams = z.output<typeof skills>;
type AgentSkills = AgentVersion['skills'];

/** A version of a skill that a session has. */
export type SessionSkill = { readonly version: string; readonly name: string; readonly description: string };

/** Returns the skills as an agent keeps them, `latest` as that. Throws ManagedError. */
export async function chooseSkills(stored: Skills, chosen: SkillParams, path: string): Promise<AgentSkills> {
  return chosen.length === 0 ? [] : checkSkills(await stored.log.read(), chosen, path);
}

function checkSkills(items: Resources<SkillItem>, chosen: SkillParams, path: string): AgentSkills {
  if (chosen.length > MOST_SKILLS) throw invalid(`${path}: at most ${MOST_SKILLS} skills`, path);
  return chosen.map(({ type, skill_id, version }, at) => {
    const where = `${path}.${at}`;
    if (type === 'anthropic')
      throw unsupported(where, 'skills of Anthropic are not here: upload one of your own, of the type "custom"');
    const item = items.get(skill_id);
    const wanted = version ?? LATEST;
    if (!item) {
      const why = `skill ${JSON.stringify(skill_id.slice(0, 80))} was not found`;
      throw invalid(`${where}.skill_id: ${why}`, where, 'skill_not_found');
    }
    if (wanted !== LATEST && !item.versions.includes(wanted))
      throw invalid(`${where}.version: it is no version of skill ${skill_id}`, where, 'skill_not_found');
    return { type, skill_id, version: wanted };
  });
}

/** Returns the skills as a session begins with them, in versions. Throws ManagedError. */
export async function pinSkills(stored: Skills, chosen: AgentSkills): Promise<AgentSkills> {
  if (chosen.length === 0) return chosen;
  const items = await stored.log.read();
  const pinned = checkSkills(items, chosen, 'agent.skills').map(({ version, ...skill }) => ({
    ...skill,
    version: version === LATEST ? items.get(skill.skill_id)!.versions.at(-1)! : version,
  }));
  refuseSameName(await readSkills(stored, pinned));
  return pinned;
}

/** Each skill has a folder of its name. */
function refuseSameName(own: readonly SessionSkill[]): void {
  const twice = own.find(({ name }, at) => own.findIndex((other) => other.name === name) < at);
  if (twice) throw invalid(`agent: two of its skills are named ${JSON.stringify(twice.name)}`, 'agent');
}

/** Returns what the skills of a session's agent say of themselves. */
export const readSkills = (stored: Skills, pinned: AgentSkills): Promise<readonly SessionSkill[]> =>
  Promise.all(
    pinned.map(async ({ version }) => {
      const { name, description } = await readVersion(stored, version);
      return { version, name, description };
    }),
  );

/** The folders as tools of this deployment see them. */
export const mountsOfSkills = (own: readonly SessionSkill[]): readonly RunMount[] =>
  own.map(({ version, name }) => ({ path: `${MOUNT}/${name}`, access: 'read_only', skill: version }));

/** Returns facts for the system prompt, by name. */
export function describeSkills(own: readonly SessionSkill[], isBoxed: boolean): Readonly<Record<string, string>> {
  if (own.length === 0) return {};
  const root = isBoxed ? BOXED : MOUNT;
  const lines = own.map(({ name, description }) => `- ${root}/${name}/SKILL.md: ${description}`);
  return { skills: [INTRODUCTION, ...lines].join('\n') };
}

const INTRODUCTION =
  'Each of these files has instructions for a kind of task. Read one when a task fits it, before you begin; the paths in it begin in its own folder, which is read-only.';
