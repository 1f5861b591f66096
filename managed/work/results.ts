// Results that workers of self-hosted environments give (G58, G59): each call has one, and the
// session decides which comes first.
import { isDeepStrictEqual } from 'node:util';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { offerCall, wasOffered } from '../../store/sandbox/offers.ts';
import { ClientProblem } from '../../client/problem.ts';
import { ManagedError } from '../errors.ts';
import { toolResultId } from '../events/wait-parts.ts';
import type { Timeline, Timelines } from '../events/timelines.ts';
import type { ManagedPorts } from '../ports.ts';
import type { FoundSession, Sessions } from '../sessions.ts';
import type { ToolResult } from '../shapes/sessions.ts';
import type { SessionLease } from './credentials.ts';
import { openCall } from './view.ts';

type ResultParts = { readonly ports: ManagedPorts; readonly sessions: Sessions; readonly timelines: Timelines };
type ResultEvent = Extract<BetaManagedAgentsSessionEvent, { type: 'user.tool_result' }>;

/** `lease`: absent where a person gives the result. */
type Given = { readonly event: ToolResult; readonly by: string; readonly lease: SessionLease | undefined };

/** An equal repeat is answered as the first was. Throws ManagedError, ClientProblem. */
export async function takeToolResult(parts: ResultParts, found: FoundSession, given: Given): Promise<ResultEvent> {
  const { event, lease, by } = given;
  const timeline = await parts.sessions.timeline(found);
  const open = openCall(timeline.projection, event.tool_use_id);
  if (open?.why !== 'sandbox') return repeatResult(parts, timeline, found.id, given);
  await requireOffer(parts, { session: found.id, ...open }, lease);
  try {
    await parts.ports.as(by).giveResult(found.id, { call: open.call, result: resultOf(event) });
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind !== 'refused') throw error;
    return repeatResult(parts, await parts.sessions.timeline(await parts.sessions.find(found.id)), found.id, given);
  }
  return storedResult(found.id, event, null);
}

/** Without a worker's offer a person may give the result, which then is the call's claim (G59). */
async function requireOffer(
  { ports }: ResultParts,
  call: { readonly session: string; readonly call: string; readonly tool: string },
  lease: SessionLease | undefined,
): Promise<void> {
  if (lease !== undefined) {
    if (await wasOffered(ports.store, call, lease)) return;
    throw new ManagedError(403, 'This call was not given to your lease: nothing was done');
  }
  const claim = { work: 'api', g: 0, at: ports.now() };
  if ((await wasOffered(ports.store, call, claim)) || (await offerCall(ports.store, call, claim))) return;
  throw new ManagedError(400, 'A worker has this call: its result is the worker’s to give');
}

/** The call has ended: only an equal result is taken, and changes nothing. */
async function repeatResult(
  { timelines }: ResultParts,
  { facts }: Timeline,
  session: string,
  { event, lease }: Given,
): Promise<ResultEvent> {
  const fact = facts.find(({ answers }) => answers === event.tool_use_id);
  const [stored] = fact ? await timelines.write([fact]) : [];
  if (stored?.type === 'user.tool_result') {
    const { content, is_error } = storedResult(session, event, null);
    if (isDeepStrictEqual([stored.content, stored.is_error], [content, is_error])) return stored;
  }
  const why = fact ? 'has a result already' : 'does not wait for a result';
  throw new ManagedError(lease ? 403 : 400, `tool_use_id: call ${event.tool_use_id} ${why}: nothing was done`);
}
