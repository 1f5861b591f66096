// What must hold of the entries that say how others are shown: each speaks of what was before it (L5, L8, L9). A snip comes from
// outside and may name anything: what it cannot mean is passed over when it is read.
import type { Problem, Placed } from './audit-entries.ts';
import type { Entry } from './entries.ts';

export function markProblems(placed: readonly Placed[]): Problem[] {
  const problems: Problem[] = [];
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
  placed: readonly Placed[],
): string | undefined {
  if (!isCount(from, position)) return `what is seen begins at entry ${from}, which is after it`;
  const strange = prompts.find((each) => !isCount(each, from - 1) || placed[each]?.entry.kind !== 'user');
  return strange === undefined ? undefined : `it keeps entry ${strange}, which is no message before entry ${from}`;
}

function isCount(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}
