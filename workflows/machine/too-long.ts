// A prompt too long, or media too large: commit what is staged, compact, then say so (L23–L25).
import type { Compacted } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import type { Move } from './events.ts';
import { blocked } from './prepare.ts';
import type { RunState } from './state.ts';
import { showError } from './show-error.ts';

type Because = NonNullable<Extract<Move, { do: 'compact' }>['because']>;

export function tooLong(state: RunState, rules: Rules, because: Because): Move {
  if (because.reason === 'prompt_too_long' && state.staged.length > 0 && !state.drained) {
    return {
      do: 'go_round',
      transition: {
        reason: 'collapse_drain_retry',
        append: [{ kind: 'collapse_committed', count: state.staged.length }],
      },
    };
  }
  if (rules.compaction.enabled && !state.compacted) return { do: 'compact', trigger: 'reactive', because };
  return showError(because);
}

/** The compaction that was to help is over. */
export function afterReactive(state: RunState, rules: Rules, result: Compacted, because: Because): Move {
  if (result.kind !== 'compacted') return showError(because);
  return tooClose(state, rules) ?? { do: 'go_round', transition: { reason: 'reactive_compact_retry', append: [] } };
}

/** L10: a conversation that fills its window again at once cannot be helped by one more compaction. */
export function tooClose({ compaction }: RunState, rules: Rules): Move | null {
  if (compaction.close < rules.compaction.maxClose) return null;
  return blocked(
    `The context was compacted ${compaction.close} times within a few turns and is full again. ` +
      'What the last turns bring in is too large: ask for smaller parts, or start a new session.',
  );
}
