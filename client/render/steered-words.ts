// Says in words who steered a session and how (O12).
import type { NewLimits, OptionChanges, RuleChanges } from '../../workflows/contract/session.ts';
import type { FolderRewindRecord, RewindRecord } from '../../workflows/contract/rewind.ts';
import { LIMITS } from '../../workflows/contract/run-options.ts';
import type { SteeringRecord } from '../../workflows/contract/steered.ts';
import { oneLine } from '../paint.ts';
import { formatCount, formatMoment } from '../units.ts';

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
