// Turns a configuration into defaults for the options of runs (L57).
import { present } from '../../workflows/contract/present.ts';
import type { RunDefaults } from '../../activities/deps.ts';
import { agentSettings } from './agents.ts';
import type { PerdureConfig } from './config.ts';
import { runDefaults } from './defaults.ts';

export function defaultsOfConfig(config: PerdureConfig): Partial<RunDefaults> {
  const { maxOutputTokens, compaction, agents, agentLimits, webSearch, ...rest } = config;
  const { model, fallbackModels, smallModel, models, effort, permissionMode, permissions, additionalDirectories } =
    rest;
  const { systemPrompt, instructions, memory, consolidateMemoryAfter, suggestPrompts } = rest;
  const { maxTurns, wrapUp, batchSummaries, approvalTimeoutMs } = rest;
  const notes = { memory, consolidateMemoryAfter, suggestPrompts };
  const context = { systemPrompt, instructions, additionalDirectories, ...notes };
  const chosen = { model, fallbackModels, smallModel, models, effort, permissionMode, permissions } as const;
  const { firstByteMs, stallMs, requestMs, overflowWords, toolNames } = rest;
  const limits = { maxTurns, wrapUp, batchSummaries, approvalTimeoutMs, outputCap: maxOutputTokens };
  const server = { firstByteMs, stallMs, requestMs, overflowWords, toolNames };
  return {
    ...present({ ...chosen, ...context, ...limits, ...server }),
    ...present({
      webSearch: webSearch ? (webSearch === true ? {} : webSearch) : undefined,
      agents: agents || agentLimits ? agentSettings(agents, agentLimits) : undefined,
      compaction: compaction && { ...runDefaults.compaction, ...compaction },
    }),
  };
}
