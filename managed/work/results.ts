// Results that workers of self-hosted environments give (G58, G59): each call has one, and the
// session decides which comes first.
import { isDeepStrictEqual } from 'node:util';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { offerCall, wasOffered } from '../../store/sandbox/offers.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { PromptBlock } from '../../client/index.ts';
import { messageBody } from '../../client/sessions/message.ts';
import { parsePrompt } from '../../client/sessions/prompt.ts';
import type { Store } from '../../store/values/store.ts';
import type { OutsideResult } from '../../workflows/contract/delegation.ts';
import { invalid, ManagedError } from '../errors.ts';
import type { EventBus } from '../events/bus.ts';
import { formatTime } from '../ids.ts';
import { toolResultId } from '../events/wait-parts.ts';
import type { Timeline, Timelines } from '../events/timelines.ts';
import type { ManagedPorts } from '../ports.ts';
import type { FoundSession, Sessions } from '../sessions.ts';
import type { ToolResult } from '../shapes/sessions.ts';
import type { SessionLease } from './credentials.ts';
import { openCall } from './view.ts';

type ResultParts = {
  readonly ports: ManagedPorts;
  readonly sessions: Sessions;
  readonly timelines: Timelines;
  readonly bus: EventBus;
};
type ResultEvent = Extract<BetaManagedAgentsSessionEvent, { type: 'user.tool_result' }>;

/** `lease`: absent where a person gives the result. */
type Given = { readonly event: ToolResult; readonly by: string; readonly lease: SessionLease | undefined };

/** An equal repeat is answered as the first was. Throws ManagedError, ClientProblem. */
export async function takeToolResult(parts: ResultParts, found: FoundSession, given: Given): Promise<ResultEvent> {
  const { event, lease, by } = given;
  const timeline = await parts.sessions.timeline(found);
  const open = openCall(timeline.projection, event.tool_use_id);
  if (open?.why !== 'sandbox') return repeatResult(parts, timeline, given);
  await requireOffer(parts, { session: found.id, ...open }, lease);
  try {
    const result = await resultOf(parts.ports.store, event);
    await parts.ports.giveResult(found.id, { call: open.call, result, by });
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind !== 'refused') throw error;
    return repeatResult(parts, await parts.sessions.timeline(await parts.sessions.find(found.id)), given);
  }
  parts.bus.publish(found.id, {});
  return {
    id: toolResultId(found.id, event.tool_use_id),
    type: 'user.tool_result',
    tool_use_id: event.tool_use_id,
    content: (event.content ?? []) as NonNullable<ResultEvent['content']>,
    is_error: event.is_error === true,
    processed_at: formatTime(parts.ports.now()),
  };
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
  { ports, timelines }: ResultParts,
  { facts }: Timeline,
  { event, lease }: Given,
): Promise<ResultEvent> {
  const fact = facts.find(({ answers }) => answers === event.tool_use_id);
  const entry = fact?.entry;
  if (fact && entry?.kind === 'settled' && isDeepStrictEqual(entry.result, await resultOf(ports.store, event))) {
    const [stored] = await timelines.write([fact]);
    if (stored?.type === 'user.tool_result') return stored;
  }
  const why = fact ? 'has a result already' : 'does not wait for a result';
  throw new ManagedError(lease ? 403 : 400, `tool_use_id: call ${event.tool_use_id} ${why}: nothing was done`);
}

const NO_OUTPUT = { type: 'text', text: '(no output)' } as const;

/** An empty text is taken, as it is what a silent command gives (G48). Throws ClientProblem, StoreError. */
async function resultOf(store: Store, { content = [], is_error }: ToolResult): Promise<OutsideResult> {
  const blocks = content.map(promptBlock).filter((block) => block.type !== 'text' || block.text.trim() !== '');
  const body = await messageBody(store, parsePrompt(blocks.length === 0 ? [NO_OUTPUT] : blocks));
  return { body, ...(is_error === true && { isError: true as const }) };
}

function promptBlock(block: NonNullable<ToolResult['content']>[number]): PromptBlock {
  if (block.type === 'search_result') return { type: 'text', text: JSON.stringify(block) };
  if (block.type !== 'text' && (block.source.type === 'url' || block.source.type === 'file'))
    throw invalid(`content: sources of type "${block.source.type}" are not served: send base64`);
  return block as PromptBlock;
}
