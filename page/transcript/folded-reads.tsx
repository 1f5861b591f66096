// Folds calls that only looked, and ended well, into one row: `read 4 files`. Everything else of a
// reply has a row of its own.
import { showUnseen } from '../../system/text.ts';
import { isUntimed } from '../../store/live/retell.ts';
import type { Outcome } from '../../client/index.ts';
import { shortTime } from '../../client/units.ts';
import { Icon } from '../icons.tsx';
import { CallCard, type ShownCall } from './call-card.tsx';

const WORDS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  read: ['read', 'reads'],
  grep: ['search', 'searches'],
  glob: ['listing', 'listings'],
};

/** Calls that a person allowed, and ones that failed, are never folded. */
export function isFoldedRead(tool: string, outcome: Outcome | undefined): boolean {
  return Object.hasOwn(WORDS, tool) && outcome !== undefined && !outcome.isError && outcome.log.approved === undefined;
}

/** Names on the row. */
const NAMED = 6;

export function FoldedReads({ calls }: { readonly calls: readonly ShownCall[] }) {
  const times = calls.flatMap(({ outcome }) => (outcome && !isUntimed(outcome.log) ? [outcome.log.duration] : []));
  const names = calls.map(({ input }) => subjectOf(input)).filter((name) => name !== '');
  return (
    <details class="call fold" id={`fold-${calls[0]?.anchor}`}>
      <summary>
        <Icon name="read" />
        <b class="tool">{countWords(calls)}</b>
        <span class="what">{`${names.slice(0, NAMED).join(', ')}${names.length > NAMED ? ', …' : ''}`}</span>
        <span class="state">{times.length === 0 ? '' : shortTime(Math.max(...times))}</span>
      </summary>
      <div class="body">
        {calls.map((call) => (
          <CallCard call={call} />
        ))}
      </div>
    </details>
  );
}

function countWords(calls: readonly ShownCall[]): string {
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, n]) => `${n} ${WORDS[name]?.[n === 1 ? 0 : 1] ?? name}`).join(', ');
}

function subjectOf(input: unknown): string {
  const { path, file_path: file, pattern } = (input ?? {}) as Readonly<Record<string, unknown>>;
  const subject = [path, file].find((one) => typeof one === 'string') ?? pattern;
  const words = typeof pattern === 'string' ? `“${pattern}”` : subject;
  return typeof words === 'string' ? showUnseen(words.slice(0, 80)) : '';
}
