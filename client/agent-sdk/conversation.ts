// Holds a program's conversation with one session: each message is sent once, and each run that
// answers one is followed to its end. Stored messages come from the transcript by their position,
// so that none is missed or told twice, even after the program or a worker died.
import { randomUUID } from 'node:crypto';
import type {
  BodyReader,
  EntryMark,
  TranscriptReader,
  Entry,
  ReplyEntry,
  WatchedEvent,
  PerdureClient,
  ApprovalEvent,
  RunOutcome,
  Hash,
  MessageId,
  SessionId,
} from '../faces/types.ts';
import { createMailbox, isApprovalEvent } from '../faces/sessions.ts';
import { ClientProblem } from '../faces/start.ts';
import { beginsAt } from '../faces/history.ts';
import { endCommand } from '../faces/tools.ts';
import type { HookRelay } from './program-hooks.ts';
import { createLiveMessages, type LiveMessages } from './live.ts';
import { messagesOfEntry, resultMessage } from './messages.ts';
import type { ProgramQuery } from './program/program.ts';
import type { SDKMessage } from './shapes/messages.ts';
import { type CommandTasks, createCommandTasks } from './tasks/command-tasks.ts';
import { FollowedAgents } from './tasks/follow-agents.ts';
import { createSessionSpend, type SpendPorts } from './tasks/session-spend.ts';
import { backgroundRoot } from '../../system/process/background-files.ts';
import { taskOf } from './tasks/agent-messages.ts';

export type ConversationPorts = {
  readonly session: SessionId;
  readonly sessions: Pick<PerdureClient, 'follow' | 'describe' | 'interrupt'>;
  readonly reader: Pick<TranscriptReader, 'since'>;
  readonly bodies: BodyReader;
  /** The path of the data folder. */
  readonly root: string;
  readonly smallModel: SpendPorts['smallModel'];
  readonly program: Pick<ProgramQuery, 'isKnown' | 'received' | 'noteReceived' | 'receivedOf' | 'noteReceivedOf'>;
  /** The run before the first that can answer a message of this program. */
  readonly before: number;
  readonly partial: boolean;
  readonly relay: HookRelay;
  /** Whether the program is told of hooks as they run. */
  readonly hookEvents: boolean;
  /** Whether the program is also told the texts of agents. */
  readonly agentText: boolean;
  /** Agents of these types work in the background, unless a call says otherwise. */
  readonly inBackground: ReadonlySet<string>;
  /** Reads the newest head from the session's history. */
  readonly headNow: () => Promise<Hash | null>;
  readonly failed: AbortSignal;
  readonly onApproval: (event: ApprovalEvent) => void;
  readonly say: (line: string) => void;
};

type SentMessages = { readonly sent: ReadonlySet<MessageId>; readonly compactions: ReadonlySet<MessageId> };

type News =
  | { readonly kind: 'event'; readonly event: WatchedEvent }
  | { readonly kind: 'head'; readonly head: Hash }
  | { readonly kind: 'agents' }
  | { readonly kind: 'result'; readonly outcome: RunOutcome }
  | { readonly kind: 'broken'; readonly error: unknown };

export type Conversation = {
  /** The messages whose run has ended. One run may answer several. */
  readonly answered: ReadonlySet<MessageId>;
  /**
   * Yields the messages up to the end of the run that answers `message`. Yields nothing when an
   * earlier run has already answered it. Throws ClientProblem `unanswered` when the session ends
   * without a result.
   */
  answer(message: MessageId): AsyncGenerator<SDKMessage>;
  /**
   * Yields the messages of the run under way, up to its end: those that the program has not
   * received, or, of a program that is not known, those from now on.
   */
  goOn(): AsyncGenerator<SDKMessage>;
  /** Ends an agent or a background command. Throws ClientProblem. */
  stopTask(id: string): Promise<void>;
  /** Stops following the agents. */
  stop(): Promise<void>;
};

/** `compactions` holds the sent messages that ask for a compaction and so are not prompts. */
export function openConversation(ports: ConversationPorts, sentMessages: SentMessages): Conversation {
  const { session, partial, hookEvents, relay, sessions, reader } = ports;
  const live = createLiveMessages(session, partial);
  const agents = new FollowedAgents({ ...ports, withText: ports.agentText });
  const commands = createCommandTasks(session, session);
  const spend = createSessionSpend(spendPorts(ports));
  const transcript = createTranscriptTeller(ports, sentMessages, { agents, commands, live });
  const extraMessages: SDKMessage[] = [];
  const tellExtra = (message: SDKMessage): void => {
    extraMessages.push(message);
    agents.wake();
  };
  if (hookEvents) relay.onNews = (news) => tellExtra({ ...news, session_id: session, uuid: randomUUID() });
  const answered = new Set<MessageId>();
  let isFirst = ports.program.received > 0;
  const end = async function* (outcome: RunOutcome): AsyncGenerator<SDKMessage> {
    const head = (await sessions.describe(session)).last?.head ?? null;
    if (head !== null) yield* transcript.upTo(head, outcome.run);
    const entries = head === null ? [] : await entriesOfRun(ports, head, outcome.run);
    for (const id of userMessageIds(entries)) answered.add(id);
    yield* extraMessages.splice(0);
    yield* agents.tell();
    if (head !== null) {
      const { entries: all } = await reader.since(session, head, spend.run + 1);
      await spend.add(upToRun(all, outcome.run));
    }
    yield resultMessage(outcome, entries, spend.totals());
  };
  const answer = async function* (message: MessageId): AsyncGenerator<SDKMessage> {
    if (answered.has(message)) return;
    // The message may have been answered while the program was gone; the loop tells its end.
    const head = isFirst ? await ports.headNow() : null;
    if (head !== null) yield* transcript.upTo(head);
    isFirst = false;
    yield* tellRun(message);
  };
  const goOn = async function* (): AsyncGenerator<SDKMessage> {
    const head = await ports.headNow();
    if (head !== null) {
      await transcript.takeUp(head);
      yield* transcript.upTo(head);
    }
    isFirst = false;
    yield* tellRun(null);
  };
  const tellRun = async function* (message: MessageId | null): AsyncGenerator<SDKMessage> {
    for await (const news of newsOf(ports, message, agents)) {
      if (news.kind === 'broken') throw news.error;
      if (news.kind === 'agents') yield* extraMessages.splice(0);
      if (news.kind === 'agents') yield* agents.tell();
      if (news.kind === 'head') yield* transcript.upTo(news.head);
      if (news.kind === 'event') yield* live.tell(news.event, transcript.lastReply(news.event));
      if (news.kind !== 'result') continue;
      if (message !== null) answered.add(message);
      return yield* end(news.outcome);
    }
    throw ports.failed.reason ?? new ClientProblem('unanswered', `session ${session} ended without a result`);
  };
  const isRead = (id: string): boolean => id === session || agents.isFollowed(id as SessionId);
  return {
    answered,
    stopTask: async (id) => {
      const message = await stopTask({ ...ports, agents, commands }, id);
      if (message) tellExtra(message);
    },
    stop: () => agents.stop(),
    answer: (message) => relay.order.watch(answer(message), isRead),
    goOn: () => relay.order.watch(goOn(), isRead),
  };
}

type TellerParts = {
  readonly agents: FollowedAgents;
  readonly commands: CommandTasks;
  readonly live: Pick<LiveMessages, 'release'>;
};

/** Tells each entry of the transcript once, from the first that the program has not received. */
function createTranscriptTeller(
  { session, reader, program, relay, before }: ConversationPorts,
  sentMessages: SentMessages,
  { agents, commands, live }: TellerParts,
) {
  /** The position after the last entry that was told, or that is not the program's. */
  let next = program.received;
  let run = before + 1;
  // The run and the iteration of the last entry.
  let at = 0;
  let iteration = 0;
  let isMine = next > 0;
  /** The last reply, and whether its calls may have no outcomes yet. */
  let reply: ReplyEntry | null = null;
  let isOpen = false;
  /** The last entry that was taken; absent while all of the run may have to be taken again. */
  let mark: EntryMark | undefined;
  return {
    /** Takes the run under way for the program's own, although it sent no message of it. */
    takeUp: async (head: Hash): Promise<void> => {
      isMine = true;
      if (program.isKnown) return;
      const { first, entries } = await reader.since(session, head, run);
      next = first + entries.length;
    },
    /**
     * Yields the untold messages of the transcript that ends with `head`, at most up to the end of
     * the run `until`.
     */
    upTo: async function* (head: Hash, until = Infinity): AsyncGenerator<SDKMessage> {
      const since = await reader.since(session, head, run, mark);
      const { first, entries } = since;
      const isTakenOn = beginsAt(since, mark);
      if (!isTakenOn) [reply, isOpen] = [null, false];
      // The next time, messages from before the program's first one count as its own.
      const isAllMine = isMine;
      for (const [offset, entry] of entries.entries()) {
        if (isTakenOn && offset === 0) continue;
        const position = first + offset;
        if (entry.kind === 'run_started') {
          at = entry.run;
          iteration = 0;
        }
        if (entry.kind === 'reply') {
          iteration = entry.iteration;
          reply = entry;
          isOpen = true;
        }
        isMine ||= position >= next && isOwn(sentMessages, entry);
        if (entry.kind === 'outcomes') isOpen = false;
        // An agent's messages come before the outcome of the call that started it.
        if (entry.kind === 'outcomes' && isMine)
          for (const outcome of entry.outcomes) yield* agents.end(reply, outcome);
        if (entry.kind === 'reply' && (position < next || !isMine)) relay.order.pass(callIds(entry));
        const tasks = isMine ? commands.tell(entry, position) : [];
        if (position >= next) {
          next = position + 1;
          const entryMessages = isMine ? messagesOfEntry(session, entry, position, reply) : [];
          const messages = [...entryMessages, ...tasks];
          yield* messages;
          if (entry.kind === 'reply') yield* live.release(entry.iteration);
          // A program that asks for the next message has received these.
          if (messages.length > 0) program.noteReceived(next);
        }
        mark = isAllMine ? { run: at, position, entry } : undefined;
        if (entry.kind !== 'run_ended' || entry.ended.run < until) continue;
        run = entry.ended.run + 1;
        [reply, isOpen] = [null, false];
        return;
      }
      if (reply && isOpen && isMine) agents.expect(head, reply);
    },
    /** Returns the last iteration of the current run whose reply was told. */
    lastReply: (event: WatchedEvent): number => {
      if (event.type === 'run_start' && event.run !== at) {
        at = event.run;
        iteration = 0;
      }
      return iteration;
    },
  };
}

/**
 * Tells whether an entry belongs to the program. A requested compaction has a run of its own, which
 * has no user message.
 */
function isOwn({ sent, compactions }: SentMessages, entry: Entry): boolean {
  return entry.kind === 'user' ? sent.has(entry.id) : entry.kind === 'run_started' && compactions.size > 0;
}

function callIds({ message }: ReplyEntry): readonly string[] {
  return message.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
}

async function entriesOfRun(
  { reader, session }: ConversationPorts,
  head: Hash,
  run: number,
): Promise<readonly Entry[]> {
  const { entries } = await reader.since(session, head, run);
  return upToRun(entries, run);
}

function upToRun(entries: readonly Entry[], run: number): readonly Entry[] {
  const end = entries.findIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  return end < 0 ? entries : entries.slice(0, end + 1);
}

function spendPorts({ sessions, reader, smallModel }: ConversationPorts): SpendPorts {
  const entriesOf = async (session: SessionId): Promise<readonly Entry[]> => {
    const head = (await sessions.describe(session)).last?.head ?? null;
    return head === null ? [] : (await reader.since(session, head, 1)).entries;
  };
  return { entriesOf, smallModel };
}

/** Returns the messages that a run answers, also those that came while it ran. */
function userMessageIds(entries: readonly Entry[]): readonly MessageId[] {
  return entries.flatMap((entry) => (entry.kind === 'user' ? [entry.id] : []));
}

/**
 * Yields the events of the run that answers `message`, or of the one under way, and each head that
 * is stored meanwhile, in order of arrival.
 */
async function* newsOf(
  ports: ConversationPorts,
  message: MessageId | null,
  agents: FollowedAgents,
): AsyncGenerator<News> {
  const { session, sessions, failed, say, onApproval } = ports;
  const box = createMailbox<News>();
  agents.onNews(() => box.push({ kind: 'agents' }));
  box.push({ kind: 'agents' });
  const stop = new AbortController();
  const pump = async (): Promise<void> => {
    try {
      const followed = sessions.follow(session, {
        messageId: message ?? undefined,
        signal: AbortSignal.any([failed, stop.signal]),
        onTrouble: (why) => why && say(why),
        onHead: (head) => box.push({ kind: 'head', head }),
      });
      for await (const event of followed) {
        if (event.type === 'result') box.push({ kind: 'result', outcome: event });
        else if (isApprovalEvent(event)) onApproval(event);
        else box.push({ kind: 'event', event });
        // The calls of a reply may run for long, so the reply is told before they end.
        if (event.type === 'reply' && event.head !== undefined && event.stopReason === 'tool_use')
          box.push({ kind: 'head', head: event.head });
      }
    } catch (error) {
      box.push({ kind: 'broken', error });
    }
    box.close();
  };
  const pumping = pump();
  try {
    yield* box;
  } finally {
    stop.abort();
    await pumping;
  }
}

// Ends a task of a conversation, an agent or a background command, by the id in its messages.
type StoppableTasks = {
  readonly session: string;
  readonly sessions: Pick<PerdureClient, 'interrupt'>;
  /** The path of the data folder. */
  readonly root: string;
  readonly agents: Pick<FollowedAgents, 'listBegun'>;
  /** The background commands of the main session. */
  readonly commands: CommandTasks;
};

/**
 * Ends the task, and returns the message of its end, or null for an agent, whose transcript tells
 * it. Throws ClientProblem `refused` for an unknown id, and `unanswered` when the command does not
 * confirm its end.
 */
async function stopTask(
  { session, sessions, root, agents, commands }: StoppableTasks,
  id: string,
): Promise<SDKMessage | null> {
  const startedAgents = agents.listBegun();
  const found = startedAgents.find(({ agent }) => taskOf(agent) === id);
  if (found) {
    await sessions.interrupt(found.agent.session);
    return null;
  }
  const owners = [{ session, commands }, ...startedAgents.map((each) => ({ ...each, session: each.agent.session }))];
  for (const owner of owners) {
    const record = await endCommand(backgroundRoot(root), owner.session, id);
    if (record?.end) return owner.commands.stop(id);
    if (record) throw new ClientProblem('unanswered', `command ${id} was told to end, and has not said that it did`);
  }
  const known = 'task_started names those there are';
  throw new ClientProblem('refused', `there is no task ${JSON.stringify(id.slice(0, 80))} of this query: ${known}`);
}
