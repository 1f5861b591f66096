// Names the skills that a run may load to the model, each once (L79).
import type { RunConfig } from '../../store/configuration.ts';
import { inSentNames, namesToSend } from '../../store/transcript/tool-names.ts';
import { isListed } from '../../tools/listed.ts';
import { findSkills, type Skill, type SkillSettings } from '../../tools/builtin/files/skills.ts';
import { mayReadByRules, findTouchingRule } from '../../tools/rules/match-rules.ts';
import { CHARACTERS_PER_TOKEN } from '../../workflows/contract/tokens.ts';
import type { View } from '../../store/view/view.ts';
import type { Attachment } from './prefetch.ts';

const SKILLS = 'skills';

const HEAD = 'Skills for the tool `skill`. Load one when the task fits it:';
/** The share of the window for all skills that are named between two summaries. */
const SHARE = 0.02;

type SkillConfig = Pick<RunConfig, 'cwd' | 'permissions' | 'tools' | 'models' | 'toolNames'>;

/**
 * Names the skills that are new. `told` are the texts that this has returned since the model's view
 * began. Null: nothing is new. Skills without room are left out, from the end.
 */
export async function tellNewSkills(
  settings: SkillSettings,
  config: SkillConfig,
  told: readonly string[],
  hidden: string | undefined,
): Promise<Attachment | null> {
  const { cwd, permissions = {}, tools, models } = config;
  if (!isListed(tools, 'skill')) return null;
  const { skills } = await findSkills(settings, { cwd, hidden, mayRead: (path) => mayReadByRules(config, path) });
  const known = new Set(told.flatMap((text) => text.split('\n')));
  const isDenied = ({ name }: Skill): boolean =>
    findTouchingRule(permissions.deny, { tool: { name: 'skill' }, cwd, subject: () => ({ kind: 'name', name }) }) !==
    undefined;
  const lines = skills
    .filter((skill) => !isDenied(skill))
    .map(writeLine)
    .filter((line) => !known.has(line));
  let left =
    models[0].window * CHARACTERS_PER_TOKEN * SHARE - told.reduce((sum, text) => sum + text.length, HEAD.length);
  const fitting = lines.filter((line) => (left -= line.length + 1) >= 0);
  return fitting.length === 0
    ? null
    : { source: SKILLS, text: [inSentNames(HEAD, namesToSend(config.toolNames, [])), ...fitting].join('\n') };
}

/** Returns the texts of `tellNewSkills` that the model still sees. */
export function findToldSkills(view: View): readonly string[] {
  const texts: string[] = [];
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'boundary') break;
    if (entry?.kind !== 'notice' || entry.notice.kind !== 'attachment') continue;
    if (entry.notice.source === SKILLS) texts.push(entry.notice.text);
  }
  return texts;
}

function writeLine({ name, description, from }: Skill): string {
  return `- ${name}${from === 'workspace' ? ' (of the workspace)' : ''}: ${description}`;
}
