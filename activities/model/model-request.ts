import type {
  MessageCreateParamsStreaming,
  OutputConfig,
  ThinkingConfigParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { BetaTokenTaskBudget } from '@anthropic-ai/sdk/resources/beta/messages';

/** The stable request, and the fields of betas that we use. */
export type ModelRequest = Omit<MessageCreateParamsStreaming, 'output_config' | 'thinking'> & {
  output_config?: OutputConfig & { task_budget?: BetaTokenTaskBudget };
  compaction?: { type: 'summarize'; instructions: string };
  thinking?: ThinkingConfigParam & { block_binding?: { prefix_mismatch_behavior: 'error' | 'drop_block' } };
};
