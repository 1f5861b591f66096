// Threads of a session (G68): the primary one is the session itself; each other is the session of
// a roster agent, started by a call of the primary one.
import type {
  BetaManagedAgentsSessionThread,
  BetaManagedAgentsSessionThreadStatus,
} from '@anthropic-ai/sdk/resources/beta/sessions/threads';
import type { Spend } from '../client/faces/types.ts';
import { invalid, notFound } from './errors.ts';
import type { Thread } from './events/parts.ts';
import { usageOf } from './events/run-end.ts';
import { threadFacts } from './events/thread-view.ts';
import type { Timeline } from './events/timelines.ts';
import { formatTime, threadId } from './ids.ts';
import type { ManagedStore } from './log/stored.ts';
import type { ManagedPorts } from './ports.ts';
import { rosterOf } from './rosters.ts';
import { type FoundSession, statusOf } from './session-status.ts';
import type { EventSource, Sessions } from './sessions.ts';

export type ThreadParts = {
  readonly ports: ManagedPorts;
  readonly stored: ManagedStore;
  readonly sessions: Sessions;
};

/** `thread`: null for the primary one. */
export type FoundThread = { readonly session: FoundSession; readonly thread: Thread | null };

export class Threads {
  readonly #parts: ThreadParts;

  constructor(parts: ThreadParts) {
    this.#parts = parts;
  }

  /** Lists the primary thread, then the others in the order in which they began. */
  async list(id: string): Promise<readonly FoundThread[]> {
    const session = await this.#parts.sessions.find(id);
    const { projection } = await this.#parts.sessions.timeline(session);
    return [null, ...projection.threads].map((thread) => ({ session, thread }));
  }

  /** Throws ManagedError 404. */
  async find(id: string, thread: string): Promise<FoundThread> {
    const found = (await this.list(id)).find((one) => idOfThread(one) === thread);
    if (!found) throw notFound('Thread', thread);
    return found;
  }

  /** Returns the thread's own session, as it stands now. */
  #own({ session, thread }: FoundThread): Promise<FoundSession> {
    const { sessions } = this.#parts;
    return thread ? sessions.look(thread.session, session.item) : sessions.find(session.id);
  }

  async timeline(found: FoundThread): Promise<Timeline> {
    return this.#view(found, await this.#parts.sessions.timeline(await this.#own(found)));
  }

  #view({ session, thread }: FoundThread, timeline: Timeline): Timeline {
    return thread ? { ...timeline, facts: threadFacts(timeline.facts, thread, session.id) } : timeline;
  }

  /** The events of the thread as a stream reads them. */
  source(found: FoundThread): EventSource {
    const { sessions } = this.#parts;
    return {
      session: found.thread?.session ?? found.session.id,
      end: found.thread ? 'session.thread_status_terminated' : 'session.status_terminated',
      find: async () => {
        // The session may have been deleted, and its threads with it.
        await sessions.item(found.session.id);
        return this.#own(found);
      },
      timeline: async (own) => this.#view(found, await sessions.timeline(own)),
    };
  }

  async show(found: FoundThread): Promise<BetaManagedAgentsSessionThread> {
    const { sessions, stored } = this.#parts;
    const { session, thread } = found;
    const own = await this.#own(found);
    const { projection } = await sessions.timeline(own);
    const { multiagent, ...agent } = await stored.sessionAgent(session.item.agent);
    const { spending, time } = projection;
    const usage = usageOf({ ...spending, spend: subtract(spending.spend, projection.spentInThreads) });
    const createdAt = thread?.at ?? session.item.createdAt;
    const archivedAt = thread ? session.item.archivedThreads?.[thread.session] : session.item.archivedAt;
    return {
      id: idOfThread(found),
      type: 'session_thread',
      agent: thread ? (rosterOf({ multiagent }).find(({ name }) => name === thread.name) ?? agent) : agent,
      archived_at: formatOrNull(archivedAt ?? session.item.archivedAt),
      created_at: formatTime(createdAt),
      parent_thread_id: thread ? threadId(session.id) : null,
      session_id: session.id,
      stats: { active_seconds: spending.ms / 1000 },
      status: statusOfThread(found, own),
      updated_at: formatTime(Math.max(createdAt, time)),
      usage,
      workflow_run_id: null,
    };
  }

  /** Ends the thread's agent, as far as it is at work, for good. */
  async archive({ session, thread }: FoundThread, by: string): Promise<void> {
    const { sessions, ports } = this.#parts;
    if (thread === null) throw invalid('The primary thread is archived with its session', undefined, 'primary_thread');
    const at = ports.now();
    await sessions.change(session.id, by, (item) =>
      item.archivedThreads?.[thread.session] === undefined
        ? { ...item, archivedThreads: { ...item.archivedThreads, [thread.session]: at } }
        : item,
    );
    await sessions.cancelOpen(await this.#own({ session, thread }), by);
  }

  status(found: FoundThread): Promise<BetaManagedAgentsSessionThreadStatus> {
    return this.#own(found).then((own) => statusOfThread(found, own));
  }
}

export const idOfThread = ({ session, thread }: FoundThread): string => threadId(thread?.session ?? session.id);

const formatOrNull = (ms: number | null): string | null => (ms === null ? null : formatTime(ms));

const statusOfThread = ({ thread }: FoundThread, own: FoundSession): BetaManagedAgentsSessionThreadStatus =>
  thread?.isOver ? 'terminated' : statusOf(own);

/** A cost that is not known stays so. */
function subtract(all: Spend, part: Spend): Spend {
  const { input, output, cacheRead, cacheWrite } = part.usage;
  const usage = {
    input: all.usage.input - input,
    output: all.usage.output - output,
    cacheRead: all.usage.cacheRead - cacheRead,
    cacheWrite: all.usage.cacheWrite - cacheWrite,
  };
  return { usage, usd: all.usd === null || part.usd === null ? null : all.usd - part.usd };
}
