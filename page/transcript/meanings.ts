// Explains each transition to a person who hovers over it: the rule in a sentence (docs/rules.md).
import type { TransitionReason } from '../../client/faces/types.ts';

const meanings: Readonly<Record<TransitionReason, string>> = {
  next_turn: 'The reply had tool calls; their results go to the model in the next turn (L46).',
  collapse_drain_retry:
    'The prompt was too long, so older parts were replaced by their summaries and the call was retried (L23).',
  reactive_compact_retry:
    'The prompt was too long, so it was compacted more than usual and the call was retried (L24).',
  max_output_tokens_escalate: 'The reply hit the output limit, so the call was retried with a higher one (L26).',
  max_output_tokens_recovery: 'The reply hit the output limit. It was kept, and the model was asked to continue (L27).',
  goal_revision: 'The goal was not met when it was graded; the grader’s reasons go to the model (X10).',
  stop_hook_blocking: 'A stop hook prevented the model from stopping; its message goes to the model (L30).',
  token_budget_continuation: 'The model stopped before its token budget was spent, so it was asked to continue (L31).',
  model_fallback: 'The model was overloaded, missing or refused, so the run continues with the next one (L19).',
  call_as_text_retry: 'The reply had a tool call written as text, so nothing ran. The model was asked again (L15).',
  structured_output_retry: 'The answer didn’t match its JSON schema, so the model was asked again (L53).',
};

export function transitionMeaning(reason: TransitionReason): string {
  return meanings[reason];
}
