// What a step appends to the transcript, as the workflow says it: hashes, ids and the loop's own words.
import type { CallKey, Hash, MessageId } from './ids.ts';
import type { RunLimit, Spend, TransitionReason } from './loop.ts';
import type { MessageBody, RunSummary } from './session.ts';

/** What every step is given that stores something: it appends to `head`, or stores nothing. `step` names its live file. */
export type AppendingStep = {
  readonly head: Hash | null;
  readonly append: readonly Append[];
  readonly config: Hash;
  /** Counts activities of the session. */
  readonly step: number;
  readonly iteration: number;
};

/** Something to append to the transcript before the next thing happens. Built from inputs only, so that a retry hashes the same. */
export type Append =
  | { readonly kind: 'run_started'; readonly run: number; readonly config: Hash; readonly at: number }
  | { readonly kind: 'user'; readonly id: MessageId; readonly body: MessageBody }
  | { readonly kind: 'outcomes'; readonly items: readonly OutcomeItem[] }
  | { readonly kind: 'notice'; readonly notice: Notice }
  /** The oldest `count` staged collapses that are not committed yet are shown short from here on (L9). */
  | { readonly kind: 'collapse_committed'; readonly count: number }
  /** Positions of entries that the model no longer sees (L7). */
  | { readonly kind: 'snip'; readonly entries: readonly number[] }
  | { readonly kind: 'transition'; readonly iteration: number; readonly reason: TransitionReason }
  | { readonly kind: 'run_ended'; readonly ended: RunEnded }
  | { readonly kind: 'session_closed'; readonly notTaken: readonly MessageId[] };

/**
 * The outcome of the call at block `index` of the last reply: what `runTool` recorded under `key`; without a record, or
 * without a key because it never ran, `note` as an error.
 */
export type OutcomeItem = {
  readonly index: number;
  readonly key?: CallKey;
  readonly note?: string;
  /** Of the note: it may have taken effect. */
  readonly unknown?: true;
};

/** Things said by the loop itself. `toModel` text is sent to the model as user text; the others are for people. */
export type Notice =
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'continue' }
  | { readonly kind: 'call_cut' }
  | { readonly kind: 'max_turns_reached'; readonly limit: number; readonly turnNotTaken: number }
  /** The run is about to reach this limit and is to sum up (L51). Told to the model. */
  | { readonly kind: 'wrap_up'; readonly limit: RunLimit }
  | { readonly kind: 'error'; readonly text: string }
  /** `calls`: names of the calls that the abandoned attempt had started (L19). Told to the model, but for `detail`, the reason. */
  | {
      readonly kind: 'model_switched';
      readonly from: string;
      readonly to: string;
      readonly calls: readonly string[];
      readonly detail: string;
    }
  /** A stop hook's blocking error, told to the model (L30). */
  | { readonly kind: 'stop_hook'; readonly text: string }
  /** Told to the model: output tokens spent and wanted (L31). */
  | { readonly kind: 'token_budget'; readonly spent: number; readonly budget: number }
  /** Told to the model: why its final answer will not do (L53). */
  | { readonly kind: 'structured_output'; readonly problem: string }
  /** What a hook adds to the conversation. Told to the model. */
  | { readonly kind: 'hook_context'; readonly hook: string; readonly text: string }
  /** Files the agent has read or written that someone else changed since (L43). Told to the model. */
  | { readonly kind: 'files_changed'; readonly paths: readonly string[]; readonly files?: readonly SeenFile[] }
  /** A notification or a memory (L43). Told to the model. */
  | { readonly kind: 'attachment'; readonly source: string; readonly text: string }
  /** What the last batch of calls did, in a line, for people (L42). */
  | { readonly kind: 'batch_summary'; readonly text: string }
  /** For people; `spent`: autocompact is off for the rest of the run (L10). */
  | { readonly kind: 'compaction_failed'; readonly detail: string; readonly spent: boolean }
  /** The transcript went on from here when what came after was damaged. Told to the model. */
  | { readonly kind: 'repaired'; readonly lost: string }
  /** A hook that crashed or timed out, for people (L30). */
  | { readonly kind: 'hook_failed'; readonly hook: string; readonly detail: string };

/** A file as the agent knows it, by absolute path. Milliseconds since the epoch, bytes; both 0 when it was `gone`. */
export type SeenFile = {
  readonly path: string;
  readonly mtimeMs: number;
  readonly size: number;
  readonly gone?: true;
};

/** `head` is not in it: the entry is part of what the head hashes. */
export type RunEnded = Omit<RunSummary, 'head'> & {
  readonly spend: Spend;
  readonly durationMs: number;
  readonly at: number;
};
