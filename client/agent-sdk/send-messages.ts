// Sends what a program gives to its session, as it comes, each message under an id that is the same
// when it is sent again.
import { createMailbox } from '../mailbox.ts';
import { ClientProblem } from '../problem.ts';
import type { Workplace } from '../runtime/workplace.ts';
import type { Prompt, PromptBlock } from '../sessions/prompt.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import type { CompactionAsked, OptionChanges } from '../../workflows/contract/session.ts';
import { compactionIn, isClear } from './commands.ts';
import type { ProgramQuery } from './program/program.ts';
import type { SDKUserMessage } from './shapes/messages.ts';
import type { Options } from './shapes/options.ts';
import type { PermissionMode } from './shapes/permissions.ts';
import type { QueryPrompt, SDKControlGetContextUsageResponse } from './shapes/query.ts';

export type Steering = {
  /** Options for the next message. */
  changes: OptionChanges;
  /** Options that went with a message: a session that begins anew has them, too. */
  sent: OptionChanges;
  interrupt: () => Promise<void>;
  /** From now on, for calls that are asked about. Null before the session is open. */
  grantMode: ((mode: PermissionMode) => void) | null;
  /** Null before the session is open, and when all is answered. */
  add: ((stream: AsyncIterable<SDKUserMessage>) => Promise<void>) | null;
  /** It is null while nothing runs. */
  stopTask: ((id: string) => Promise<void>) | null;
  /** It is null while nothing runs. */
  contextUsage: (() => Promise<SDKControlGetContextUsageResponse>) | null;
  /**
   * Aborted when the rest is read by nobody, or when the program aborts it: its reason is thrown.
   */
  readonly ended: AbortController;
};

export type Running = {
  readonly workplace: Workplace;
  readonly program: ProgramQuery;
  readonly options: Options;
  readonly runOptions: OptionChanges & { readonly cwd: string };
  readonly steering: Steering;
  readonly say: (line: string) => void;
};

type Sender = {
  readonly messages: AsyncIterable<{ readonly id: MessageId } | { readonly error: unknown }>;
  readonly sent: ReadonlySet<MessageId>;
  /** The ids among them that ask for a compaction. */
  readonly compactions: ReadonlySet<MessageId>;
};

/** Hands on each id once its message is durable. */
export function sendMessages(running: Running, prompt: QueryPrompt): Sender {
  const box = createMailbox<{ readonly id: MessageId } | { readonly error: unknown }>();
  const [sent, compactions] = [new Set<MessageId>(), new Set<MessageId>()];
  const { signal } = running.steering.ended;
  signal.addEventListener('abort', () => box.push({ error: signal.reason }), { once: true });
  let reading = 0;
  const one = async (content: Prompt, given: Pick<SDKUserMessage, 'uuid' | 'priority'> = {}): Promise<void> => {
    const id = (given.uuid as MessageId | undefined) ?? running.program.messageId(JSON.stringify(content));
    const isFirst = sent.size === 0;
    sent.add(id);
    const compact = compactionIn(content);
    if (compact) compactions.add(id);
    if (isClear(content)) throw new ClientProblem('refused', '/clear is taken from the prompt of a query alone');
    await send(running, content, id, { isFirst, now: given.priority === 'now', compact });
    box.push({ id });
  };
  const all = async (stream: AsyncIterable<SDKUserMessage>): Promise<void> => {
    reading += 1;
    try {
      for await (const message of stream) await one(contentOf(message), message);
    } finally {
      reading -= 1;
    }
  };
  const ended = (): void => {
    if (reading === 0) box.close();
  };
  running.steering.add = (stream) => {
    // The prompt's messages may all be sent, and the last of them not be answered yet.
    box.reopen();
    return all(stream).finally(ended);
  };
  const first = typeof prompt === 'string' ? one(prompt) : all(prompt);
  first.catch((error: unknown) => box.push({ error })).finally(ended);
  return { messages: box, sent, compactions };
}

type How = {
  readonly isFirst: boolean;
  readonly now: boolean;
  readonly compact: CompactionAsked | undefined;
};

async function send(
  { workplace, options, runOptions, steering }: Running,
  content: Prompt,
  messageId: MessageId,
  { isFirst, now, compact: asked }: How,
): Promise<void> {
  const { sessions, session, workers } = workplace;
  const changes = steering.changes;
  steering.changes = {};
  steering.sent = { ...steering.sent, ...changes };
  const compact = asked ? { compact: asked } : {};
  const { resume, sessionId } = options;
  // One of its own gets the options with its beginning, and one that is open with the message.
  const where = resume === undefined && sessionId === undefined ? { newId: session } : { session };
  if (isFirst) await sessions.start(content, { ...runOptions, ...changes, ...where, messageId, workers, ...compact });
  else await sessions.send(session, content, { messageId, options: changes, ...compact, ...(now ? { now } : {}) });
}

function contentOf({ message }: SDKUserMessage): Prompt {
  const { content } = message;
  // Blocks of other kinds are refused in words where the prompt is read.
  return typeof content === 'string' ? content : (content as readonly PromptBlock[]);
}
