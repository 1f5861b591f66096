// Lays a session and its agents out to the clock: a lane each, with what its time went to. Short
// stretches that could not be seen are joined, so that a lane has a bounded number of parts. Pure.
import type { Bar, BarSegment, Iteration, StepsByName, Step, SessionInfo } from '../../client/faces/types.ts';
import { barOf, iterationName, stepsByIteration, withUnstored } from '../../client/faces/turns.ts';

export type Lane = { readonly name: string; readonly href: string | null; readonly segments: readonly BarSegment[] };
export type Lanes = { readonly from: number; readonly to: number; readonly lanes: readonly Lane[] };

/** Lanes of agents, the newest ones. */
export const MOST_LANES = 6;
/** Parts of a lane that can be told apart. */
const PARTS = 500;

type LaneSource = {
  readonly seen: SessionInfo;
  readonly iterations: readonly Iteration[];
  readonly steps: readonly Step[];
  readonly agents: readonly SessionInfo[];
  readonly stepsOfAgents: ReadonlyMap<string, readonly Step[]>;
  readonly now: number;
};

export function lanesOf({ seen: description, iterations, steps, agents, stepsOfAgents, now }: LaneSource): Lanes {
  const byName = stepsByIteration(steps);
  const bars = withUnstored(iterations, byName, true).map((one) =>
    barOf(one, byName.get(iterationName(one)) ?? [], now),
  );
  const own = barsWithWait(bars, description, now).flatMap(({ segments }) => segments);
  const visible = agents.toSorted((one, other) => one.startedAt - other.startedAt).slice(-MOST_LANES);
  const ofAgents = visible.map((agent) => ({
    name: agent.title || agent.session,
    href: `/sessions/${agent.session}`,
    segments: agentSegments(agent, stepsOfAgents.get(agent.session) ?? [], now),
  }));
  const all = [...own, ...ofAgents.flatMap(({ segments }) => segments)];
  const from = Math.min(description.startedAt, ...all.map((each) => each.from));
  const to = Math.max(from + 1, ...all.map((each) => each.to), ...(isOpen(description) ? [now] : []));
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
function withWait(segments: readonly BarSegment[], description: SessionInfo, now: number): readonly BarSegment[] {
  const last = segments.at(-1);
  if (!last || !isOpen(description) || now - last.to < 1_000) return segments;
  if (description.phase === 'waiting_approval' || (description.approvals?.length ?? 0) > 0)
    return [...segments, { kind: 'waiting', from: last.to, to: now, what: 'waits for a decision' }];
  return description.phase === 'parked'
    ? [...segments, { kind: 'parked', from: last.to, to: now, what: 'parked' }]
    : segments;
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

/** Adds a wait that goes on to the last bar. */
export function barsWithWait(bars: readonly Bar[], description: SessionInfo, now: number): readonly Bar[] {
  const last = bars.at(-1);
  if (!last) return bars;
  const segments = withWait(last.segments, description, now);
  return [...bars.slice(0, -1), { ...last, segments, to: Math.max(last.to, segments.at(-1)?.to ?? 0) }];
}

/**
 * Joins stretches shorter than `least` with those after them, until they can be seen together; the
 * kind that took most of their time stays.
 */
export function joinShort(segments: readonly BarSegment[], least: number): readonly BarSegment[] {
  const joined: BarSegment[] = [];
  const push = (segment: BarSegment): void => {
    const last = joined.at(-1);
    const isNear = last !== undefined && segment.from - last.to < least;
    if (isNear && last.kind === segment.kind)
      joined[joined.length - 1] = spanOver(longer(last, segment), last, segment);
    else joined.push(segment);
  };
  let short: BarSegment[] = [];
  const endShort = (): void => {
    if (short.length > 0) push(mostOf(short));
    short = [];
  };
  for (const segment of segments) {
    const [first, last] = [short[0], short.at(-1)];
    if (first && last && (segment.from - last.to >= least || last.to - first.from >= least)) endShort();
    if (short.length > 0 || segment.to - segment.from < least) short.push(segment);
    else push(segment);
  }
  endShort();
  return joined;
}

const lengthOf = ({ from, to }: BarSegment): number => to - from;
const longer = (one: BarSegment, other: BarSegment): BarSegment => (lengthOf(other) > lengthOf(one) ? other : one);
const spanOver = (segment: BarSegment, first: BarSegment, last: BarSegment): BarSegment => ({
  ...segment,
  from: first.from,
  to: Math.max(first.to, last.to),
});

/** Shows neighbours as the longest segment of the kind that took most of their time. */
function mostOf(segments: readonly BarSegment[]): BarSegment {
  const times = new Map<string, number>();
  for (const one of segments) times.set(one.kind, (times.get(one.kind) ?? 0) + lengthOf(one));
  const most = Math.max(...times.values());
  const [first, ...rest] = segments.filter(({ kind }) => times.get(kind) === most);
  const longest = rest.reduce(longer, first as BarSegment);
  return { ...longest, from: segments[0]?.from ?? longest.from, to: Math.max(...segments.map(({ to }) => to)) };
}
