// Checks the invariants among the entries of a transcript.
import type { Entry, Outcome, ReplyEntry } from './entries.ts';

/** `entry` is a position in the session, or null when the head itself cannot be read. */
export type AuditProblem = { readonly entry: number | null; readonly problem: string };

type PlacedEntry = { readonly entry: Entry; readonly position: number };

type Round = {
  readonly reply: ReplyEntry;
  readonly position: number;
  readonly outcomes: Outcome[];
  settled: boolean;
  /** The entries after the reply were damaged. */
  cut: boolean;
};

function isRepaired(entry: Entry): boolean {
  return entry.kind === 'notice' && entry.notice.kind === 'repaired';
}

/**
 * Finds calls that do not have exactly one outcome (L39). Outcomes may still be missing after the
 * last reply, while its run goes on.
 */
export function findPairingProblems(placed: readonly PlacedEntry[]): AuditProblem[] {
  const rounds: Round[] = [];
  const problems: AuditProblem[] = [];
  for (const { entry, position } of placed) {
    const open = rounds.at(-1);
    if (entry.kind === 'reply') {
      if (open) open.settled = true;
      rounds.push({ reply: entry, position, outcomes: [], settled: false, cut: false });
    } else if (entry.kind === 'run_ended' && open) {
      open.settled = true;
    } else if (isRepaired(entry) && open) {
      open.cut = true;
    } else if (entry.kind === 'outcomes') {
      if (open) open.outcomes.push(...entry.outcomes);
      else problems.push({ entry: position, problem: 'it has outcomes, and there is no reply before it' });
    }
  }
  return [...problems, ...rounds.flatMap(findRoundProblems)];
}

function findRoundProblems({ reply, position, outcomes, settled, cut }: Round): AuditProblem[] {
  const say = (problem: string): AuditProblem => ({ entry: position, problem });
  const calls = new Set(reply.message.content.flatMap((block, index) => (block.type === 'tool_use' ? [index] : [])));
  const indexes = outcomes.map((outcome) => outcome.index);
  const found = new Set(indexes);
  const missing = settled && !cut ? [...calls].filter((index) => !found.has(index)) : [];
  const strange = indexes.filter((index) => !calls.has(index));
  const double = indexes.filter((index) => !found.delete(index));
  return [
    ...missing.map((index) => say(`its call at block ${index} has no outcome`)),
    ...strange.map((index) => say(`there is an outcome for its block ${index}, which is no call`)),
    ...double.map((index) => say(`its call at block ${index} has more than one outcome`)),
  ];
}

/**
 * Finds runs that do not begin and end in order. A run that was refused ends without having begun.
 */
export function findRunProblems(placed: readonly PlacedEntry[]): AuditProblem[] {
  const problems: AuditProblem[] = [];
  const say = (entry: number, problem: string): number => problems.push({ entry, problem });
  let open: number | null = null;
  let last = 0;
  for (const { entry, position } of placed) {
    if (entry.kind === 'run_started') {
      if (open !== null) say(position, `run ${entry.run} begins and run ${open} has not ended`);
      if (entry.run <= last) say(position, `run ${entry.run} begins after run ${last}`);
      open = entry.run;
      last = entry.run;
    } else if (entry.kind === 'run_ended') {
      if (open !== null && entry.ended.run !== open)
        say(position, `run ${entry.ended.run} ends while run ${open} is open`);
      last = Math.max(last, entry.ended.run);
      open = null;
    } else if (isRepaired(entry)) {
      open = null;
    }
  }
  return problems;
}

/**
 * Checks the entries that say how others are shown: each speaks of entries before it (L5, L8, L9).
 * A snip comes from outside and may name anything: positions that make no sense are passed over
 * when it is read.
 */
export function findMarkProblems(placed: readonly PlacedEntry[]): AuditProblem[] {
  const problems: AuditProblem[] = [];
  let staged = 0;
  for (const { entry, position } of placed) {
    const say = (problem: string): number => problems.push({ entry: position, problem });
    if (entry.kind === 'boundary') {
      const problem = boundaryProblem(entry, position, placed);
      if (problem !== undefined) say(problem);
      staged = 0;
    } else if (entry.kind === 'microcompact' && !isCount(entry.before, position)) {
      say(`it shrinks results before entry ${entry.before}, which is after it`);
    } else if (entry.kind === 'collapse_staged') {
      const { from, to } = entry;
      if (!isCount(to, position) || !isCount(from, to - 1))
        say(`it shortens entries ${from} to ${to}, which is no part of what was before it`);
      staged += 1;
    } else if (entry.kind === 'collapse_committed') {
      if (!isCount(entry.count, staged)) say(`it commits ${entry.count} of ${staged} staged collapses`);
      staged = Math.max(0, staged - entry.count);
    }
  }
  return problems;
}

function boundaryProblem(
  { from, prompts }: Extract<Entry, { kind: 'boundary' }>,
  position: number,
  placed: readonly PlacedEntry[],
): string | undefined {
  if (!isCount(from, position)) return `what is seen begins at entry ${from}, which is after it`;
  const strange = prompts.find((each) => !isCount(each, from - 1) || placed[each]?.entry.kind !== 'user');
  return strange === undefined ? undefined : `it keeps entry ${strange}, which is no message before entry ${from}`;
}

function isCount(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}
