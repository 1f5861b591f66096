// Turns a configuration into defaults for the options of runs (L57).
import { present } from '../../workflows/contract/present.ts';
import type { RunDefaults } from '../../activities/deps.ts';
import { agentSettings } from './agents.ts';
import { CONFIG_KEYS, type KeysFor, type PerdureConfig } from './config.ts';
import { runDefaults } from './defaults.ts';

type DefaultsOfRuns = Pick<PerdureConfig, KeysFor<'runs'>>;

export function defaultsOfConfig(config: PerdureConfig): Partial<RunDefaults> {
  const ofRuns = Object.entries(CONFIG_KEYS)
    .filter(([, { use }]) => use === 'runs')
    .map(([name]) => [name, config[name as keyof PerdureConfig]] as const);
  const { maxOutputTokens, compaction, agents, agentLimits, webSearch, ...plain } = Object.fromEntries(
    ofRuns,
  ) as DefaultsOfRuns;
  return present({
    ...plain,
    outputCap: maxOutputTokens,
    webSearch: webSearch ? (webSearch === true ? {} : webSearch) : undefined,
    agents: agents || agentLimits ? agentSettings(agents, agentLimits) : undefined,
    compaction: compaction && { ...runDefaults.compaction, ...compaction },
  });
}
