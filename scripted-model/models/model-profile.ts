// What is known of a model: the words of models/table.ts.

export type ThinkingType = 'adaptive' | 'enabled' | 'disabled' | 'between_tools';
export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';
export type Line = 'haiku' | 'sonnet' | 'opus' | 'fable' | 'mythos';

/** Of these lines what came out until that day, and these models. */
export type Reads = { readonly lines: readonly Line[]; readonly until: string; readonly also: readonly string[] };

export type ModelProfile = {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly line: Line;
  /** Days, as in 2026-09-28. */
  readonly released: string;
  readonly lifecycle: 'active' | 'deprecated' | 'retired';
  readonly retires: string | null;
  /** Tokens. */
  readonly window: number;
  readonly maxOutput: number;
  /** Tokens; a shorter prefix is not cached. */
  readonly leastCached: number;
  /** For whom a changed prefix is an error when the request does not say what is to happen. */
  readonly prefixCheck: 'every_account' | 'new_accounts' | 'none';
  /** Thinking of another account is dropped. */
  readonly accountBound: boolean;
  /** Whose thinking it reads besides its own. */
  readonly reads: Reads;
  readonly thinking: readonly ThinkingType[];
  /** The most effort that goes with thinking turned off. */
  readonly offUpTo: Effort;
  /** What a request without `thinking` means. */
  readonly thinks: boolean;
  readonly display: 'omitted' | 'summarized';
  /** None: the field is refused. */
  readonly efforts: readonly Effort[];
  readonly forcedTools: boolean;
  readonly prefill: boolean;
  readonly sampling: boolean;
  readonly systemMessages: boolean;
  readonly messageEffort: boolean;
  readonly compaction: boolean;
  /** Models a decline may be handed to; none: the parameter is refused; null: not documented. */
  readonly fallbacks: readonly string[] | null;
};
