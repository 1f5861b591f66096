// Sends the program's messages to its session as they come, each under an id that stays the same
// when it is sent again.
import { createMailbox } from '../mailbox.ts';
import { present } from '../../workflows/contract/present.ts';
import { ClientProblem } from '../problem.ts';
import type { Workplace } from '../face-types.ts';
import type { Prompt, PromptBlock } from '../index.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import type { CompactionRequest, OptionChanges } from '../../workflows/contract/session.ts';
import { parseCompaction, isClear } from './commands.ts';
import type { HookRelay } from './hook-events.ts';
import type { ProgramQuery } from './program/program.ts';
import type { ServerChanges } from './server-changes.ts';
import type { SDKUserMessage } from './shapes/messages.ts';
import type { Options } from './shapes/options.ts';
import type { PermissionMode } from './shapes/permissions.ts';
import type { QueryPrompt, RewindFilesResult, SDKControlGetContextUsageResponse } from './shapes/query.ts';

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
