// Sends the program's messages to its session as they come, each under an id that stays the same
// when it is sent again.
import { present } from '../faces/basics.ts';
import { createMailbox, isAtRest } from '../faces/sessions.ts';
import { ClientProblem } from '../faces/start.ts';
import type {
  Workplace,
  Prompt,
  PromptBlock,
  SessionDescription,
  MessageId,
  SessionId,
  CompactionRequest,
  OptionChanges,
} from '../faces/types.ts';
import { parseCompaction, isClear } from './commands.ts';
import type { HookRelay } from './program-hooks.ts';
import type { ProgramQuery } from './program/program.ts';
import type { ServerChanges } from './server-changes.ts';
import type { SDKUserMessage } from './shapes/messages.ts';
import type { Options } from './shapes/options.ts';
import type { PermissionMode } from './shapes/facts.ts';
import type { QueryPrompt, RewindFilesResult, SDKControlGetContextUsageResponse } from './shapes/query.ts';
import { awaitInTime } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { asksSomebody } from './names.ts';

export type Steering = {
  /** Option changes that go with the next message. */
  changes: OptionChanges;
  /** Option changes of earlier messages. The session after a `/clear` gets them, too. */
  sent: OptionChanges;
  interrupt: () => Promise<void>;
  /** Applies a mode at once to calls that ask. Null before the session is open. */
  grantMode: ((mode: PermissionMode) => void) | null;
  /** Sends further messages. It is null before the session is open, and once all is answered. */
  add: ((stream: AsyncIterable<SDKUserMessage>) => Promise<void>) | null;
  /** Ends an agent or a background command. It is null while nothing runs. */
  stopTask: ((id: string) => Promise<void>) | null;
  /** Brings the files back to how they were at a message. Null while no messages are read. */
  rewindFiles: ((uuid: string, how?: { readonly dryRun?: boolean }) => Promise<RewindFilesResult>) | null;
  /** Reads how full the model's window is. It is null while nothing runs. */
  contextUsage: (() => Promise<SDKControlGetContextUsageResponse>) | null;
  /** The changes of the program to its MCP servers. */
  readonly servers: ServerChanges;
  /** Aborted when the program stops reading, or aborts the query. The query throws the reason. */
  readonly closeIfRead: AbortController;
};

export type Running = {
  readonly workplace: Workplace;
  readonly program: ProgramQuery;
  readonly options: Options;
  readonly runOptions: OptionChanges & { readonly cwd: string };
  readonly steering: Steering;
  readonly relay: HookRelay;
  /** Whether the session goes on with another worker, within the same query. */
  readonly goesOn: boolean;
  /** The session that this one is a fork of. */
  readonly origin?: string;
  readonly say: (line: string) => void;
};

type Sender = {
  readonly messages: AsyncIterable<{ readonly id: MessageId } | { readonly error: unknown }>;
  readonly sent: ReadonlySet<MessageId>;
  /** The ids among them that ask for a compaction. */
  readonly compactions: ReadonlySet<MessageId>;
};

/** Yields the id of each message once the message is durable. */
export function sendMessages(running: Running, prompt: QueryPrompt): Sender {
  const box = createMailbox<{ readonly id: MessageId } | { readonly error: unknown }>();
  const sent = new Set<MessageId>();
  const compactions = new Set<MessageId>();
  const { signal } = running.steering.closeIfRead;
  signal.addEventListener('abort', () => box.push({ error: signal.reason }), { once: true });
  let reading = 0;
  const sendOne = async (content: Prompt, message: Pick<SDKUserMessage, 'uuid' | 'priority'> = {}): Promise<void> => {
    const id = (message.uuid as MessageId | undefined) ?? running.program.messageId(JSON.stringify(content));
    const isFirst = sent.size === 0;
    sent.add(id);
    const compact = parseCompaction(content);
    if (compact) compactions.add(id);
    if (isClear(content)) throw new ClientProblem('refused', '/clear is taken from the prompt of a query alone');
    await sendMessage(running, content, id, { isFirst, now: message.priority === 'now', compact });
    box.push({ id });
  };
  const sendAll = async (stream: AsyncIterable<SDKUserMessage>): Promise<void> => {
    reading += 1;
    try {
      for await (const message of stream) await sendOne(contentOf(message), message);
    } finally {
      reading -= 1;
    }
  };
  const finish = (): void => {
    if (reading === 0) box.close();
  };
  running.steering.add = (stream) => {
    // All messages of the prompt may be sent while the last one still waits for its answer.
    box.reopen();
    return sendAll(stream).finally(finish);
  };
  const first = typeof prompt === 'string' ? sendOne(prompt) : sendAll(prompt);
  first.catch((error: unknown) => box.push({ error })).finally(finish);
  return { messages: box, sent, compactions };
}

type Delivery = {
  readonly isFirst: boolean;
  readonly now: boolean;
  readonly compact: CompactionRequest | undefined;
};

async function sendMessage(
  { workplace, options, runOptions, steering }: Running,
  content: Prompt,
  messageId: MessageId,
  { isFirst, now, compact: compaction }: Delivery,
): Promise<void> {
  const { sessions, session, workers } = workplace;
  const changes = steering.changes;
  steering.changes = {};
  steering.sent = { ...steering.sent, ...changes };
  const compact = present({ compact: compaction });
  const { resume, sessionId } = options;
  // A new session starts with the options, and an open one gets them with the message.
  const where = resume === undefined && sessionId === undefined ? { newId: session } : { session };
  if (isFirst) await sessions.start(content, { ...runOptions, ...changes, ...where, messageId, workers, ...compact });
  else
    await sessions.send(session, content, {
      messageId,
      options: changes,
      ...compact,
      ...present({ now: now || undefined }),
    });
}

function contentOf({ message }: SDKUserMessage): Prompt {
  const { content } = message;
  // `readPrompt` refuses blocks of other kinds with a sentence.
  return typeof content === 'string' ? content : (content as readonly PromptBlock[]);
}

/**
 * Milliseconds for a run to end that the program no longer reads. Its worker is this process, which
 * may exit afterwards.
 */
export const STOPPING_MS = 5_000;

/** Tells whether the session has a run that the program can see to its end. */
export async function hasOpenRun(running: Running): Promise<boolean> {
  const found = await describeEarlier(running);
  if (found === null || isAtRest(found)) return false;
  if (found.phase !== 'waiting_approval' || asksSomebody(running.options)) return true;
  const { session } = running.workplace;
  running.say(`a call of session ${session} waits: give the option canUseTool, or decide with \`perdure approvals\``);
  return false;
}

/** Returns the last run of a session that another query began, since it is not told again. */
export async function countEarlierRuns(running: Running): Promise<number> {
  return (await describeEarlier(running))?.last?.run ?? 0;
}

async function describeEarlier({ workplace, options }: Running): Promise<SessionDescription | null> {
  if (options.resume === undefined && options.sessionId === undefined) return null;
  try {
    return await workplace.sessions.describe(workplace.session);
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind !== 'no_session' || options.resume !== undefined) throw error;
    return null;
  }
}

/**
 * Interrupts the runs of unanswered messages when the program stops reading, as the exit of an
 * in-process agent would; null stands for the one that it found under way. A program with a name
 * sends its messages again when it asks again.
 */
export async function stopRuns(
  { workplace: { sessions }, program, say }: Running,
  session: SessionId,
  unanswered: readonly (MessageId | null)[],
): Promise<void> {
  const enough = new AbortController();
  const stop = async (message: MessageId | null): Promise<void> => {
    if (message !== null) program.leave(message);
    await sessions.interrupt(session);
    for await (const _ of sessions.follow(session, { messageId: message ?? undefined, signal: enough.signal }));
  };
  const stopAll = async (): Promise<string> => {
    for (const message of unanswered) await stop(message);
    return '';
  };
  const late = `the run of session ${session} is still being interrupted`;
  const problem = await awaitInTime(stopAll().catch(reasonOf), late, STOPPING_MS);
  enough.abort();
  if (problem !== '') say(problem);
}
