// The options of a run when neither its caller nor its worker chose them (L57).
import type { RunDefaults } from '../../activities/deps.ts';
import { catalogue } from '../../models/catalogue.ts';
import { agentDefaults } from '../../tools/agent-types.ts';
import { defaultBackoff, FIRST_BYTE_MS } from '../../store/configuration.ts';
import { DEFAULT_SYSTEM_PROMPT } from '../../store/system-prompt.ts';

export const runDefaults: RunDefaults = {
  model: catalogue.default,
  fallbackModels: [],
  smallModel: catalogue.small,
  models: {},
  compaction: { enabled: true, collapse: true, warning: 0.7, critical: 0.85, maxFailures: 3, maxClose: 3 },
  batchSummaries: false,
  approvalTimeoutMs: 7 * 24 * 3_600_000,
  permissionMode: 'default',
  systemPrompt: DEFAULT_SYSTEM_PROMPT,
  agents: agentDefaults,
  instructions: true,
  memory: false,
  consolidateMemoryAfter: 20,
  suggestPrompts: false,
  maxTurns: 500,
  maxSameResults: 100,
  wrapUp: false,
  backoff: defaultBackoff,
  firstByteMs: FIRST_BYTE_MS,
  stallMs: 300_000,
};
