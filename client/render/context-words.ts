// Explains to people how a session was kept within the model's window: nothing is lost, the model
// only sees less.
// Says in words who steered a session and how (O12).
import type { LiveEvent } from '../../store/live/events.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { FolderRewindRecord, RewindRecord } from '../../workflows/contract/rewind.ts';
import { LIMITS } from '../../workflows/contract/run-options.ts';
import type { NewLimits, OptionChanges, RuleChanges } from '../../workflows/contract/session.ts';
import type { SteeringRecord } from '../../workflows/contract/steered.ts';
import { oneLine } from '../paint.ts';
import { formatCount, formatMoment, formatTokens } from '../units.ts';

/** Entries that change what the model sees of others. */
export type ContextEntry = Extract<
  Entry,
  { readonly kind: 'boundary' | 'microcompact' | 'collapse_staged' | 'collapse_committed' | 'snip' }
>;

/** Returns the command that prints the whole transcript. */
export function fullCommand(session: SessionId): string {
  return `perdure show ${session} --full`;
}

/** Describes a context entry. `full` is the command that prints what the model no longer sees. */
export function contextText(entry: ContextEntry, full: string): string {
  switch (entry.kind) {
    case 'boundary': {
      const prompts = entry.prompts.length > 0 ? ` and ${formatCount(entry.prompts.length, 'prompt')} before` : '';
      const view = `the model sees a summary, all from entry ${entry.from} on${prompts}`;
      return `${compactionWords(entry)}, ${sizeChange(entry)}: ${view}; the full text: ${full}`;
    }
    case 'microcompact': {
      const { results, before, freed } = entry;
      const which = results === undefined ? 'tool results' : formatCount(results, 'tool result');
      return `${which} before entry ${before} ${results === 1 ? 'is' : 'are'} shown to the model as a marker, ${formatTokens(freed)} freed`;
    }
    case 'collapse_staged':
      return `a short form of entries ${entry.from} to ${entry.to - 1} is ready`;
    case 'collapse_committed':
      return `${formatCount(entry.count, 'old stretch', 'old stretches')} now shown to the model in short form; the full text: ${full}`;
    case 'snip':
      return `the model no longer sees ${entriesAt(entry.entries)}`;
  }
}

/** Events that stand for an entry with the same facts. */
type ShortenedEvent = Extract<LiveEvent, { readonly type: 'microcompact' | 'collapse_committed' | 'snip' }>;

export function shortenedText({ type, ...facts }: ShortenedEvent, full: string): string {
  return contextText({ kind: type, ...facts } as ContextEntry, full);
}

type ContextEvent = Extract<
  LiveEvent,
  { readonly type: 'compaction_start' | 'compaction_end' | 'collapse_staged' | 'hook_start' | 'hook_end' }
>;

export function compactionText(
  event: Extract<ContextEvent, { readonly type: 'compaction_end' }>,
  full: string,
): string {
  const summary = `a summary of ${formatCount(event.summary.length, 'character')} stands for the rest`;
  return `${compactionWords(event)}, ${sizeChange(event)}: ${formatCount(event.kept, 'entry', 'entries')} kept word for word, ${summary}; the full text: ${full}`;
}

/**
 * A model that checks what stood before its thinking gets earlier thinking back only if the API
 * made the summary.
 */
function compactionWords({
  signed,
  keepsThinking,
}: {
  readonly signed?: unknown;
  readonly keepsThinking?: boolean;
}): string {
  if (!signed) return 'compacted';
  return keepsThinking ? 'compacted by the API, thinking since is kept' : 'compacted by the API';
}

export function describeStaged({
  savings,
}: Pick<Extract<ContextEvent, { readonly type: 'collapse_staged' }>, 'savings'>): string {
  const saved = savings.reduce((sum, saving) => sum + saving, 0);
  return `short forms of ${formatCount(savings.length, 'old stretch', 'old stretches')} are ready, ${formatTokens(saved)} to be saved`;
}

function sizeChange({ before, after }: { readonly before: number; readonly after: number }): string {
  return `about ${before.toLocaleString('en')} → ${formatTokens(after)}`;
}

function entriesAt(positions: readonly number[]): string {
  const visible = positions.slice(0, 20).join(', ');
  const hidden = positions.length - 20;
  return `${positions.length === 1 ? 'entry' : 'entries'} ${visible}${hidden > 0 ? ` and ${hidden} more` : ''}`;
}

/** Formats one line: limits raised to 20 turns by ana, 2026-11-25 14:03:10 UTC */
export function steeringText(steered: SteeringRecord): string {
  const { at, by, earlier } = steered;
  const before = earlier === undefined ? '' : ` (${formatCount(earlier, 'earlier action')} not listed)`;
  return `${actionText(steered)}${by === undefined ? '' : ` by ${oneLine(by, 100)}`}, ${formatMoment(at)}${before}`;
}

/** Actions without further details. */
export const PLAIN_ACTIONS = {
  interrupt: 'interrupted',
  resume: 'asked to go on',
  cancel: 'cancelled',
  repair: 'repaired',
  snip: 'entries taken out of the model’s view',
  move: 'moved to another host',
  relabel: 'title, metadata or tools changed',
} as const;

function actionText({ action, limits = {}, rules = {}, changes = {}, untold = [], rewound }: SteeringRecord): string {
  switch (action) {
    case 'topUp':
      return `limits raised to ${limitsText(limits)}`;
    case 'setLimits':
      return `limits set to ${limitsText(limits)}`;
    case 'changeRules':
      return rulesText(rules);
    case 'setOptions':
      return `options for the next run set (${[optionsText(changes), ...untold.map((name) => oneLine(name, 60))].filter((text) => text !== '').join(', ')})`;
    case 'rewind':
      return rewoundText(rewound);
    default:
      return PLAIN_ACTIONS[action];
  }
}

/** Says which rules a run was given, and which were taken back. */
export function rulesText({ allow = [], drop = [], lasts }: RuleChanges): string {
  const list = (rules: readonly string[]): string => rules.map((rule) => oneLine(rule, LONGEST)).join(', ');
  const allowed = allow.length > 0 ? [`allowed from here on: ${list(allow)}`] : [];
  const dropped = drop.length > 0 ? [`asked about again: ${list(drop)}`] : [];
  return `${[...allowed, ...dropped].join('; ')}${lasts ? ', also in later runs' : ''}`;
}

function rewoundText(rewound: Partial<RewindRecord> = {}): string {
  return `went back to an earlier point: ${rewoundPartsText(rewound)}`;
}

/** Says what went back, as in `the conversation and 3 files`. */
export function rewoundPartsText({ to, files = [] }: Partial<RewindRecord>): string {
  const count = files.reduce((sum, root) => sum + root.files, 0);
  const parts = [
    ...(to === undefined ? [] : [to === null ? 'the conversation to its beginning' : 'the conversation']),
    ...(files.length > 0 ? [formatCount(count, 'file')] : []),
  ];
  return `${parts.join(' and ')}${untakenCountText(files)}`;
}

function untakenCountText(files: readonly FolderRewindRecord[]): string {
  const count = files.reduce((sum, { untaken }) => sum + (untaken?.count ?? 0), 0);
  const [first] = files.flatMap(({ untaken }) => untaken?.first ?? []);
  if (count === 0 || !first) return '';
  const others = count > 1 ? ` and ${formatCount(count - 1, 'other')}` : '';
  return `; not taken back: ${oneLine(first.path, LONGEST)}${others} (${oneLine(first.why, LONGEST)})`;
}

/** Says that turns since a rewind are left behind in its place; empty without any. */
export const turnsText = (turns: number): string =>
  turns === 0 ? '' : `; ${formatCount(turns, 'later turn')} left behind`;

export function limitsText(limits: NewLimits): string {
  return Object.entries(limits)
    .map(([key, value]) => {
      const what = LIMITS[key as keyof NewLimits]?.counts ?? oneLine(key, 60);
      // An update written by hand may contain null, which the session passes over.
      return typeof value === 'number' ? `${value.toLocaleString('en')} ${what}` : `${what} as the worker says`;
    })
    .join(', ');
}

const LONGEST = 80;

/** Lists options but hides the values of variables for tools, which may be secret. */
export function optionsText(changes: OptionChanges): string {
  return Object.entries(changes)
    .map(([key, value]) => {
      if (key === 'toolEnv' && value !== null) return key;
      const text = value === null ? 'as the worker says' : typeof value === 'string' ? value : JSON.stringify(value);
      return `${oneLine(key, 60)} ${oneLine(text, LONGEST)}`;
    })
    .join(', ');
}
