// What following a session costs does not grow with the session: the live folder, what is compared
// with the transcript, and the screen of `perdure watch` (L4 L16).
import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventRenderer } from '../../cli/render/events.ts';
import { nextStatus, type RunStatus } from '../../cli/render/run-status.ts';
import { follow } from '../../client/follow/follow.ts';
import { createPaint } from '../../client/paint.ts';
import { transcriptReader } from '../../client/sessions/transcript-reader.ts';
import { createAttemptReader } from '../../store/live/attempt-reader.ts';
import type { ChannelItem, LiveEvent } from '../../store/live/events.ts';
import { fileLive, folderChanges } from '../../store/live/file-live.ts';
import { sessionFolder } from '../../store/live/files.ts';
import { type Changes, followAttempts } from '../../store/live/follow.ts';
import type { Entry } from '../../store/log/entries.ts';
import { memoryStore } from '../support/memory-store.ts';
import { emptyView } from '../../store/view/view.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { countTurns } from '../support/count-calls.ts';
import { tempDir } from '../support/temp-dir.ts';
import {
  appendSegment,
  callBlock,
  outcome,
  outcomes,
  reply,
  runStarted,
  session,
  textBlock,
  transition,
  user,
} from '../support/transcript.ts';
import { until } from '../support/until.ts';
import { description } from './support.ts';

test.runIf(process.platform === 'linux').each([
  ['reads without a word', '', 'read'],
  ['says something and runs a command', 'So far, so good.', 'bash'],
])(
  'a late turn that %s costs a follower no more calls of functions than an early one (L4 L16)',
  async (_says, text, name) => {
    const store = memoryStore();
    const dir = tempDir();
    const channel = fileLive({ dir });
    const folder = sessionFolder(dir, session);
    mkdirSync(folder, { recursive: true });
    let view = await appendSegment(store, emptyView(session), [runStarted(1), user('Begin.')]);
    const tell = async (step: number, head: Hash, events: readonly LiveEvent[]): Promise<void> => {
      const writer = channel.open({ session, step, attempt: 1, activity: 'callModel' });
      for (const event of events) writer.write(event);
      await writer.end({ type: 'fate', fate: 'stored', head });
    };
    await tell(1, view.head as Hash, [
      { type: 'run_start', run: 1, queryId: 'c.1', depth: 0, cwd: '/w', model: 'm', scripted: false },
    ]);
    const stop = new AbortController();
    const live = async function* (_id: unknown, signal: AbortSignal): AsyncGenerator<ChannelItem> {
      const changes = withoutPolls(folderChanges(folder, signal));
      const reader = createAttemptReader(folder, () => undefined);
      for await (const { cursor: _cursor, ...event } of followAttempts({ reader, changes, signal })) yield event;
    };
    const ports = { ...transcriptReader(store), live, look: async () => description({ runs: 1 }), everyMs: 1e9 };
    let seen = 0;
    const watching = (async () => {
      const show = drawScreen();
      for await (const event of follow(ports, session, { signal: stop.signal })) {
        show(event);
        if (event.type === 'reply') seen = event.iteration;
      }
    })();
    const turn = async (n: number): Promise<void> => {
      view = await appendSegment(store, view, entriesOf(n, text, name));
      await tell(n + 1, view.head as Hash, eventsOf(n, text, name));
      await until(() => seen === n);
    };
    try {
      const { grown, called } = await countTurns(turn, 1);
      expect(called).toBeGreaterThan(100);
      expect(grown).toEqual([]);
    } finally {
      stop.abort();
      await watching;
    }
  },
);

/** Once the folder is watched: a poll has its share of the time, however many files there are. */
function withoutPolls({ next, close }: Changes): Changes {
  let isTold = false;
  return {
    close,
    next: async (took) => {
      for (;;) {
        const files = await next(took);
        if (files !== null) isTold = true;
        if (files !== null || !isTold) return files;
      }
    },
  };
}

function drawScreen(): (event: Parameters<ReturnType<typeof eventRenderer>>[0]) => void {
  const terminal = { showCalls: () => undefined, decidesHere: true, columns: () => 80, put: () => undefined };
  const show = eventRenderer({ write: () => undefined, paint: createPaint(true), own: null, session, terminal });
  let status: RunStatus | null = null;
  return (event) => {
    show(event);
    status = nextStatus(status, event, 0);
  };
}

function entriesOf(n: number, text: string, name: string): readonly Entry[] {
  return [
    ...(n > 1 ? [transition(n, 'next_turn')] : []),
    reply([...(text === '' ? [] : [textBlock(text)]), callBlock(`c${n}`, { path: 'a.txt' }, name)], { iteration: n }),
    outcomes(outcome(text === '' ? 0 : 1, 'done', { toolUseId: `c${n}` })),
  ];
}

function eventsOf(n: number, text: string, name: string): readonly LiveEvent[] {
  const call = { iteration: n, index: text === '' ? 0 : 1 };
  return [
    ...(n > 1 ? [{ type: 'transition', iteration: n, reason: 'next_turn' } as const] : []),
    { type: 'request_start', iteration: n, attempt: 1, model: 'claude-test' },
    ...(text === '' ? [] : [{ type: 'text_delta', iteration: n, index: 0, text } as const]),
    { type: 'tool_use', ...call, id: `c${n}`, name, input: { path: 'a.txt' } },
    { type: 'tool_start', ...call, name, early: false },
    { type: 'tool_end', ...call, name, isError: false, content: 'done', durationMs: 1 },
    { type: 'reply', iteration: n, stopReason: 'tool_use', fate: 'whole' },
  ];
}
