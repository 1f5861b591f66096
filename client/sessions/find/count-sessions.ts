// Counts the sessions that a filter means, by phase: the server counts those whose attributes say
// all of it, and the others are read.
import { present } from '../../../workflows/contract/present.ts';
import type { SeenPhase } from '../info.ts';
import {
  type Finder,
  type ListOptions,
  matching,
  matchingGroups,
  planSearch,
  type SearchPlan,
} from './list-sessions.ts';
import { isMeant, querySettled, SETTLED, settledQuery } from './match-session.ts';
import { countRows } from './stream-sessions.ts';

export type SessionCounts = Readonly<Record<SeenPhase, number>> & { readonly note?: string };

type Counts = Record<SeenPhase, number>;

/** Most sessions that are read for counts. */
const MOST_READ = 10_000;
const COUNT_CUT = `only the newest ${MOST_READ.toLocaleString('en')} sessions were searched for counts: narrow the filter`;

/** Asks the server for counts if memos have nothing to decide. */
export async function countSessions(finder: Finder, options: ListOptions): Promise<SessionCounts> {
  const plan = await planSearch(finder, options);
  const counts: Counts = { running: 0, waiting_worker: 0, waiting_approval: 0, parked: 0, idle: 0, closed: 0 };
  const query = (await finder.visibility()) ? querySettled(plan) : null;
  if (query === null) return countByReading(finder, plan, counts);
  const countSettled = async (): Promise<void> => {
    const phases = SETTLED.filter((phase) => isMeant(plan, phase));
    if (phases.length === 0) return;
    const groupedQuery = `${settledQuery(query, phases)} GROUP BY ExecutionStatus`;
    const { groups } = await countRows(finder.temporal, groupedQuery);
    for (const { count, groupValues } of groups)
      counts[groupValues.flat().includes('Running') ? 'idle' : 'closed'] += count;
  };
  // Visibility does not know whether a running session has a worker, and sessions without
  // attributes are in no count.
  const countOthers = async (): Promise<void> => {
    const others = (await finder.readUnderWay()).map(({ item }) => item);
    const wanted = plan.isOpen ? others.filter(({ status }) => status === 'open') : others;
    for (const { phase } of await matching(finder, plan, wanted)) counts[phase] += 1;
  };
  await Promise.all([countSettled(), countOthers()]);
  return counts;
}

/** Counts into `counts` what memos decide, among so many sessions at most. */
async function countByReading(finder: Finder, plan: SearchPlan, counts: Counts): Promise<SessionCounts> {
  let read = 0;
  for await (const group of matchingGroups(finder, plan)) {
    const notes = [plan.note, COUNT_CUT].filter((note) => note !== undefined);
    if (read >= MOST_READ) return { ...counts, note: notes.join('; ') };
    read += group.read;
    for (const { phase } of group.sessions) counts[phase] += 1;
  }
  return { ...counts, ...present({ note: plan.note }) };
}
