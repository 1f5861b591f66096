// What a run gets when neither its caller nor its worker chose (L57).
import type { RunDefaults } from '../activities/deps.ts';
import { defaultBackoff } from '../activities/model/backoff.ts';
import { DEFAULT_MODEL, modelTable } from '../activities/model/models.ts';
import { DEFAULT_SYSTEM_PROMPT } from '../activities/system-prompt.ts';

export const runDefaults: RunDefaults = {
  model: DEFAULT_MODEL,
  models: modelTable,
  permissionMode: 'default',
  systemPrompt: DEFAULT_SYSTEM_PROMPT,
  maxTurns: 500,
  outputCap: 8_000,
  backoff: defaultBackoff,
  stallMs: 120_000,
};
