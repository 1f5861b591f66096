// Looks up what each model of the API takes, refuses and reads, as the documents say it
// (scripted-model/README.md lists the pages and when they were read). Nothing here comes from the
// product's own table of models: a double that shares our facts cannot find out that they are
// wrong.

// The models, newest first. Each fact is from a page that scripted-model/README.md names.
export const EFFORTS: readonly ProfileEffort[] = ['low', 'medium', 'high', 'xhigh', 'max'];
const CLASSIC: readonly ModelLine[] = ['haiku', 'sonnet', 'opus'];

const NO_MODELS: ReadableModels = { lines: [], until: '', also: [] };
const classicsUntil = (until: string): ReadableModels => ({ lines: CLASSIC, until, also: [] });
const everyLineUntil = (until: string, ...also: readonly string[]): ReadableModels => ({
  lines: [...CLASSIC, 'fable', 'mythos'],
  until,
  also,
});

/** The facts that the models from 5.1 on have in common. */
const newest = {
  aliases: [],
  lifecycle: 'active',
  retires: null,
  window: 1_000_000,
  maxOutput: 128_000,
  leastCached: 512,
  prefixCheck: 'new_accounts',
  accountBound: false,
  reads: NO_MODELS,
  thinking: ['adaptive'],
  offUpTo: 'high',
  thinks: true,
  display: 'omitted',
  efforts: EFFORTS,
  forcedTools: false,
  prefill: false,
  sampling: false,
  systemMessages: true,
  messageEffort: true,
  compaction: true,
  fallbacks: null,
} as const;

/** These models have no check yet, and tools may be forced. */
const fifth = { ...newest, prefixCheck: 'none', forcedTools: true } as const;

/** Thinking is off unless asked for. */
const fourth = {
  ...fifth,
  thinking: ['adaptive', 'disabled'],
  offUpTo: 'max',
  thinks: false,
  systemMessages: false,
  messageEffort: false,
} as const;

const shownThinking = {
  ...fourth,
  thinking: ['adaptive', 'enabled', 'disabled'],
  display: 'summarized',
  sampling: true,
} as const;

/** Up to 4.5: a thinking budget, or no thinking. */
const manual = {
  ...shownThinking,
  window: 200_000,
  maxOutput: 64_000,
  leastCached: 1_024,
  thinking: ['enabled', 'disabled'],
  efforts: [],
  prefill: true,
  compaction: false,
} as const;

const READ_BY_5_2 = { ...NO_MODELS, also: ['claude-fable-5-2', 'claude-mythos-5-2'] };
const READ_BY_5_1 = everyLineUntil('2026-08-31', 'claude-fable-5-1', 'claude-mythos-5-1', 'claude-opus-5-5');
const SECOND = {
  released: '2026-11-09',
  prefixCheck: 'every_account',
  accountBound: true,
  reads: READ_BY_5_2,
} as const;
const FIRST_OF_LINE = { released: '2026-09-01', reads: READ_BY_5_1 } as const;
const LAST_JUNE = { released: '2026-06-09', reads: everyLineUntil('2026-06-09'), messageEffort: false } as const;

// prettier-ignore
export const MODELS: readonly ModelProfile[] = [
  { ...newest, ...SECOND, id: 'claude-fable-5-2', line: 'fable', fallbacks: ['claude-opus-5'] },
  { ...newest, ...SECOND, id: 'claude-mythos-5-2', line: 'mythos' },
  { ...newest, id: 'claude-haiku-5-5', line: 'haiku', released: '2026-10-07', accountBound: true, thinking: ['adaptive', 'disabled'], forcedTools: true, fallbacks: [] },
  { ...newest, id: 'claude-sonnet-5-5', line: 'sonnet', released: '2026-09-28', accountBound: true, reads: classicsUntil('2026-06-30'), thinking: ['adaptive', 'between_tools'] },
  { ...newest, id: 'claude-opus-5-5', line: 'opus', released: '2026-09-23', reads: classicsUntil('2026-07-24') },
  { ...newest, ...FIRST_OF_LINE, id: 'claude-fable-5-1', line: 'fable' },
  { ...newest, ...FIRST_OF_LINE, id: 'claude-mythos-5-1', line: 'mythos', prefixCheck: 'every_account' },
  { ...fifth, id: 'claude-opus-5', line: 'opus', released: '2026-07-24', reads: classicsUntil('2026-07-24'), thinking: ['adaptive', 'disabled'] },
  { ...fifth, id: 'claude-sonnet-5', line: 'sonnet', released: '2026-06-30', leastCached: 1_024, reads: classicsUntil('2026-06-30'), thinking: ['adaptive', 'disabled'], offUpTo: 'max', systemMessages: false, messageEffort: false },
  { ...fifth, ...LAST_JUNE, id: 'claude-fable-5', line: 'fable', fallbacks: ['claude-opus-4-8', 'claude-opus-5'] },
  { ...fifth, ...LAST_JUNE, id: 'claude-mythos-5', line: 'mythos' },
  { ...fourth, id: 'claude-opus-4-8', line: 'opus', released: '2026-05-28', leastCached: 1_024, reads: classicsUntil('2026-05-28'), systemMessages: true },
  { ...fourth, id: 'claude-opus-4-7', line: 'opus', released: '2026-04-16', leastCached: 2_048, reads: classicsUntil('2026-04-16') },
  { ...shownThinking, id: 'claude-sonnet-4-6', line: 'sonnet', released: '2026-02-17', leastCached: 1_024, reads: classicsUntil('2026-02-17'), efforts: EFFORTS.filter((effort) => effort !== 'xhigh') },
  { ...shownThinking, id: 'claude-opus-4-6', line: 'opus', released: '2026-02-05', leastCached: 4_096, reads: classicsUntil('2026-02-05'), efforts: EFFORTS.filter((effort) => effort !== 'xhigh') },
  { ...manual, id: 'claude-opus-4-5-20251101', aliases: ['claude-opus-4-5'], line: 'opus', released: '2025-11-24', lifecycle: 'deprecated', retires: '2027-01-22', leastCached: 4_096, reads: classicsUntil('2025-11-24'), efforts: EFFORTS.slice(0, 3) },
  { ...manual, id: 'claude-haiku-4-5-20251001', aliases: ['claude-haiku-4-5'], line: 'haiku', released: '2025-10-15', leastCached: 4_096, reads: classicsUntil('2025-10-15') },
  { ...manual, id: 'claude-sonnet-4-5-20250929', aliases: ['claude-sonnet-4-5'], line: 'sonnet', released: '2025-09-29', lifecycle: 'deprecated', retires: '2026-11-30', reads: classicsUntil('2025-09-29') },
];

const byName = new Map(MODELS.flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model] as const)));

/**
 * Returns undefined for a model that the documents do not name: it has no check and refuses what
 * every model refuses.
 */
export function findProfile(model: string): ModelProfile | undefined {
  return byName.get(model);
}

/** Lists the models newest first, as the Models API does. */
export function listProfiles(): readonly ModelProfile[] {
  return MODELS;
}

/** Tells whether a model sees the thinking of another; each name may be an alias, or unknown. */
export function canReadThinking(reader: string, maker: string): boolean {
  const [by, of] = [findProfile(reader), findProfile(maker)];
  if (by === undefined || of === undefined) return reader === maker;
  const { also, lines, until } = by.reads;
  return by.id === of.id || also.includes(of.id) || (lines.includes(of.line) && of.released <= until);
}

// The facts known of a model: the words of the table above.
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
