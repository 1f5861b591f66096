// Tells people, when a run opens, what is not known of its models (X1), which files are no skills
// for it (L79), and which tools of MCP servers are not in its requests (L74). Each is told once in
// a session.
import type { Notice } from '../../workflows/contract/activities.ts';
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import type { Deps } from '../deps.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { describeDeferral } from '../../tools/find-tools.ts';
import { findSkills } from '../../tools/builtin/files/skills.ts';
import { isListed } from '../../tools/listed.ts';
import { mayReadByRules } from '../../tools/rules/match-rules.ts';
import { chooseTools, countTokens } from '../../tools/deferred-tools.ts';
import { writePriceLine } from './run-models.ts';

/** The number of texts that a worker remembers to have told a session's watchers. */
const MOST_TOLD = 1_000;
/** The number of files without a skill that one run names. */
const MOST_FILES = 5;

export function createRunNews(
  deps: Pick<Deps, 'skills' | 'dataDir' | 'tools' | 'servers' | 'runServers'>,
): (config: RunConfig) => Promise<readonly Notice[]> {
  const toldTexts = new RecentMap<string, true>(MOST_TOLD);
  return async (config) => {
    const ofModels = config.models.flatMap((model) => describeUnknown(model) ?? []);
    const all = [
      ...ofModels.map((text) => ({ kind: 'about_model', text }) as const),
      ...listAboutTools(deps, config).map((text) => ({ kind: 'about_tools', text }) as const),
      ...(await listBrokenSkills(deps, config)).map((text) => ({ kind: 'about_skills', text }) as const),
    ];
    return all.filter(({ text }) => {
      const key = `${config.session} ${text}`;
      const isNew = !toldTexts.get(key);
      toldTexts.set(key, true);
      return isNew;
    });
  };
}

/** Says for people what is not known of a model; null where all is known that matters to a run. */
function describeUnknown({ name, price, window, assumed }: RunModel): string | null {
  if (!assumed && price !== null) return null;
  const size = assumed ? `nothing is known of ${name}, and a window of ${window} tokens is assumed` : null;
  const cost =
    price === null ? `what ${name} costs is not known: ${writePriceLine(name)} in a configuration says it` : null;
  return [size, cost].filter((part) => part !== null).join('; ');
}

/** Says which tools are left to be found and which are left out; an agent's watchers were told. */
function listAboutTools(
  { tools, servers, runServers }: Pick<Deps, 'tools' | 'servers' | 'runServers'>,
  config: RunConfig,
): readonly string[] {
  if (config.agent) return [];
  const offered = tools.definitionsOf(config).filter(({ name }) => isListed(config.tools, name));
  const { deferred } = chooseTools(offered, config.deferAbove);
  const leftOut = [...(servers?.leftOut() ?? []), ...(runServers?.leftOut(config.mcpServers) ?? [])];
  return [...describeDeferral(deferred.length, countTokens(deferred)), ...leftOut];
}

/**
 * Lists files that are no skills. An agent has the skills of the session that began it, whose
 * watchers were told.
 */
async function listBrokenSkills(
  { skills, dataDir: hidden }: Pick<Deps, 'skills' | 'dataDir'>,
  config: RunConfig,
): Promise<readonly string[]> {
  if (!skills || config.agent || !isListed(config.tools, 'skill')) return [];
  const { cwd } = config;
  const { problems } = await findSkills(skills, { cwd, hidden, mayRead: (path) => mayReadByRules(config, path) });
  const lines = problems.slice(0, MOST_FILES).map(({ file, problem }) => `left out as a skill: ${file} ${problem}`);
  const others = problems.length - lines.length;
  return others === 0 ? lines : [...lines, `left out as skills: ${others} more, which \`perdure skills\` lists`];
}
