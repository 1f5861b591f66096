// What must hold among the entries of a transcript: one outcome for each call, in order (L39), and runs that begin and end.
import type { Entry, Outcome, ReplyEntry } from './entries.ts';

/** `entry` is a position in the session, or null when the head itself cannot be read. */
export type Problem = { readonly entry: number | null; readonly problem: string };

export type Placed = { readonly entry: Entry; readonly position: number };

type Round = {
  readonly reply: ReplyEntry;
  readonly position: number;
  readonly outcomes: Outcome[];
  settled: boolean;
  /** What followed it was damaged. */
  cut: boolean;
};

function isRepaired(entry: Entry): boolean {
  return entry.kind === 'notice' && entry.notice.kind === 'repaired';
}

/** Outcomes may still be missing after the last reply, while its run goes on. */
export function pairingProblems(placed: readonly Placed[]): Problem[] {
  const rounds: Round[] = [];
  const problems: Problem[] = [];
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
  return [...problems, ...rounds.flatMap(roundProblems)];
}

function roundProblems({ reply, position, outcomes, settled, cut }: Round): Problem[] {
  const say = (problem: string): Problem => ({ entry: position, problem });
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

/** A run that was refused ends without having begun. */
export function runProblems(placed: readonly Placed[]): Problem[] {
  const problems: Problem[] = [];
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
