// The entries that a step appends to the transcript, as the workflow names them: hashes, ids and
// the loop's own words.
import type { OutcomeItem } from './calls.ts';
import type { FilesEntry } from './rewind.ts';
import type { AgentNews, AgentSpending } from './delegation.ts';
import type { QuerySource } from './facts.ts';
import type { ForkNotice } from './fork.ts';
import type { Goal, GradedNotice, GradingNotice } from './goals.ts';
import type { HostChanged } from './hosts.ts';
import type { Hash, MessageId } from './ids.ts';
import type { RunLimit, Spend, TransitionReason } from './loop.ts';
import type { MessageBody, SystemMessage } from './people.ts';
import type { RunSummary } from './session.ts';
import type { SteeringRecord } from './steered.ts';
import type { BudgetEntry, SettledEntry, WaitEntry } from './waits.ts';

/**
 * The input of every step that stores something: it appends to `head`, or stores nothing. `step`
 * names its live file.
 */
export type AppendingStep = {
  readonly head: Hash | null;
  readonly append: readonly Append[];
  readonly config: Hash;
  /** The number of the activity in its session. */
  readonly step: number;
  readonly iteration: number;
};

/**
 * Something to append to the transcript before the next thing happens. It is built from inputs
 * only, so that a retry hashes the same.
 */
export type Append =
  | RunStarted
  | UserEntry
  | { readonly kind: 'outcomes'; readonly items: readonly OutcomeItem[] }
  /** Stored as a notice, with the agent's last words (L71). */
  | { readonly kind: 'agent_ended'; readonly ended: AgentNews }
  | { readonly kind: 'notice'; readonly notice: Notice }
  /** What was captured when the session left its host. Only people are told. */
  | FilesEntry
  /**
   * The oldest `count` staged collapses that are not committed yet are shown short from here on
   * (L9).
   */
  | { readonly kind: 'collapse_committed'; readonly count: number }
  /**
   * Stored as the prepared boundary, or not at all where the summarised entries have changed since
   * (L9).
   */
  | { readonly kind: 'prepared_boundary'; readonly boundary: Hash }
  /** `entries`: positions of entries that the model no longer sees (L7). */
  | { readonly kind: 'snip'; readonly entries: readonly number[] }
  /** Only readers of the transcript are told (G37). */
  | WaitEntry
  | SettledEntry
  | BudgetEntry
  /** Only people are told (O12). */
  | { readonly kind: 'steered'; readonly steered: SteeringRecord }
  | { readonly kind: 'transition'; readonly iteration: number; readonly reason: TransitionReason }
  | { readonly kind: 'run_ended'; readonly ended: RunEnded }
  | { readonly kind: 'session_closed'; readonly notTaken: readonly MessageId[] };

/**
 * The beginning of a run. `at`: milliseconds since the epoch. `budgetUsd`: the session's budget
 * (G69); absent without one.
 */
export type RunStarted = {
  readonly kind: 'run_started';
  readonly run: number;
  readonly config: Hash;
  readonly at: number;
  readonly budgetUsd?: number;
};

/**
 * A message of a user. `by` is the sender's name, and `querySource` says how the message came,
 * where that is known (O12). `goal`: what must be true at the natural end of its run (X10).
 */
export type UserEntry = {
  readonly kind: 'user';
  readonly id: MessageId;
  readonly body: MessageBody;
  readonly by?: string;
  readonly querySource?: QuerySource;
  readonly goal?: Goal;
};

/**
 * Things said by the loop itself. Some are sent to the model as user text; the others are for
 * people.
 */
export type Notice =
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'continue' }
  | { readonly kind: 'call_cut' }
  | { readonly kind: 'max_turns_reached'; readonly limit: number; readonly turnNotTaken: number }
  /** The run is about to reach this limit and is to sum up (L51). The model is told. */
  | { readonly kind: 'wrap_up'; readonly limit: RunLimit }
  /** The run before ended for this limit. The model is told. */
  | { readonly kind: 'budget_spent'; readonly limit: 'cost' | 'tokens' }
  | { readonly kind: 'error'; readonly text: string }
  /**
   * `calls`: names of the calls that the abandoned attempt had started (L19). The model is told all
   * but `detail`, the reason.
   */
  | {
      readonly kind: 'model_switched';
      readonly from: string;
      readonly to: string;
      readonly calls: readonly string[];
      readonly detail: string;
    }
  /** A stop hook's blocking error. The model is told (L30). */
  | { readonly kind: 'stop_hook'; readonly text: string }
  | GradingNotice
  | GradedNotice
  /** Output tokens spent and wanted. The model is told (L31). */
  | { readonly kind: 'token_budget'; readonly spent: number; readonly budget: number }
  /**
   * The reply has a call of this tool as text, so nothing ran. The model is told, and asked again;
   * `again`: it has done so once more, and only people are told (L15).
   */
  | { readonly kind: 'call_as_text'; readonly name: string; readonly again?: true }
  /**
   * As many replies in a row called these tools and got only what they had got before. The model is
   * told; with `forPeople` only people are (L34).
   */
  | {
      readonly kind: 'same_results';
      readonly calls: readonly string[];
      readonly times: number;
      readonly forPeople?: true;
    }
  /** Why the model's final answer is not valid. The model is told (L53). */
  | { readonly kind: 'structured_output'; readonly problem: string }
  /** A text that a hook adds to the conversation. The model is told. */
  | { readonly kind: 'hook_context'; readonly hook: string; readonly text: string }
  /**
   * Files that the agent has read or written, and that someone else has changed since. The model is
   * told (L43).
   */
  | { readonly kind: 'files_changed'; readonly paths: readonly string[]; readonly files?: readonly SeenFile[] }
  /** A notification or a memory. The model is told (L43). */
  | { readonly kind: 'attachment'; readonly source: string; readonly text: string }
  /** The last batch of calls in a line. Only people are told (L42). */
  | { readonly kind: 'batch_summary'; readonly text: string }
  /** Only people are told. `spent`: autocompact is off for the rest of the run (L10). */
  | { readonly kind: 'compaction_failed'; readonly detail: string; readonly spent: boolean }
  /** The transcript went on from here because later entries were damaged. The model is told. */
  | { readonly kind: 'repaired'; readonly lost: string }
  /** A property of a model that is unknown. Only people are told (X1). */
  | { readonly kind: 'about_model'; readonly text: string }
  /** A file that is not a skill, although it lies where skills do. Only people are told (L79). */
  | { readonly kind: 'about_skills'; readonly text: string }
  /** Tools of MCP servers that are left to be found, or left out. Only people are told (L74). */
  | { readonly kind: 'about_tools'; readonly text: string }
  /**
   * An MCP server of the run that cannot be reached, and why. `unauthorized`: it refused the
   * worker's credentials, or wants some. Only people are told (G40).
   */
  | { readonly kind: 'server_away'; readonly server: string; readonly detail: string; readonly unauthorized?: true }
  /** A hook that crashed or timed out. Only people are told (L30). */
  | { readonly kind: 'hook_failed'; readonly hook: string; readonly detail: string }
  /**
   * The differences from the system prompt and tools that were sent first (L44, L58). The model is
   * told.
   */
  | PreambleChanged
  /** The model is told as by its system prompt, never as by a user (G46). */
  | ({ readonly kind: 'system_message' } & SystemMessage)
  /**
   * So many items of work in a row, of which `work` is the last, ended without a heartbeat of their
   * workers. Only people are told (G78).
   */
  | { readonly kind: 'workers_silent'; readonly work: string; readonly items: number; readonly at: number }
  /** The session goes on from a point of another one (T10). */
  | ForkNotice
  | HostChanged;

/**
 * `ended`: names of parts that no longer hold. `toolsGone`: tools that were removed; `toolsBack`:
 * tools that are there again.
 */
export type PreambleChanged = {
  readonly kind: 'preamble_changed';
  readonly parts: readonly SystemPart[];
  readonly ended: readonly string[];
  readonly toolsGone: readonly string[];
  readonly toolsBack: readonly string[];
  /** Definitions, for models that take tools from messages. */
  readonly toolsNew?: readonly Readonly<Record<string, unknown>>[];
  /**
   * The message that tells it, in an epoch that uses the role system: a user's, or one of that
   * role, with the tools or without. Absent from those of earlier releases.
   */
  readonly by?: 'user' | 'system' | 'tools';
};

/**
 * A part of a system prompt. The name is words for the model, and stays when the text changes.
 * `foreign`: its author is not the person who runs the agent, but an MCP server or a hook; a change
 * of it is told as a user's words.
 */
export type SystemPart = { readonly name: string; readonly text: string; readonly foreign?: true };

/**
 * A file as the agent knows it, by absolute path. Times in milliseconds since the epoch, sizes in
 * bytes; both 0 when it was `gone`.
 */
export type SeenFile = {
  readonly path: string;
  readonly mtimeMs: number;
  readonly size: number;
  readonly gone?: true;
};

/**
 * The end of a run, as its entry has it. `head` is absent: the entry is part of what the head
 * hashes.
 */
export type RunEnded = Omit<RunSummary, 'head'> & {
  /** The spending of the run and its agents. */
  readonly spend: Spend;
  /** Agents that have ended; absent without any (L69). */
  readonly agents?: readonly AgentSpending[];
  readonly durationMs: number;
  readonly at: number;
};

/**
 * `leftOut`: the prepared boundary that the step was to append is not stored (L9). A worker of an
 * earlier release does not say.
 */
export type AppendedFacts = { readonly leftOut?: true };
