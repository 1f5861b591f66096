// What can happen to a run, and what the machine then wants done. `perform` turns a move into the next event.
import type { Append, Call, ModelResult, OutcomeFacts, OutcomeItem } from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import type { StopCause, Terminal } from '../contract/loop.ts';
import type { UserMessage } from '../contract/session.ts';
import type { Transition } from './transitions.ts';

export type Event =
  /** Time to call the model: the run was opened, went round, or came back from parking or a handover. */
  | { readonly kind: 'ready' }
  /** The model call ended; `step` names its live file. `stop` is what cancelled it, if anything did. */
  | { readonly kind: 'model'; readonly result: ModelResult; readonly step: number; readonly stop: StopCause | null }
  | ToolsRan
  | { readonly kind: 'stopped'; readonly stop: StopCause };

/** Every call of the reply has an outcome. `results` are in the model's order, one for each of `calls`. */
export type ToolsRan = {
  readonly kind: 'tools_ran';
  readonly calls: readonly Call[];
  readonly results: readonly CallResult[];
  /** The reply's last tool_use was cut by max_tokens (L15). */
  readonly cut: boolean;
  readonly stop: StopCause | null;
  /** User messages waiting at this moment (L43). */
  readonly queued: readonly UserMessage[];
};

/** `item` is null when the outcome was stored with the reply (L37). */
export type CallResult = { readonly item: OutcomeItem | null; readonly facts: OutcomeFacts };

export type Move =
  | { readonly do: 'call_model' }
  | { readonly do: 'run_tools'; readonly calls: readonly Call[]; readonly cut: boolean }
  /** Wait until `until` (milliseconds since the epoch) with nothing running (L14). */
  | { readonly do: 'park'; readonly until: number }
  | { readonly do: 'go_round'; readonly transition: Transition }
  /** `keep`: the head to end on, when a cut reply is kept (L28). */
  | { readonly do: 'end'; readonly terminal: Terminal; readonly append: readonly Append[]; readonly keep?: Hash };
