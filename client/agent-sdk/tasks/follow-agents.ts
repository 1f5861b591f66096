// Follows the agents of a conversation, at every depth, while they work, and yields an agent's last
// messages before the outcome of its call. Messages come from the agents' transcripts,
// each once, by its position there.
import { pause } from '../../../system/async.ts';
import { reasonOf } from '../../../system/text.ts';
import type {
  BodyReader,
  EntryMark,
  TranscriptReader,
  Outcome,
  ReplyEntry,
  PerdureClient,
  SessionInfo,
  Hash,
  SessionId,
} from '../../faces/types.ts';
import { ClientProblem } from '../../faces/start.ts';
import { beginsAt } from '../../faces/history.ts';
import type { ProgramQuery } from '../program/program.ts';
import type { SDKMessage } from '../shapes/messages.ts';
import { agentOfOutcome, agentsOfReply, AgentTeller, type CalledAgent, type Caller, taskOf } from './agent-messages.ts';
import { type CommandTasks, createCommandTasks } from './command-tasks.ts';

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
  progress: TakenEntries;
  following: Promise<void> | null;
  isOver: boolean;
};

/** An agent's entries up to `last`, as far as they were read. */
type TakenEntries = {
  readonly teller: AgentTeller;
  last: EntryMark | undefined;
  reply: ReplyEntry | null;
  /** The calls of the reply may have no outcomes yet. */
  isOpen: boolean;
};

/** Milliseconds between two looks for an agent that is about to start. */
const LOOK_MS = 200;

export class FollowedAgents {
  readonly #ports: FollowPorts;
  readonly #states = new Map<SessionId, AgentState>();
  #onNews = (): void => undefined;

  constructor(ports: FollowPorts) {
    this.#ports = ports;
  }

  /** Follows the agents of a reply whose calls run. `head` names the transcript up to the reply. */
  expect(head: Hash, reply: ReplyEntry): void {
    this.#expect(this.#main, head, reply);
  }

  /** Tells the rest of the agent that the call had started. */
  end(reply: ReplyEntry | null, outcome: Outcome): AsyncGenerator<SDKMessage> {
    return this.#end(this.#main, reply, outcome);
  }

  /** Tells the messages that have been stored since. */
  async *tell(): AsyncGenerator<SDKMessage> {
    for (const state of this.#states.values())
      if (state.head !== null && state.head !== state.toldHead && !state.isOver)
        yield* this.#tellUpTo(state, state.head);
  }

  /** Sets the listener that is called when there is something to tell. */
  onNews(listener: () => void): void {
    this.#onNews = listener;
  }

  /** Calls the listener. */
  wake(): void {
    this.#onNews();
  }

  /** Tells whether messages of the agent are still to come. */
  isFollowed(session: SessionId): boolean {
    const state = this.#states.get(session);
    return state !== undefined && !state.isOver;
  }

  /** Returns the agents that have begun, with their commands in the background. */
  listBegun(): readonly Pick<AgentState, 'agent' | 'commands'>[] {
    return [...this.#states.values()].filter(({ head, isOver }) => head !== null || isOver);
  }

  /** Stops following the agents, and resolves when all followers have ended. */
  async stop(): Promise<void> {
    for (const { stop } of this.#states.values()) stop.abort();
    await Promise.all([...this.#states.values()].flatMap(({ following }) => following ?? []));
  }

  get #main(): Caller {
    return this.#callerOf({ session: this.#ports.session, depth: 0 });
  }

  #callerOf({ session, depth }: Pick<CalledAgent, 'session' | 'depth'>): Caller {
    return { session, depth, inBackground: this.#ports.inBackground };
  }

  #stateOf(agent: CalledAgent): AgentState {
    const { session } = agent;
    const known = this.#states.get(session);
    if (known) return known;
    const state: AgentState = {
      agent,
      commands: createCommandTasks(this.#ports.session, session, taskOf(agent)),
      stop: new AbortController(),
      head: null,
      toldHead: null,
      next: this.#ports.program.receivedOf(session),
      progress: this.#takeNone(agent),
      following: null,
      isOver: false,
    };
    this.#states.set(session, state);
    return state;
  }

  #begin(state: AgentState): void {
    state.following ??= followAgent(this.#ports, state, (head) => {
      state.head = head;
      this.wake();
    });
  }

  #expect(caller: Caller, head: Hash, reply: ReplyEntry): void {
    for (const agent of agentsOfReply(caller, head, reply)) this.#begin(this.#stateOf(agent));
  }

  /** Stops waiting for the agent of a call that was not allowed. */
  #giveUp(toolUseId: string): void {
    for (const { agent, head, stop } of this.#states.values())
      if (agent.toolUseId === toolUseId && head === null) stop.abort();
  }

  async *#end(caller: Caller, reply: ReplyEntry | null, outcome: Outcome): AsyncGenerator<SDKMessage> {
    const agent = agentOfOutcome(caller, reply, outcome);
    if (agent === null) return this.#giveUp(outcome.toolUseId);
    const state = this.#stateOf(agent);
    if (state.isOver) return;
    const head = (await readLastHead(this.#ports.sessions, agent.session)) ?? state.head;
    if (head !== null) yield* this.#tellUpTo(state, head);
    if (agent.background) return this.#begin(state);
    state.isOver = true;
    state.stop.abort();
  }

  async *#tellUpTo(state: AgentState, head: Hash): AsyncGenerator<SDKMessage> {
    const { agent, commands } = state;
    const { program, withText, reader } = this.#ports;
    const { last } = state.progress;
    const since = await reader.since(agent.session, head, 1, last);
    const { first, entries } = since;
    const isTakenOn = beginsAt(since, last);
    if (!isTakenOn) state.progress = this.#takeNone(agent);
    const { progress } = state;
    const from = isTakenOn ? first + 1 : first;
    const added = entries.slice(from - first);
    const bodies = await this.#ports.bodies(withText ? added.filter(({ kind }) => kind === 'user') : []);
    for (const [offset, entry] of added.entries()) {
      const position = from + offset;
      if (entry.kind === 'reply') [progress.reply, progress.isOpen] = [entry, true];
      if (entry.kind === 'outcomes') {
        progress.isOpen = false;
        for (const outcome of entry.outcomes) yield* this.#end(this.#callerOf(agent), progress.reply, outcome);
      }
      const messages = [...progress.teller.tell(entry, position, bodies), ...commands.tell(entry, position)];
      progress.last = { run: 1, position, entry };
      if (position < state.next) continue;
      state.next = position + 1;
      yield* messages;
      // A program that asks for the next message has received these.
      if (messages.length > 0) program.noteReceivedOf(agent.session, state.next);
    }
    state.toldHead = head;
    const { reply, isOpen } = progress;
    if (reply && isOpen && !state.isOver) this.#expect(this.#callerOf(agent), head, reply);
  }

  #takeNone(agent: CalledAgent): TakenEntries {
    const { session, withText } = this.#ports;
    return { teller: new AgentTeller({ session, agent, withText }), last: undefined, reply: null, isOpen: false };
  }
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
    while ((await describeIfExists(sessions, agent.session)) === null) if (!(await pause(LOOK_MS, signal))) return;
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

/** Returns null for a session that does not exist. */
async function describeIfExists(sessions: FollowPorts['sessions'], session: SessionId): Promise<SessionInfo | null> {
  try {
    return await sessions.describe(session);
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return null;
    throw error;
  }
}

/** Returns null for a session that does not exist, or has stored nothing. */
async function readLastHead(sessions: FollowPorts['sessions'], session: SessionId): Promise<Hash | null> {
  const info = await describeIfExists(sessions, session);
  return info && (info.last?.head ?? info.head);
}
