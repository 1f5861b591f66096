// The facts known of a model: the words of models/table.ts.

export type ThinkingType = 'adaptive' | 'enabled' | 'disabled' | 'between_tools';
export type ProfileEffort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';
export type ModelLine = 'haiku' | 'sonnet' | 'opus' | 'fable' | 'mythos';

/**
 * The models whose thinking can be read: those of these lines released until that day, and the ones
 * in `also`.
 */
export type ReadableModels = {
  readonly lines: readonly ModelLine[];
  readonly until: string;
  readonly also: readonly string[];
};

export type ModelProfile = {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly line: ModelLine;
  /** A day, as in 2026-09-28. */
  readonly released: string;
  readonly lifecycle: 'active' | 'deprecated' | 'retired';
  readonly retires: string | null;
  /** Tokens. */
  readonly window: number;
  readonly maxOutput: number;
  /** Tokens; a shorter prefix is not cached. */
  readonly leastCached: number;
  /**
   * The accounts for which a changed prefix is an error when the request does not say what is to
   * happen.
   */
  readonly prefixCheck: 'every_account' | 'new_accounts' | 'none';
  /** Thinking of another account is dropped. */
  readonly accountBound: boolean;
  /** The models whose thinking it reads besides its own. */
  readonly reads: ReadableModels;
  readonly thinking: readonly ThinkingType[];
  /** The most effort that goes with thinking turned off. */
  readonly offUpTo: ProfileEffort;
  /** Whether a request without `thinking` thinks. */
  readonly thinks: boolean;
  readonly display: 'omitted' | 'summarized';
  /** Empty: the field is refused. */
  readonly efforts: readonly ProfileEffort[];
  readonly forcedTools: boolean;
  readonly prefill: boolean;
  readonly sampling: boolean;
  readonly systemMessages: boolean;
  readonly messageEffort: boolean;
  readonly compaction: boolean;
  /**
   * Models that a decline may be handed to; empty: the parameter is refused; null: not documented.
   */
  readonly fallbacks: readonly string[] | null;
};
