// Explains each transition to a person who hovers over it: the rule in a sentence (docs/rules.md).
import type { TransitionReason } from '../../workflows/contract/loop.ts';

const meanings: Readonly<Record<TransitionReason, string>> = {
  next_turn: 'The reply had tool calls, and their outcomes go to the model in the next turn (L46).',
  collapse_drain_retry:
    'The prompt was too long: staged short forms were put in the place of old stretches, and the call is made again (L23).',
  reactive_compact_retry:
    'The prompt was too long: it was compacted, keeping less than usual, and the call is made again (L24).',
  max_output_tokens_escalate:
    'The reply reached the output limit: the same call is made once more with a higher one (L26).',
  max_output_tokens_recovery:
    'The reply reached the output limit: what there is stays, and the model is asked to continue (L27).',
  stop_hook_blocking:
    'The model wanted to stop and a stop hook did not let it: the hook’s words go to the model (L30).',
  token_budget_continuation: 'The model wanted to stop before its token budget was spent: it is asked to go on (L31).',
  model_fallback: 'The model was overloaded, missing or refused: the run goes on with the next one of its list (L19).',
  call_as_text_retry:
    'The reply has a tool call written as text, so nothing ran: the model is told and asked again (L15).',
  structured_output_retry: 'The answer did not satisfy its JSON schema: the model is told why and answers again (L53).',
};

export function transitionMeaning(reason: TransitionReason): string {
  return meanings[reason];
}
