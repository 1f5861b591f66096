// Reports a session's progress to the worker. A replay reports nothing, and a worker without the
// sink ignores it.
import { proxySinks, workflowInfo, type Sinks } from '@temporalio/workflow';
import type { QuerySource } from '../contract/facts.ts';
import { SEEN_SINK, type SeenItem, type SeenPlace, type WaitEnd } from '../contract/told.ts';
import type { PendingApproval } from '../contract/session.ts';

type SeenSinks = Sinks & { readonly [SEEN_SINK]: { see(item: SeenItem): void } };

const sinks = proxySinks<SeenSinks>();

export function reportSeen(item: SeenItem): void {
  if (!workflowInfo().unsafe.isReplaying) sinks[SEEN_SINK].see(item);
}

type Now = {
  readonly chain: string;
  readonly runs: number;
  readonly traceparent?: string | undefined;
  readonly querySource?: QuerySource | undefined;
};
type SessionPlace = { readonly facts: { readonly now: Now } };

export function describePlace({ facts }: SessionPlace, iteration: number): SeenPlace {
  const { chain, runs: run, traceparent, querySource } = facts.now;
  return { chain, run, iteration, ...(traceparent && { traceparent }), ...(querySource && { querySource }) };
}

export function reportWait(place: SessionPlace, iteration: number, approval: PendingApproval, how: WaitEnd): void {
  const to = Date.now();
  const { call, tool, askedAt: from = to } = approval;
  reportSeen({ ...describePlace(place, iteration), kind: 'waited', from, to, call, tool, how });
}
