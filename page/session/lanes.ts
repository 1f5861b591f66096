// Lays a session and its agents out to the clock: a lane each, with what its time went to. Short
// stretches that could not be seen are joined, so that a lane has a bounded number of parts. Pure.
import { barOf, type Bar, type BarSegment } from '../../client/sessions/history/bars.ts';
import type { Iteration, StepsByName } from '../../client/sessions/history/iterations.ts';
import { iterationName, stepsByIteration, withUnstored } from '../../client/sessions/history/iterations.ts';
import type { Step } from '../../client/sessions/history/steps.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';

export type Lane = { readonly name: string; readonly href: string | null; readonly segments: readonly BarSegment[] };
export type Lanes = { readonly from: number; readonly to: number; readonly lanes: readonly Lane[] };

/** Lanes of agents, the newest ones. */
export const MOST_LANES = 6;
/** Parts of a lane that can be told apart. */
const PARTS = 500;

export type LaneSource = {
  readonly seen: SessionInfo;
  readonly iterations: readonly Iteration[];
  readonly steps: readonly Step[];
  readonly agents: readonly SessionInfo[];
  readonly stepsOfAgents: ReadonlyMap<string, readonly Step[]>;
  readonly now: number;
};

export function lanesOf({ seen, iterations, steps, agents, stepsOfAgents, now }: LaneSource): Lanes {
  const byName = stepsByIteration(steps);
  const bars = withUnstored(iterations, byName, true).map((one) =>
    barOf(one, byName.get(iterationName(one)) ?? [], now),
  );
  const own = withWait(
    bars.flatMap(({ segments }) => segments),
    seen,
    now,
  );
  const shown = agents.toSorted((one, other) => one.startedAt - other.startedAt).slice(-MOST_LANES);
  const ofAgents = shown.map((agent) => ({
    name: agent.title || agent.session,
    href: `/sessions/${agent.session}`,
    segments: agentSegments(agent, stepsOfAgents.get(agent.session) ?? [], now),
  }));
  const all = [...own, ...ofAgents.flatMap(({ segments }) => segments)];
  const from = Math.min(seen.startedAt, ...all.map((each) => each.from));
  const to = Math.max(from + 1, ...all.map((each) => each.to), ...(isOpen(seen) ? [now] : []));
  const join = (segments: readonly BarSegment[]): readonly BarSegment[] => joinShort(segments, (to - from) / PARTS);
  return {
    from,
    to,
    lanes: [
      { name: 'this session', href: null, segments: join(own) },
      ...ofAgents.map((lane) => ({ ...lane, segments: join(lane.segments) })),
    ],
  };
}

const isOpen = ({ status, phase }: SessionInfo): boolean => status === 'open' && phase !== 'idle';

/** A wait that goes on is not in the history yet. */
function withWait(segments: readonly BarSegment[], seen: SessionInfo, now: number): readonly BarSegment[] {
  const last = segments.at(-1);
  if (!last || !isOpen(seen) || now - last.to < 1_000) return segments;
  if (seen.phase === 'waiting_approval' || (seen.approvals?.length ?? 0) > 0)
    return [...segments, { kind: 'waiting', from: last.to, to: now, what: 'waits for a decision' }];
  return seen.phase === 'parked' ? [...segments, { kind: 'parked', from: last.to, to: now, what: 'parked' }] : segments;
}

/** An agent whose history is not read is one stretch, from its beginning to its end. */
export function agentSegments(agent: SessionInfo, steps: readonly Step[], now: number): readonly BarSegment[] {
  const { startedAt: from, closedAt } = agent;
  if (steps.length === 0) return [{ kind: 'other', from, to: closedAt ?? now, what: 'at work' }];
  const byName: StepsByName = stepsByIteration(steps);
  const bars: readonly Bar[] = withUnstored([], byName, true).map((one) =>
    barOf(one, byName.get(iterationName(one)) ?? [], now),
  );
  return withWait(
    bars.flatMap(({ segments }) => segments),
    agent,
    now,
  );
}

/**
 * Joins stretches shorter than `least` with the ones before them; the kind of the longer one stays.
 */
export function joinShort(segments: readonly BarSegment[], least: number): readonly BarSegment[] {
  const joined: BarSegment[] = [];
  for (const segment of segments) {
    const last = joined.at(-1);
    const isNear = last !== undefined && segment.from - last.to < least;
    const isShort = last !== undefined && (segment.to - segment.from < least || last.to - last.from < least);
    if (!last || !isNear || (!isShort && last.kind !== segment.kind)) {
      joined.push(segment);
      continue;
    }
    const longer = segment.to - segment.from > last.to - last.from ? segment : last;
    joined[joined.length - 1] = { ...longer, from: last.from, to: Math.max(last.to, segment.to) };
  }
  return joined;
}
