// Follows the agents of a conversation, at every depth, while they work, and tells the rest of an
// agent before the outcome of the call that started it. Messages come from the agents' transcripts,
// each once, by its position there.
import { pause } from '../../../system/async.ts';
import { reasonOf } from '../../../system/text.ts';
import type { BodyReader } from '../../../store/log/bodies.ts';
import type { Outcome, ReplyEntry } from '../../../store/log/entries.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import type { PerdureClient } from '../../perdure-client.ts';
import { ClientProblem } from '../../problem.ts';
import type { TranscriptReader } from '../../sessions/transcript-reader.ts';
import type { ProgramQuery } from '../program/program.ts';
import type { SDKMessage } from '../shapes/messages.ts';
import { createAgentTeller } from './agent-messages.ts';
import { agentOfOutcome, agentsOfReply, type CalledAgent, type Caller, taskOf } from './called-agents.ts';
import { createCommandTasks, type CommandTasks } from './command-tasks.ts';

export type FollowPorts = {
  readonly session: SessionId;
  readonly sessions: Pick<PerdureClient, 'follow' | 'describe'>;
  readonly reader: Pick<TranscriptReader, 'since'>;
  readonly bodies: BodyReader;
  readonly program: Pick<ProgramQuery, 'receivedOf' | 'noteReceivedOf'>;
  /** Agents of these types work in the background, unless their call says otherwise. */
  readonly inBackground: ReadonlySet<string>;
  /** Whether the texts of agents are told, too. */
  readonly withText: boolean;
  readonly failed: AbortSignal;
  readonly say: (line: string) => void;
};

export type Agents = {
  /** Follows the agents of a reply whose calls run. `head` names the transcript up to the reply. */
  expect(head: Hash, reply: ReplyEntry): void;
  /** Tells the rest of the agent that the call had started. */
  end(reply: ReplyEntry | null, outcome: Outcome): AsyncGenerator<SDKMessage>;
  /** Tells the messages that have been stored since. */
  tell(): AsyncGenerator<SDKMessage>;
  /** The listener is called when there is something to tell. */
  onNews(listener: () => void): void;
  wake(): void;
  /** Returns the agents that have begun, with their commands in the background. */
  listBegun(): readonly Pick<AgentState, 'agent' | 'commands'>[];
  stop(): Promise<void>;
};

type AgentState = {
  readonly agent: CalledAgent;
  readonly commands: CommandTasks;
  readonly stop: AbortController;
  /** The newest known head. */
  head: Hash | null;
  /** The head up to which everything is told. */
  toldHead: Hash | null;
  /** The position after the last entry that was told. */
  next: number;
  following: Promise<void> | null;
  isOver: boolean;
};

/** Milliseconds between two looks for an agent that is about to start. */
const LOOK_MS = 200;

export function followAgents(followed: FollowPorts): Agents {
  const known = new Map<SessionId, AgentState>();
  let wake = (): void => undefined;
  const callerOf = ({ session, depth }: Pick<CalledAgent, 'session' | 'depth'>): Caller => ({
    session,
    depth,
    inBackground: followed.inBackground,
  });
  const stateOf = (agent: CalledAgent): AgentState => {
    const before = known.get(agent.session);
    if (before) return before;
    const { session } = agent;
    const commands = createCommandTasks(followed.session, session, taskOf(agent));
    const next = followed.program.receivedOf(session);
    const stop = new AbortController();
    const each: AgentState = {
      agent,
      commands,
      stop,
      head: null,
      toldHead: null,
      next,
      following: null,
      isOver: false,
    };
    known.set(session, each);
    return each;
  };
  const begin = (each: AgentState): void => {
    each.following ??= followAgent(followed, each, (head) => {
      each.head = head;
      wake();
    });
  };
  const expect = (caller: Caller, head: Hash, reply: ReplyEntry): void => {
    for (const agent of agentsOfReply(caller, head, reply)) begin(stateOf(agent));
  };
  /** Stops waiting for the agent of a call that was not allowed. */
  const giveUp = (toolUseId: string): void => {
    for (const { agent, head, stop } of known.values())
      if (agent.toolUseId === toolUseId && head === null) stop.abort();
  };
  const end = async function* (caller: Caller, reply: ReplyEntry | null, outcome: Outcome): AsyncGenerator<SDKMessage> {
    const agent = agentOfOutcome(caller, reply, outcome);
    if (agent === null) return giveUp(outcome.toolUseId);
    const each = stateOf(agent);
    if (each.isOver) return;
    const head = (await readLastHead(followed.sessions, agent.session)) ?? each.head;
    if (head !== null) yield* tellUpTo(each, head);
    if (agent.background) return begin(each);
    each.isOver = true;
    each.stop.abort();
  };
  const tellUpTo = async function* (each: AgentState, head: Hash): AsyncGenerator<SDKMessage> {
    const { agent, commands } = each;
    const { program, session, withText } = followed;
    const { first, entries } = await followed.reader.since(agent.session, head, 1);
    const bodies = await followed.bodies(withText ? entries.filter(({ kind }) => kind === 'user') : []);
    const teller = createAgentTeller({ session, agent, withText, bodies });
    let [reply, isOpen] = [null as ReplyEntry | null, false];
    for (const [offset, entry] of entries.entries()) {
      const position = first + offset;
      if (entry.kind === 'reply') [reply, isOpen] = [entry, true];
      if (entry.kind === 'outcomes') {
        isOpen = false;
        for (const outcome of entry.outcomes) yield* end(callerOf(agent), reply, outcome);
      }
      const messages = [...teller.tell(entry, position), ...commands.tell(entry, position)];
      if (position < each.next) continue;
      each.next = position + 1;
      yield* messages;
      // A program that asks for the next message has received these.
      if (messages.length > 0) program.noteReceivedOf(agent.session, each.next);
    }
    each.toldHead = head;
    if (reply && isOpen && !each.isOver) expect(callerOf(agent), head, reply);
  };
  const main = callerOf({ session: followed.session, depth: 0 });
  return {
    expect: (head, reply) => expect(main, head, reply),
    end: (reply, outcome) => end(main, reply, outcome),
    tell: async function* () {
      for (const each of known.values())
        if (each.head !== null && each.head !== each.toldHead && !each.isOver) yield* tellUpTo(each, each.head);
    },
    wake: () => wake(),
    onNews: (listener) => {
      wake = listener;
    },
    listBegun: () => [...known.values()].filter(({ head, isOver }) => head !== null || isOver),
    stop: async () => {
      for (const { stop } of known.values()) stop.abort();
      await Promise.all([...known.values()].flatMap(({ following }) => following ?? []));
    },
  };
}

/**
 * Tells `hear` each head of an agent's transcript until the agent is stopped. A problem is only
 * reported, since the call's outcome brings the rest of the messages.
 */
async function followAgent(
  { sessions, failed, say }: Pick<FollowPorts, 'sessions' | 'failed' | 'say'>,
  { agent, stop }: Pick<AgentState, 'agent' | 'stop'>,
  hear: (head: Hash) => void,
): Promise<void> {
  const signal = AbortSignal.any([failed, stop.signal]);
  try {
    while (!(await isThere(sessions, agent.session))) if (!(await pause(LOOK_MS, signal))) return;
    let after: number | null = 0;
    while (after !== null && !signal.aborted) {
      const followed = sessions.follow(agent.session, { after, signal, onHead: hear });
      after = null;
      for await (const event of followed) {
        if (event.type === 'result') after = event.run;
        // The calls of a reply may run for long, so its head is told before they end.
        else if (event.type === 'reply' && event.head !== undefined && event.stopReason === 'tool_use')
          hear(event.head);
      }
      const head = await readLastHead(sessions, agent.session);
      if (head !== null) hear(head);
    }
  } catch (error) {
    if (signal.aborted) return;
    say(`the agent ${JSON.stringify(agent.title)} cannot be followed while it works: ${reasonOf(error)}`);
  }
}

async function isThere(sessions: FollowPorts['sessions'], session: SessionId): Promise<boolean> {
  try {
    await sessions.describe(session);
    return true;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return false;
    throw error;
  }
}

/** Returns null for a session that does not exist, or has stored nothing. */
async function readLastHead(sessions: FollowPorts['sessions'], session: SessionId): Promise<Hash | null> {
  try {
    const { last, head } = await sessions.describe(session);
    return last?.head ?? head;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return null;
    throw error;
  }
}
