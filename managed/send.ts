// Sends events to a session (G44–G47): all are checked against one state before the first is sent.
// The first message starts the session's workflow.
import { isUtf8 } from 'node:buffer';
import type {
  BetaManagedAgentsSendSessionEvents,
  BetaManagedAgentsUserMessageEvent,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { isOfWorker, LONGEST_SYSTEM_MESSAGE, parsePrompt } from '../client/faces/outside.ts';
import { storeTextBody } from '../client/faces/stored.ts';
import { ClientProblem } from '../client/faces/start.ts';
import type { GoalOnce, Prompt, PromptBlock, SystemMessage } from '../client/faces/types.ts';
import { changesOfAgent, optionsOfAgent } from './agent-options.ts';
import { invalid, ManagedError, unsupported } from './errors.ts';
import { findFacts } from './models.ts';
import { isOpen, outcomeProblem } from './events/outcome-parts.ts';
import { interruptId } from './events/parts.ts';
import type { EventBus } from './events/bus.ts';
import type { FileResources } from './files/file-resources.ts';
import { formatTime, outcomeId } from './ids.ts';
import type { ManagedStore } from './log/stored.ts';
import { type FoundSession, isAtBudget, isWaiting, outcomesOf, statusOf } from './session-status.ts';
import { archivedProblem } from './sessions.ts';
import { calledBy, checkSettling, findTarget, isSettling, settle, type SettleParts } from './settle.ts';
import { MOST_RUBRIC, type MessageBlock, type SentEvent } from './shapes/sessions.ts';
import { readSkills } from './skills/attach.ts';
import type { SessionLease } from './work/credentials.ts';
import { endUngiven } from './work/results.ts';

type SendParts = SettleParts & {
  readonly files: Pick<FileResources, 'read' | 'measure'>;
  readonly stored: ManagedStore;
  readonly bus: EventBus;
};

/** What opens a turn: a message, or an outcome to work toward. */
type OpeningEvent = Extract<SentEvent, { type: 'user.message' | 'user.define_outcome' }>;

const isOpening = (event: { readonly type: string }): event is OpeningEvent =>
  event.type === 'user.message' || event.type === 'user.define_outcome';

/** Rounds of grading of an outcome that names none. */
const DEFAULT_ITERATIONS = 3;

type StoredEvent = NonNullable<BetaManagedAgentsSendSessionEvents['data']>[number];
type SentContent = BetaManagedAgentsUserMessageEvent['content'];

type Sending = {
  readonly session: string;
  readonly by: string;
  /** The lease of the worker that sends; absent for people and apps. */
  readonly lease: SessionLease | undefined;
  readonly events: readonly SentEvent[];
  readonly ids: readonly string[];
};

/** A worker sends nothing else (G55). Throws ManagedError. */
function requireResults(events: readonly SentEvent[]): void {
  if (events.every(({ type }) => type === 'user.tool_result' || type === 'user.custom_tool_result')) return;
  throw new ManagedError(403, 'A worker of an environment sends results of calls alone: nothing was done');
}

/** `ids` has one for each event. Throws ManagedError or ClientProblem; nothing was sent then. */
export async function sendEvents(
  parts: SendParts,
  { session, by, lease, events: sentEvents, ids }: Sending,
): Promise<StoredEvent[]> {
  if (lease) requireResults(sentEvents);
  const found = await parts.sessions.find(session);
  refuseEnded(found);
  const events = await readEvents(parts, sentEvents);
  for (const [at, event] of events.entries()) checkEvent(event, at);
  const agent = await parts.stored.sessionAgent(found.item.agent);
  const system = systemMessageOf(agent.model.id, { events, ids });
  if (isAtBudget(found)) refuseAtBudget(events);
  await checkWaits(parts, { found, lease, events });
  await checkOutcomes(parts, { found, events, ids });
  const sent: StoredEvent[] = [];
  try {
    for (const [at, event] of events.entries()) {
      const id = ids[at]!;
      const isFollowing = sent.some(isOpening);
      const related = at === events.length - 2 ? system : undefined;
      if (event.type === 'user.message')
        sent.push(...(await sendMessage(parts, found, by, { id, content: event.content, system: related })));
      else if (event.type === 'user.define_outcome') sent.push(await sendOutcome(parts, found, by, { id, event }));
      else if (isSettling(event))
        sent.push(...(await sendSettling(parts, { found, by, lease, event, at, system: related })));
      else if (event.type === 'user.interrupt') sent.push(await sendInterrupt(parts, found, by, { id, isFollowing }));
    }
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'closed') throw archivedProblem(session);
    throw error;
  }
  return sent;
}

/**
 * Checks events that are to open sessions, and sends none. `model`: that of the sessions' agent.
 * Throws ManagedError or ClientProblem.
 */
export async function checkOpening(
  parts: Pick<SendParts, 'files'>,
  model: string,
  sentEvents: readonly SentEvent[],
): Promise<void> {
  const events = await readEvents(parts, sentEvents);
  for (const [at, event] of events.entries()) checkEvent(event, at);
  systemMessageOf(model, { events, ids: [] });
  const second = events.flatMap(({ type }, at) => (type === 'user.define_outcome' ? [at] : []))[1];
  if (second !== undefined) throw outcomeProblem('the request has two', `events.${second}`);
}

/** Returns the events with the contents of files. Throws ManagedError. */
async function readEvents(parts: Pick<SendParts, 'files'>, events: readonly SentEvent[]): Promise<SentEvent[]> {
  await refuseLargeSources(parts, events);
  return Promise.all(events.map((event, at) => readSources(parts, event, `events.${at}`)));
}

/** Bytes of the files that one request names, each as often as it does: all are in memory at once. */
const MOST_SOURCE_BYTES = 64 * 1024 * 1024;

/** Throws ManagedError. */
async function refuseLargeSources({ files }: Pick<SendParts, 'files'>, events: readonly SentEvent[]): Promise<void> {
  const ids = events.flatMap((event) => {
    if (event.type === 'user.message') return event.content.filter(isFileBlock).map(({ source }) => source.file_id);
    return event.type === 'user.define_outcome' && event.rubric.type === 'file' ? [event.rubric.file_id] : [];
  });
  if (ids.length === 0 || (await files.measure(ids)) <= MOST_SOURCE_BYTES) return;
  throw new ManagedError(413, `The files that the events name are over ${MOST_SOURCE_BYTES / 1024 / 1024} MB together`);
}

type FileBlock = Exclude<MessageBlock, { type: 'text' | 'redacted' }> & { readonly source: { readonly type: 'file' } };

const isFileBlock = (block: MessageBlock): block is FileBlock => 'source' in block && block.source.type === 'file';

/** Puts files in the place of their ids. Throws ManagedError where one is not there. */
async function readSources(parts: Pick<SendParts, 'files'>, event: SentEvent, path: string): Promise<SentEvent> {
  if (event.type === 'user.define_outcome') return readRubric(parts, event, `${path}.rubric`);
  if (event.type !== 'user.message') return event;
  const read = async (block: MessageBlock, at: number): Promise<MessageBlock> => {
    if (!isFileBlock(block)) return block;
    const { mimeType, bytes } = await readFile(parts, block.source.file_id, `${path}.content.${at}.source`);
    const data = Buffer.from(bytes);
    return block.type === 'document' && mimeType.startsWith('text/')
      ? { ...block, source: { type: 'text', data: data.toString('utf8'), media_type: 'text/plain' } }
      : { ...block, source: { type: 'base64', data: data.toString('base64'), media_type: mimeType } };
  };
  return { ...event, content: await Promise.all(event.content.map(read)) };
}

type OutcomeParams = Extract<SentEvent, { type: 'user.define_outcome' }>;

/** A file is stored as its text. */
async function readRubric(parts: Pick<SendParts, 'files'>, event: OutcomeParams, path: string): Promise<OutcomeParams> {
  if (event.rubric.type === 'text') return event;
  const { bytes } = await readFile(parts, event.rubric.file_id, path);
  const content = Buffer.from(bytes).toString();
  if (!isUtf8(bytes) || content.trim() === '' || content.length > MOST_RUBRIC)
    throw invalid(`${path}: the file must be UTF-8 text of 1 to ${MOST_RUBRIC} characters`, path);
  return { ...event, rubric: { type: 'text', content } };
}

function readFile({ files }: Pick<SendParts, 'files'>, id: string, path: string): ReturnType<FileResources['read']> {
  return files.read(id).catch((error: unknown) => {
    if (!(error instanceof ManagedError)) throw error;
    throw invalid(`${path}: ${error.message}`, path, 'file_not_found');
  });
}

function refuseEnded(found: FoundSession): void {
  if (statusOf(found) === 'terminated') throw archivedProblem(found.id);
}

function checkEvent(event: SentEvent, at: number): void {
  if (isSettling(event)) return checkSettling(event, at);
  if (event.type === 'system.message') return;
  if (event.type === 'user.message') {
    parsePrompt(promptOf(event.content, `events.${at}.content`));
    return;
  }
  if (event.type === 'user.define_outcome') {
    parsePrompt(event.description);
    return;
  }
  const param = `events.${at}.session_thread_id`;
  if (event.session_thread_id) throw unsupported(param, 'an interrupt ends all threads: leave it out');
}

/**
 * Returns the request's system message, which goes with the event before it (G46); undefined
 * without one. Throws ManagedError.
 */
function systemMessageOf(model: string, { events, ids }: Pick<Sending, 'events' | 'ids'>): SystemMessage | undefined {
  const at = events.findIndex(({ type }) => type === 'system.message');
  const event = events[at];
  if (event?.type !== 'system.message') return undefined;
  const refuse = (why: string, code?: string): ManagedError =>
    invalid(`Invalid system.message event at events[${at}]: ${why}`, `events.${at}`, code);
  if (at !== events.length - 1) throw refuse('it must be the last event of a request, and the only one of its type');
  const before = events[at - 1]?.type;
  if (before === undefined || !ACCOMPANIED.has(before)) throw refuse(`it must follow a ${[...ACCOMPANIED].join(', ')}`);
  if (!findFacts(model)?.systemMessages)
    throw refuse(`model ${model} takes no system messages`, 'model_does_not_support_mid_conversation_system');
  const text = event.content.map((block) => block.text).join('\n');
  if (text.trim() === '') throw refuse('it has no text');
  if (text.length > LONGEST_SYSTEM_MESSAGE)
    throw refuse(`it has ${text.length} characters: give at most ${LONGEST_SYSTEM_MESSAGE}`);
  return { id: ids[at] ?? '', text };
}

const ACCOMPANIED: ReadonlySet<SentEvent['type']> = new Set([
  'user.message',
  'user.custom_tool_result',
  'user.tool_result',
]);

/**
 * A session that waits for a person or an app takes no message before that is settled (G45): an
 * interrupt, or what settles all of it, may come in the same request.
 */
async function checkWaits(
  { sessions }: SendParts,
  { found, lease, events }: Pick<Sending, 'lease' | 'events'> & { readonly found: FoundSession },
): Promise<void> {
  if (!events.some(isSettling) && !isWaiting(found)) return;
  const timeline = await sessions.timeline(found);
  // A sandbox goes on by itself, and a message waits for it as in a run under way.
  let open = timeline.projection.waiting.filter(({ why }) => !isOfWorker(why)).map(({ id }) => id);
  const settled = new Set<string>();
  for (const [at, event] of events.entries()) {
    if (event.type === 'user.interrupt') open = [];
    else if (isOpening(event)) refuseWhileWaiting(open, event, at);
    else if (event.type !== 'system.message') {
      const target = findTarget(timeline, { event, at, lease });
      const isOfThread = target.kind === 'open' && target.wait.thread !== undefined;
      if (isOfThread && events[at + 1]?.type === 'system.message')
        throw unsupported(`events.${at + 1}`, 'a result of a thread’s call takes no system message');
      const call = calledBy(event);
      if (settled.has(call)) throw invalid(`Invalid ${event.type} event at events[${at}]: ${call} is settled twice`);
      settled.add(call);
      open = open.filter((id) => id !== call);
    }
  }
}

/**
 * An interrupt before it in the same request ends the one that is open, and a repeated request finds
 * its own. Throws ManagedError.
 */
async function checkOutcomes(
  { sessions }: SendParts,
  { found, events, ids }: Pick<Sending, 'events' | 'ids'> & { readonly found: FoundSession },
): Promise<void> {
  const [first = -1, second] = events.flatMap(({ type }, at) => (type === 'user.define_outcome' ? [at] : []));
  if (second !== undefined) throw outcomeProblem('the request has two', `events.${second}`);
  if (first < 0 || events.slice(0, first).some(({ type }) => type === 'user.interrupt')) return;
  const { projection } = await sessions.timeline(found);
  const open = outcomesOf(found, projection).find(isOpen);
  if (open && open.id !== outcomeId(ids[first]!))
    throw outcomeProblem(`${open.id} is ${open.result}`, `events.${first}`);
}

/** A session at its budget goes on by itself once that is raised (G45 G69). Throws ManagedError. */
function refuseAtBudget(events: readonly SentEvent[]): void {
  const at = events.findIndex(isOpening);
  const event = events[at];
  if (!event) return;
  const why = 'the session has reached its budget: raise or remove that by sessions.update, and the session goes on';
  throw invalid(`Invalid ${event.type} event at events[${at}]: ${why}`, `events.${at}`, 'session_budget_reached');
}

/** Foreign clients match these words. */
function refuseWhileWaiting(open: readonly string[], { type }: OpeningEvent, at: number): void {
  if (open.length === 0) return;
  const may = 'user.tool_confirmation, user.custom_tool_result, user.tool_result, or user.interrupt';
  const why = `waiting on responses to events [${open.join(', ')}]; only ${may} may be sent`;
  throw invalid(`Invalid ${type} event at events[${at}]: ${why}`, `events.${at}`, 'session_requires_action');
}

/** Events that settle are processed when they are stored, which they are by now. */
async function sendSettling(parts: SendParts, sending: Parameters<typeof settle>[1]): Promise<StoredEvent[]> {
  const { found, system, at } = sending;
  const fact = await settle(parts, sending);
  parts.bus.publish(found.id, {});
  const facts = system ? (await parts.sessions.timeline(found)).facts : [];
  const related = facts.filter(({ id }) => id === system?.id);
  if (system && related.length === 0)
    throw invalid(`Invalid system.message event at events[${at + 1}]: the result before it was taken without it`);
  return (await parts.timelines.write([fact, ...related])) as StoredEvent[];
}

function promptOf(content: readonly MessageBlock[], path: string): readonly PromptBlock[] {
  return content.map((block, index): PromptBlock => {
    const where = `${path}.${index}`;
    if (block.type === 'redacted') throw invalid(`${where}: a redacted block cannot be sent`, where);
    if (block.type !== 'text' && block.source.type === 'url')
      throw unsupported(`${where}.source`, `sources of type "url" are not served yet: send base64, or a file`);
    return block as PromptBlock;
  });
}

type Message = {
  readonly id: string;
  readonly content: readonly MessageBlock[];
  readonly system: SystemMessage | undefined;
};

async function sendMessage(
  parts: SendParts,
  found: FoundSession,
  by: string,
  { id, content, system }: Message,
): Promise<StoredEvent[]> {
  const prompt = promptOf(content, 'content');
  await openTurn(parts, found, by, { id, prompt, system });
  const { text, media } = parsePrompt(prompt);
  const event: StoredEvent = {
    id,
    type: 'user.message',
    content: media.length === 0 ? [{ type: 'text', text }] : withoutRedacted(content),
    processed_at: null,
  };
  const related = system ? [queueSystem(system)] : [];
  for (const queued of [event, ...related]) parts.bus.publish(found.id, { queued });
  return [event, ...related];
}

type OutcomeEvent = { readonly id: string; readonly event: Extract<OpeningEvent, { type: 'user.define_outcome' }> };

/** It is processed when it is accepted; a run under way takes it up with its next turn. */
async function sendOutcome(
  parts: SendParts,
  found: FoundSession,
  by: string,
  { id, event: { description, rubric, max_iterations } }: OutcomeEvent,
): Promise<StoredEvent> {
  const { ports, sessions, bus } = parts;
  const rounds = max_iterations ?? DEFAULT_ITERATIONS;
  const text = rubric.type === 'text' ? rubric.content : '';
  await sessions.noteOutcome(found, by, { event: id, description: await storeTextBody(ports.store, description) });
  try {
    await openTurn(parts, found, by, { id, prompt: description, goalOnce: { rubric: text, rounds } });
  } catch (error) {
    // One that began all the same is seen in the transcript, and a repeated request notes it again.
    await sessions.dropOutcome(found, by, id);
    throw error;
  }
  bus.publish(found.id, {});
  return {
    id,
    type: 'user.define_outcome',
    outcome_id: outcomeId(id),
    description,
    rubric: { type: 'text', content: text },
    max_iterations: rounds,
    processed_at: formatTime(ports.now()),
  };
}

type Opening = {
  readonly id: string;
  readonly prompt: Prompt;
  readonly goalOnce?: GoalOnce;
  readonly system?: SystemMessage | undefined;
};

/** Sends what opens a turn; the message's id is its event's id. */
async function openTurn(
  { ports, stored, sessions, queues }: SendParts,
  { id: session, item }: FoundSession,
  by: string,
  { id, prompt, goalOnce, system }: Opening,
): Promise<void> {
  const cwd = await ports.openWorkspace(session);
  const environment = await sessions.environmentOf(item);
  const agent = await stored.sessionAgent(item.agent);
  const ifNew = optionsOfAgent(agent, environment, {
    session,
    cwd,
    resources: item.resources,
    skills: await readSkills(stored.skills, agent.skills),
    vaults: item.vaults,
    budget: item.budget,
    hasFiles: item.hasFiles,
    workerTools: ports.workerTools,
  });
  if (!item.isStarted) await sessions.noteStart(session, by);
  // A workflow that began with another agent takes these with the message.
  const changes = item.hasNewAgent ? changesOfAgent(ifNew) : {};
  const more = { ...changes, ...(goalOnce && { goalOnce }), ...(system && { systemMessage: system }) };
  const facts = { session, messageId: id, ifNew, querySource: 'api', ...more } as const;
  await ports.as(by).start(prompt, facts);
  await sessions.noteStarted(session, by);
  if (!item.isStarted) {
    // The budget may have been changed while the workflow began.
    const { budget } = await sessions.item(session);
    if (budget !== item.budget) await sessions.bringBudget(session, by, budget);
  }
  if (environment.config.type === 'self_hosted') await queues.of(environment.id).ensure(session, by);
}

const queueSystem = ({ id, text }: SystemMessage): StoredEvent => ({
  id,
  type: 'system.message',
  content: [{ type: 'text', text }],
  processed_at: null,
});

/** JSON has no undefined, so that the blocks have the SDK's type as they were sent. */
const withoutRedacted = (content: readonly MessageBlock[]): SentContent =>
  content.filter(({ type }) => type !== 'redacted') as SentContent;

/** A session at rest echoes an interrupt, which changes nothing. */
async function sendInterrupt(
  { ports, sessions, bus }: SendParts,
  found: FoundSession,
  by: string,
  { id: messageId, isFollowing }: { readonly id: string; readonly isFollowing: boolean },
): Promise<StoredEvent> {
  const { projection } = await sessions.timeline(found);
  const id = interruptId(projection);
  if (statusOf(found) === 'idle' && !isWaiting(found) && !isFollowing)
    return { id, type: 'user.interrupt', processed_at: formatTime(ports.now()) };
  await ports.as(by).interrupt(found.id, { messageId });
  const read = async () => (await sessions.timeline(found)).projection;
  void endUngiven(ports, found.id, read, by);
  const event: StoredEvent = { id, type: 'user.interrupt', processed_at: null };
  bus.publish(found.id, { queued: event });
  return event;
}
