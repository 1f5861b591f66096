// A program's conversation with one session: each message is sent once, and each run that answers
// one is followed to its end. What is stored comes from the transcript, by its place in it, so that
// nothing is missed or told twice, whoever died meanwhile.
import type { BodyReader } from '../../store/log/bodies.ts';
import type { Entry, ReplyEntry } from '../../store/log/entries.ts';
import type { Watched } from '../../store/live/events.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { createMailbox } from '../mailbox.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { ClientProblem } from '../problem.ts';
import { type ApprovalEvent, isApprovalEvent } from '../sessions/waiting-approval.ts';
import type { RunOutcome } from '../sessions/outcome.ts';
import type { TranscriptReader } from '../sessions/transcript-reader.ts';
import { liveMessages } from './live.ts';
import { messageOfEntry, resultMessage } from './messages.ts';
import type { ProgramQuery } from './program/program.ts';
import type { SDKMessage } from './shapes/messages.ts';
import { type CommandTasks, commandTasks } from './tasks/command-tasks.ts';
import { type Agents, followAgents } from './tasks/follow-agents.ts';
import { stopTask } from './tasks/stop-task.ts';
import { type SpendPorts, spentByModel } from './tasks/model-spend.ts';

export type Conversation = {
  readonly session: SessionId;
  readonly sessions: Pick<PerdureClient, 'follow' | 'describe' | 'interrupt'>;
  readonly reader: Pick<TranscriptReader, 'since'>;
  readonly bodies: BodyReader;
  /** The path of the data folder. */
  readonly root: string;
  readonly smallModel: SpendPorts['smallModel'];
  readonly program: Pick<ProgramQuery, 'received' | 'note' | 'receivedOf' | 'noteOf'>;
  /** The run before the first that can answer a message of this program. */
  readonly before: number;
  readonly partial: boolean;
  /** Hooks are told of as they run. */
  readonly hookEvents: boolean;
  /** The texts of agents are told, too. */
  readonly agentText: boolean;
  /** Agents of these types work in the background, unless a call says otherwise. */
  readonly inBackground: ReadonlySet<string>;
  /** The newest head, from the session's history. */
  readonly headNow: () => Promise<Hash | null>;
  readonly failed: AbortSignal;
  readonly onApproval: (event: ApprovalEvent) => void;
  readonly say: (line: string) => void;
};

type Mine = { readonly sent: ReadonlySet<MessageId>; readonly compactions: ReadonlySet<MessageId> };

type News =
  | { readonly kind: 'event'; readonly event: Watched }
  | { readonly kind: 'head'; readonly head: Hash }
  | { readonly kind: 'agents' }
  | { readonly kind: 'result'; readonly outcome: RunOutcome }
  | { readonly kind: 'broken'; readonly error: unknown };

export type Talk = {
  /** Messages whose run has ended, also of one that answered several. */
  readonly answered: ReadonlySet<MessageId>;
  /**
   * What comes of a message, to the end of the run that answers it; nothing when a run that was
   * followed before has answered it.
   */
  answer(message: MessageId): AsyncGenerator<SDKMessage>;
  /** Throws ClientProblem. */
  stopTask(id: string): Promise<void>;
  /** Agents are no longer followed. */
  stop(): Promise<void>;
};

/**
 * `sent` has the messages that the program has sent, or sends again, and `compactions` has the ones
 * among them that are no prompts.
 */
export function openTalk(conversation: Conversation, mine: Mine): Talk {
  const { session, partial, hookEvents, sessions } = conversation;
  const live = liveMessages(session, partial, hookEvents);
  const agents = followAgents({ ...conversation, withText: conversation.agentText });
  const commands = commandTasks(session, session);
  const stored = storedMessages(conversation, mine, { agents, commands });
  const beside: SDKMessage[] = [];
  const answered = new Set<MessageId>();
  let isFirst = conversation.program.received > 0;
  const end = async function* (outcome: RunOutcome): AsyncGenerator<SDKMessage> {
    const head = (await sessions.describe(session)).last?.head ?? null;
    if (head !== null) yield* stored.upTo(head, outcome.run);
    const entries = head === null ? [] : await entriesOfRun(conversation, head, outcome.run);
    for (const id of answeredBy(entries)) answered.add(id);
    yield* agents.tell();
    yield resultMessage(outcome, entries, await spentByModel(outcome, entries, spendPorts(conversation)));
  };
  return {
    answered,
    stopTask: async (id) => {
      const told = await stopTask({ ...conversation, agents, commands }, id);
      if (told) beside.push(told);
      agents.wake();
    },
    stop: () => agents.stop(),
    answer: async function* (message) {
      if (answered.has(message)) return;
      // It may have been answered while the program was gone: its end is told by the loop below.
      const head = isFirst ? await conversation.headNow() : null;
      if (head !== null) yield* stored.upTo(head);
      isFirst = false;
      for await (const news of newsOf(conversation, message, agents)) {
        if (news.kind === 'broken') throw news.error;
        if (news.kind === 'agents') yield* beside.splice(0);
        if (news.kind === 'agents') yield* agents.tell();
        if (news.kind === 'head') yield* stored.upTo(news.head);
        if (news.kind === 'event') yield* live.tell(news.event, stored.lastReply(news.event));
        if (news.kind !== 'result') continue;
        answered.add(message);
        return yield* end(news.outcome);
      }
      throw conversation.failed.reason ?? new ClientProblem('unanswered', `session ${session} ended without a result`);
    },
  };
}

/** What is in the transcript, each once. */
function storedMessages(
  { session, reader, program, before }: Conversation,
  mine: Mine,
  { agents, commands }: { readonly agents: Agents; readonly commands: CommandTasks },
) {
  /** The position after the last entry that was told, or is none of the program's. */
  let next = program.received;
  let run = before + 1;
  /** The run and the iteration that the last entry was of. */
  let [at, iteration] = [0, 0];
  let isMine = next > 0;
  return {
    /** What is stored before it and was not told; with `until`, to the end of that run. */
    upTo: async function* (head: Hash, until = Infinity): AsyncGenerator<SDKMessage> {
      const { first, entries } = await reader.since(session, head, run);
      let [reply, isOpen] = [null as ReplyEntry | null, false];
      for (const [offset, entry] of entries.entries()) {
        const position = first + offset;
        if (entry.kind === 'run_started') [at, iteration] = [entry.run, 0];
        if (entry.kind === 'reply') [iteration, reply, isOpen] = [entry.iteration, entry, true];
        isMine ||= position >= next && isOwn(mine, entry);
        if (entry.kind === 'outcomes') isOpen = false;
        // The messages of its agents come before their outcomes.
        if (entry.kind === 'outcomes' && isMine)
          for (const outcome of entry.outcomes) yield* agents.end(reply, outcome);
        const tasks = isMine ? commands.tell(entry, position) : [];
        if (position >= next) {
          next = position + 1;
          const message = isMine ? messageOfEntry(session, entry, position) : null;
          const messages = message === null ? tasks : [message, ...tasks];
          yield* messages;
          // A program that asks for the next one has these.
          if (messages.length > 0) program.note(next);
        }
        if (entry.kind !== 'run_ended' || entry.ended.run < until) continue;
        run = entry.ended.run + 1;
        return;
      }
      if (reply && isOpen && isMine) agents.expect(head, reply);
    },
    /** The last iteration of the run at hand of which the reply was told. */
    lastReply: (event: Watched): number => {
      if (event.type === 'run_start' && event.run !== at) [at, iteration] = [event.run, 0];
      return iteration;
    },
  };
}

/** A compaction that was asked for has a run of its own, and leaves no message in it. */
function isOwn({ sent, compactions }: Mine, entry: Entry): boolean {
  return entry.kind === 'user' ? sent.has(entry.id) : entry.kind === 'run_started' && compactions.size > 0;
}

async function entriesOfRun({ reader, session }: Conversation, head: Hash, run: number): Promise<readonly Entry[]> {
  const { entries } = await reader.since(session, head, run);
  const end = entries.findIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  return end < 0 ? entries : entries.slice(0, end + 1);
}

function spendPorts({ sessions, reader, smallModel }: Conversation): SpendPorts {
  const entriesOf = async (session: SessionId): Promise<readonly Entry[]> => {
    const head = (await sessions.describe(session)).last?.head ?? null;
    return head === null ? [] : (await reader.since(session, head, 1)).entries;
  };
  return { entriesOf, smallModel };
}

/** A run may answer several messages: those that came while it ran. */
function answeredBy(entries: readonly Entry[]): readonly MessageId[] {
  return entries.flatMap((entry) => (entry.kind === 'user' ? [entry.id] : []));
}

/**
 * The events of the run that answers `message`, and each head that is stored meanwhile, in order of
 * arrival.
 */
async function* newsOf(conversation: Conversation, message: MessageId, agents: Agents): AsyncGenerator<News> {
  const { session, sessions, failed, say, onApproval } = conversation;
  const box = createMailbox<News>();
  agents.onNews(() => box.push({ kind: 'agents' }));
  box.push({ kind: 'agents' });
  const stop = new AbortController();
  const pump = async (): Promise<void> => {
    try {
      const followed = sessions.follow(session, {
        messageId: message,
        signal: AbortSignal.any([failed, stop.signal]),
        onTrouble: (why) => why && say(why),
        onHead: (head) => box.push({ kind: 'head', head }),
      });
      for await (const event of followed) {
        if (event.type === 'result') box.push({ kind: 'result', outcome: event });
        else if (isApprovalEvent(event)) onApproval(event);
        else box.push({ kind: 'event', event });
        // What it calls may run for long: it is told before.
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
