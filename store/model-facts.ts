// The facts that a run has about a model (X1), as a part of its snapshot. An absent fact is
// unknown, or was when the run opened.
import type { Effort, ModelPrice } from '../workflows/contract/loop.ts';

/** How a request may ask for thinking. */
export type ThinkingKind = 'adaptive' | 'enabled' | 'disabled' | 'between_tools';

/**
 * Window and maximum output are in tokens; prices are in US dollars per million tokens, null when
 * they are not known.
 */
export type ModelFacts = {
  readonly window: number;
  readonly maxOutput: number;
  readonly price: ModelPrice | null;
  /** The model is unknown: its window and its maximum are what such a model has at least. */
  readonly assumed?: true;
  /** With `byDefault` the model thinks where a request says nothing of it. */
  readonly thinking?: { readonly kinds: readonly ThinkingKind[]; readonly byDefault: boolean };
  readonly effort?: { readonly levels: readonly Effort[]; readonly byDefault: Effort };
  /**
   * The model's thinking is bound to all that came before it: the system prompt, the tools, every
   * earlier message.
   */
  readonly checksPrefix?: boolean;
  /** The base names of other models whose thinking this one reads. Absent: none is documented. */
  readonly reads?: readonly string[];
  /** Messages of the role system may stand between others. */
  readonly systemMessages?: boolean;
  /**
   * Tools may come and go in messages: with their definitions, or only those that the request
   * declares.
   */
  readonly toolChanges?: 'inline' | 'references';
  /** The API itself summarises conversations of this model on demand. */
  readonly compaction?: boolean;
  /** The API itself searches the web for it. */
  readonly webSearch?: boolean;
  /** Fewer tokens than these are not cached. */
  readonly minCacheable?: number;
  /** The day on which the model ends, as YYYY-MM-DD. */
  readonly retires?: string;
};

/**
 * Facts by the prefix of a name. The longest prefix that fits wins, and its facts go before what is
 * known otherwise.
 */
export type ModelTable = Readonly<Record<string, Partial<ModelFacts>>>;

/** Knows models, and which of them a name means (X1, X2). */
export type Models = {
  /**
   * Returns the name that is sent for one that a person wrote, or a sentence when it cannot be a
   * model.
   */
  find(name: string): FoundModel;
  /** `name` is the name as it is sent. */
  facts(name: string): ModelFacts;
  /** Asks the server about models, at most once a day, and waits only a moment. Never throws. */
  lookUp(names: readonly string[]): Promise<void>;
  /** Notes how much fits, in tokens, as the server has said. */
  learn(name: string, window: number): void;
  /**
   * Notes that the server has no such model, or not for this account. Returns true when that is
   * news.
   */
  lose(name: string): boolean;
  /** Tells whether the model was lost recently. */
  isLost(name: string): boolean;
  /**
   * Notes, for as long as the worker lives, that its server does not know this field of a request.
   * Returns true when that is news.
   */
  refuse(name: string, field: string): boolean;
  isRefused(name: string, field: string): boolean;
};

export type FoundModel = { readonly name: string } | { readonly problem: string };
