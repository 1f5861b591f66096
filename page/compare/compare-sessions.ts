// Puts two or three sessions next to each other: their figures with the difference from the first,
// the options in which they differ, and the turn at which they part. Pure.
import { totalTokens } from '../../client/faces/contract.ts';
import type { RunConfig, Item, ReplyItem } from '../../client/faces/types.ts';
import { isReply } from '../../client/faces/turns.ts';
import { formatMoney, shortTime } from '../../client/faces/basics.ts';
import type { Standing } from '../feed/standing.tsx';
import { formatNumber, shortAmount } from '../figures.tsx';
import { transcriptFacts } from '../session/session-facts.ts';
import type { SessionFiles } from '../session/session-files.ts';

export type ComparedSession = Standing & Pick<SessionFiles, 'files'>;

/**
 * `against` says for each further session how it differs from the first; better, worse or neither.
 */
type FigureRow = {
  readonly name: string;
  readonly values: readonly string[];
  readonly against: readonly { readonly words: string; readonly kind: 'good' | 'bad' | 'quiet' }[];
};

type Figure = {
  readonly name: string;
  readonly value: (session: ComparedSession) => number | null;
  readonly words: (value: number) => string;
  /** More of it is worse. */
  readonly isCost?: true;
};

const FIGURES: readonly Figure[] = [
  { name: 'Turns', value: (one) => repliesOf(one).length, words: formatNumber },
  { name: 'Time', value: timeOf, words: shortTime, isCost: true },
  { name: 'Cost', value: (one) => factsOf(one).spend.all.spend.usd, words: formatMoney, isCost: true },
  { name: 'Cost per turn', value: costOfTurn, words: (usd) => `$${usd.toFixed(4)}`, isCost: true },
  { name: 'Tokens', value: (one) => totalTokens(factsOf(one).spend.all.spend.usage), words: shortAmount, isCost: true },
  {
    name: 'From the cache',
    value: ({ items }) => shareCached(items.all),
    words: (share) => `${Math.round(share * 100)} %`,
  },
  { name: 'Compactions', value: (one) => factsOf(one).compactions, words: formatNumber },
  { name: 'Tool calls', value: (one) => sumTools(one, 'calls'), words: formatNumber },
  { name: 'Failed calls', value: (one) => sumTools(one, 'failed'), words: formatNumber, isCost: true },
  { name: 'Files changed', value: ({ files }) => files.length, words: formatNumber },
];

const factsOf = ({ items }: Standing) => transcriptFacts(items);
const repliesOf = ({ items }: Standing): readonly ReplyItem[] => items.all.filter(isReply);

function timeOf({ items }: Standing): number | null {
  const ends = items.all.flatMap(({ entry }) => (entry.kind === 'run_ended' ? entry.ended.durationMs : []));
  return ends.length === 0 ? null : ends.reduce((sum, one) => sum + one, 0);
}

function costOfTurn(session: Standing): number | null {
  const { usd } = factsOf(session).spend.all.spend;
  const turns = repliesOf(session).length;
  return usd === null || turns === 0 ? null : usd / turns;
}

function shareCached(items: readonly Item[]): number | null {
  let [prompts, cached] = [0, 0];
  for (const item of items)
    if (isReply(item)) {
      const { input, cacheRead, cacheWrite } = item.entry.spend.usage;
      prompts += input + cacheRead + cacheWrite;
      cached += cacheRead;
    }
  return prompts === 0 ? null : cached / prompts;
}

const sumTools = (session: Standing, of: 'calls' | 'failed'): number =>
  factsOf(session).tools.reduce((sum, tool) => sum + tool[of], 0);

export function compareFigures(sessions: readonly ComparedSession[]): readonly FigureRow[] {
  return FIGURES.map(({ name, value, words, isCost }) => {
    const found = sessions.map(value);
    return {
      name,
      values: found.map((one) => (one === null ? '–' : words(one))),
      against: found.slice(1).map((one) => difference(found[0] ?? null, one, isCost === true)),
    };
  });
}

/** Differences below this share are the same to a reader. */
const SAME = 0.005;

function difference(first: number | null, other: number | null, isCost: boolean): FigureRow['against'][number] {
  if (first === null || other === null) return { words: '', kind: 'quiet' };
  if (Math.abs(other - first) <= Math.abs(first) * SAME) return { words: 'same', kind: 'quiet' };
  const kind = !isCost ? 'quiet' : other > first ? 'bad' : 'good';
  const sign = other > first ? '+' : '−';
  if (first === 0) return { words: `${sign}${Math.abs(other - first)}`, kind };
  return { words: `${sign}${Math.round(Math.abs(other / first - 1) * 100)} %`, kind };
}

type OptionRow = { readonly name: string; readonly values: readonly string[] };

/** Returns the options in which the newest runs differ. */
export function optionsThatDiffer(configs: readonly (RunConfig | null)[]): readonly OptionRow[] {
  const each = configs.map((config) => (config === null ? {} : flatOptions(config)));
  const names = [...new Set(each.flatMap((one) => Object.keys(one)))];
  return names
    .map((name) => ({ name, values: each.map((one) => one[name] ?? '–') }))
    .filter(({ values }) => new Set(values).size > 1);
}

function flatOptions({
  models,
  mode,
  effort,
  thinkingTokens,
  rules,
  tools,
  permissions,
  system,
  cwd,
  smallModel,
}: RunConfig) {
  const { maxTurns, maxBudgetUsd, maxTokens, timeoutMs, compaction } = rules;
  const options = {
    model: models.map(({ name }) => name).join(', '),
    'small model': smallModel.name,
    'permission mode': mode,
    effort,
    'thinking tokens': thinkingTokens,
    'max turns': maxTurns,
    'max dollars': maxBudgetUsd,
    'max tokens': maxTokens,
    'time limit': timeoutMs === null ? null : shortTime(timeoutMs),
    'compacts at': compaction.critical,
    tools: tools?.join(', '),
    permissions: permissions && JSON.stringify(permissions),
    // The folder has a row of its own.
    'system prompt': system === '' ? undefined : cwd === '' ? system : system.replaceAll(cwd, '…'),
    folder: cwd,
  };
  const known = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)])) as Readonly<Record<string, string>>;
}

/** Returns the number of the first reply in which the sessions differ; null where none does. */
export function partingTurn(sessions: readonly (readonly ReplyItem[])[]): number | null {
  const longest = Math.max(0, ...sessions.map(({ length }) => length));
  for (let at = 0; at < longest; at += 1)
    if (new Set(sessions.map((replies) => signOf(replies[at]))).size > 1) return at;
  return null;
}

/** Describes what a reply said and called, without ids. */
function signOf(reply: ReplyItem | undefined): string {
  if (!reply) return '';
  return JSON.stringify(
    reply.entry.message.content.map((block) =>
      block.type === 'text' ? block.text : block.type === 'tool_use' ? [block.name, block.input] : block.type,
    ),
  );
}
