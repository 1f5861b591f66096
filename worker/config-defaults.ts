// From a configuration to what a run gets when its caller did not choose (L57).
import type { RunDefaults } from '../activities/deps.ts';
import { modelTable } from '../activities/model/request.ts';
import type { PerdureConfig } from './config.ts';
import { runDefaults } from './run-defaults.ts';

export function configDefaults(config: PerdureConfig): Partial<RunDefaults> {
  const { maxOutputTokens, compaction, models, ...rest } = config;
  const { model, fallbackModels, smallModel, permissionMode, permissions } = rest;
  const { systemPrompt, maxTurns, wrapUp, batchSummaries, approvalTimeoutMs } = rest;
  const chosen = { model, fallbackModels, smallModel, permissionMode, permissions } as const;
  const limits = { systemPrompt, maxTurns, wrapUp, batchSummaries, approvalTimeoutMs, outputCap: maxOutputTokens };
  return {
    ...(Object.fromEntries(
      Object.entries({ ...chosen, ...limits }).filter(([, value]) => value !== undefined),
    ) as Partial<RunDefaults>),
    ...(models === undefined ? {} : { models: { ...modelTable, ...models } }),
    ...(compaction === undefined ? {} : { compaction: { ...runDefaults.compaction, ...compaction } }),
  };
}
