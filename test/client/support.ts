// A session as a follower meets it: what the server says of it is set by the test, the live channel
// and the store are real.
import { fileLive } from '../../store/live/file-live.ts';
import type { LiveItem } from '../../store/live/follow.ts';
import type { LiveEvent, ChannelItem } from '../../store/live/events.ts';
import type { Entry } from '../../store/log/entries.ts';
import { memoryStore } from '../support/memory-store.ts';
import type { Followed } from '../../client/follow/news.ts';
import { follow, type FollowOptions } from '../../client/follow/follow.ts';
import type { SessionDescription } from '../../client/sessions/info.ts';
import type { LiveEvents } from '../../client/sessions/start.ts';
import { transcriptReader } from '../../client/sessions/transcript-reader.ts';
import type { Hash, MessageId } from '../../workflows/contract/ids.ts';
import { noSpend, type Terminal } from '../../workflows/contract/loop.ts';
import type { RunSummary } from '../../workflows/contract/session.ts';
import type { RunEnded } from '../../workflows/contract/activities.ts';
import { tempDir } from '../support/temp-dir.ts';
import { reply, runStarted, session, stored, textBlock } from '../support/transcript.ts';

export { session };

export const description = (changes: Partial<SessionDescription> = {}): SessionDescription => ({
  session,
  status: 'open',
  phase: 'running',
  head: null,
  cwd: '/work',
  title: 'do it',
  runs: 0,
  last: null,
  startedAt: 0,
  closedAt: null,
  unseen: false,
  configuration: null,
  taskQueue: 'perdure',
  ...changes,
});

export const message = (id: string): MessageId => id as MessageId;

export type Ended = {
  readonly run: number;
  readonly messages?: readonly string[];
  /** Taken by the run too, and not in its list of them. */
  readonly unlisted?: readonly string[];
  readonly terminal?: Terminal;
  /** Not when it could not start. */
  readonly answers?: boolean;
};

/** What a run came to; it answered with the text "answer N". */
export function ended({ run, messages = [], terminal = { reason: 'completed' } }: Ended): RunEnded {
  const ids = messages.map(message);
  return { run, terminal, turns: 1, iterations: 1, messages: ids, spend: noSpend, durationMs: 5, at: 9 };
}

const prompt = (id: string): Entry => ({ kind: 'user', id: message(id), body: { kind: 'text', text: id } });

const entriesOf = (run: Ended): Entry[] => [
  runStarted(run.run),
  ...[...(run.messages ?? []), ...(run.unlisted ?? [])].map(prompt),
  ...(run.answers === false ? [] : [reply([textBlock(`answer ${run.run}`)])]),
  { kind: 'run_ended', ended: ended(run) },
];

/**
 * The transcript of these runs is stored; `last` is what the memo says when the last of them has
 * ended.
 */
export async function followed(...runs: readonly Ended[]) {
  const store = memoryStore();
  const view = await stored(store, ...runs.map(entriesOf));
  const head = view.head as Hash;
  const last = runs.at(-1);
  const summary: RunSummary | null = last ? { ...ended(last), head } : null;
  const liveDir = tempDir();
  const channel = fileLive({ dir: liveDir });
  return {
    head,
    last: summary,
    open: (step: number, attempt = 1) => channel.open({ session, step, attempt, activity: 'callModel' }),
    /** One step of the live channel, from its first line to its fate. */
    tell: async (step: number, ...events: readonly LiveEvent[]) => {
      const writer = channel.open({ session, step, attempt: 1, activity: 'callModel' });
      for (const event of events) writer.write(event);
      await writer.end({ type: 'fate', fate: 'done' });
    },
    follow: (
      looks: () => SessionDescription | Promise<SessionDescription>,
      options?: FollowOptions,
      instead: { readonly live?: LiveEvents; readonly head?: () => Promise<Hash | null> } = {},
    ) =>
      follow(
        {
          ...transcriptReader(store),
          live: (id, signal) => withoutCursor(channel.follow(id, { signal })),
          look: async () => looks(),
          everyMs: 5,
          ...instead,
        },
        session,
        options,
      ),
  };
}

async function* withoutCursor(items: AsyncIterable<LiveItem>): AsyncIterable<ChannelItem> {
  for await (const item of items) {
    const { cursor: _, ...event } = item;
    yield event;
  }
}

export async function all(events: AsyncIterable<Followed>): Promise<Followed[]> {
  const seen: Followed[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** What a look finds: `before` the first `times` times, then `after`. */
export function looking(times: number, before: SessionDescription, after: SessionDescription) {
  const look = { times: 0, at: () => ((look.times += 1) <= times ? before : after) };
  return look;
}
