// Sends events to a session (G44–G47): all are checked against one state before the first is sent.
// The first message starts the session's workflow.
import type {
  BetaManagedAgentsSendSessionEvents,
  BetaManagedAgentsUserMessageEvent,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import type { PromptBlock } from '../client/index.ts';
import type { WorkQueues } from '../store/sandbox/queue.ts';
import { parsePrompt } from '../client/sessions/prompt.ts';
import { ClientProblem } from '../client/problem.ts';
import { optionsOfAgent } from './agent-options.ts';
import { invalid, ManagedError, unsupported } from './errors.ts';
import { interruptId } from './events/parts.ts';
import type { EventBus } from './events/bus.ts';
import { formatTime } from './ids.ts';
import type { Timelines } from './events/timelines.ts';
import { LIST_AGE_MS, type ManagedStore } from './log/stored.ts';
import type { ManagedPorts } from './ports.ts';
import { archivedProblem, type FoundSession, type Sessions, statusOf } from './sessions.ts';
import type { MessageBlock, SentEvent } from './shapes/sessions.ts';
import type { SessionLease } from './work/credentials.ts';
import { takeToolResult } from './work/results.ts';

type SendParts = {
  readonly ports: ManagedPorts;
  readonly stored: ManagedStore;
  readonly sessions: Sessions;
  readonly bus: EventBus;
  readonly timelines: Timelines;
  readonly queues: WorkQueues;
};

type StoredEvent = NonNullable<BetaManagedAgentsSendSessionEvents['data']>[number];
type SentContent = BetaManagedAgentsUserMessageEvent['content'];

type Sending = {
  readonly session: string;
  readonly by: string;
  /** The lease of the worker that sends; absent for people. */
  readonly lease: SessionLease | undefined;
  readonly events: readonly SentEvent[];
  readonly ids: readonly string[];
};

/** `ids` has one for each event. Throws ManagedError or ClientProblem; nothing was sent then. */
export async function sendEvents(
  parts: SendParts,
  { session, by, lease, events, ids }: Sending,
): Promise<StoredEvent[]> {
  const found = await parts.sessions.find(session);
  refuseEnded(found);
  for (const [at, event] of events.entries()) checkEvent(event, at, lease);
  const sent: StoredEvent[] = [];
  try {
    for (const [at, event] of events.entries()) {
      const id = ids[at]!;
      const isFollowing = sent.some(({ type }) => type === 'user.message');
      if (event.type === 'user.message') sent.push(await sendMessage(parts, found, by, { id, content: event.content }));
      else if (event.type === 'user.tool_result') sent.push(await takeToolResult(parts, found, { event, by, lease }));
      else sent.push(await sendInterrupt(parts, found, by, { id, isFollowing }));
    }
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'closed') throw archivedProblem(session);
    throw error;
  }
  return sent;
}

function refuseEnded(found: FoundSession): void {
  if (statusOf(found) === 'terminated') throw archivedProblem(found.id);
}

function checkEvent(event: SentEvent, at: number, lease: SessionLease | undefined): void {
  if (event.type === 'user.tool_result') return;
  if (lease) throw new ManagedError(403, `events.${at}: a worker sends results alone`);
  if (event.type === 'user.message') {
    parsePrompt(promptOf(event.content, `events.${at}.content`));
    return;
  }
  if (event.session_thread_id) throw invalid(`events.${at}.session_thread_id: there is no such thread`, `events.${at}`);
}

function promptOf(content: readonly MessageBlock[], path: string): readonly PromptBlock[] {
  return content.map((block, index): PromptBlock => {
    const where = `${path}.${index}`;
    if (block.type === 'redacted') throw invalid(`${where}: a redacted block cannot be sent`, where);
    if (block.type !== 'text' && (block.source.type === 'url' || block.source.type === 'file'))
      throw unsupported(`${where}.source`, `sources of type "${block.source.type}" are not served yet: send base64`);
    return block as PromptBlock;
  });
}

type Message = { readonly id: string; readonly content: readonly MessageBlock[] };

/** The message's id is its event's id. */
async function sendMessage(
  { ports, stored, sessions, bus, queues }: SendParts,
  { id: session, item }: FoundSession,
  by: string,
  { id, content }: Message,
): Promise<StoredEvent> {
  const cwd = await ports.openWorkspace(session);
  const environment = await sandboxOf(stored, item.environment);
  const ifNew = optionsOfAgent(await stored.sessionAgent(item.agent), { cwd, environment });
  const prompt = promptOf(content, 'content');
  if (!item.isStarted) await sessions.noteStart(session, by);
  await ports.as(by).start(prompt, { session, messageId: id, ifNew, querySource: 'api' });
  await sessions.noteStarted(session, by);
  if (environment !== undefined) await queues.of(environment).ensure(session, by);
  const { text, media } = parsePrompt(prompt);
  const event: StoredEvent = {
    id,
    type: 'user.message',
    content: media.length === 0 ? [{ type: 'text', text }] : withoutRedacted(content),
    processed_at: null,
  };
  bus.publish(session, { queued: event });
  return event;
}

/** Returns the environment where workers of somebody's own run the session's tools. */
async function sandboxOf({ environments }: ManagedStore, id: string): Promise<string | undefined> {
  const environment = (await environments.read(LIST_AGE_MS)).get(id);
  return environment?.config.type === 'self_hosted' ? id : undefined;
}

/** JSON has no undefined, so that the blocks have the SDK's type as they were sent. */
const withoutRedacted = (content: readonly MessageBlock[]): SentContent =>
  content.filter(({ type }) => type !== 'redacted') as SentContent;

/** An idle session echoes an interrupt, which changes nothing. */
async function sendInterrupt(
  { ports, sessions, bus }: SendParts,
  found: FoundSession,
  by: string,
  { id: messageId, isFollowing }: { readonly id: string; readonly isFollowing: boolean },
): Promise<StoredEvent> {
  const { projection } = await sessions.timeline(found);
  const id = interruptId(projection);
  if (statusOf(found) === 'idle' && !isFollowing)
    return { id, type: 'user.interrupt', processed_at: formatTime(ports.now()) };
  await ports.as(by).interrupt(found.id, { messageId });
  const event: StoredEvent = { id, type: 'user.interrupt', processed_at: null };
  bus.publish(found.id, { queued: event });
  return event;
}
