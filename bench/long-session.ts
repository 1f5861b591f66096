// A session of many iterations that nobody had to run: its transcript is written as steps write it,
// and its workflow begins as one that was handed over.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { LiveChannel } from '../store/live/events.ts';
import { fileLive } from '../store/live/file-live.ts';
import type { Entry } from '../store/log/entries.ts';
import { nextSegment } from '../store/view/append.ts';
import { openStore } from '../store/values/open-store.ts';
import { emptyView } from '../store/view/view.ts';
import type { OpenedServer } from '../client/runtime/open-server.ts';
import { startCarried } from '../client/sessions/send.ts';
import { carryInput } from '../client/store-care/carry-session.ts';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';

export const LONG_SESSION = 'bench-long' as SessionId;

export async function startLongSession(
  { store, temporal, target, folder }: OpenedServer,
  cwd: string,
  iterations: number,
): Promise<void> {
  const live = fileLive({ dir: folder.liveDir });
  let view = emptyView(LONG_SESSION);
  for (let iteration = 1; iteration <= iterations; iteration += 1) {
    const next = nextSegment(view, turn(iteration));
    await store.put(next.bytes);
    ({ view } = next);
    await tellIteration(live, iteration, next.hash);
  }
  const { head } = view;
  if (head === null) throw new RangeError('a long session has an iteration at least');
  const title = 'a long session';
  const header = { title, head, runs: 1, last: null, options: { cwd } };
  const sealed = target.keys !== undefined;
  await startCarried(temporal.client, {
    session: LONG_SESSION,
    input: carryInput({ cwd, profile: 'machine', sealed, visibility: true }, header),
    workers: { taskQueue: TASK_QUEUE, configuration: null },
    store: await openStore({ ...folder, dataDir: folder.root }).id(),
    now: Date.now(),
    memo: { head, runs: 1, last: null },
  });
}

/** Leaves live files as a run under way has them: they stay until the next run opens. */
async function tellIteration(live: LiveChannel, iteration: number, head: Hash): Promise<void> {
  const writer = live.open({ session: LONG_SESSION, step: iteration, attempt: 1, activity: 'callModel' });
  const at = { iteration, index: 1 };
  writer.write({ type: 'request_start', iteration, attempt: 1, model: 'claude-bench' });
  for (let word = 0; word < WORDS; word += 1)
    writer.write({ type: 'text_delta', iteration, index: 0, text: `Word ${word} of it. ` });
  writer.write({ type: 'tool_use', ...at, id: `toolu_${iteration}`, name: 'read', input: { path: 'src/a.ts' } });
  writer.write({ type: 'tool_start', ...at, name: 'read', early: false });
  writer.write({ type: 'tool_end', ...at, name: 'read', isError: false, content: 'a line of a file', durationMs: 5 });
  await writer.end({ type: 'fate', fate: 'stored', head });
}

/** Deltas of a reply. */
const WORDS = 20;

/** A text, a call, and 900 bytes of what it read. */
function turn(iteration: number): readonly Entry[] {
  const id = `toolu_${iteration}`;
  const usage = { input: 100, output: 50, cacheRead: 20_000, cacheWrite: 300 };
  const message = {
    id: `msg_${iteration}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-bench',
    content: [
      { type: 'text', text: `Iteration ${iteration}: the next file. `.repeat(4), citations: null },
      { type: 'tool_use', id, name: 'read', input: { path: `src/file-${iteration}.ts` }, caller: { type: 'direct' } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 100, output_tokens: 50 },
  } as unknown as Message;
  const log = { key: null, name: 'read', decision: 'allowed', duration: 5, outcome: 'ok' } as const;
  const content = 'a line of a file\n'.repeat(53);
  return [
    ...(iteration > 1 ? [{ kind: 'transition', iteration, reason: 'next_turn' } as const] : []),
    {
      kind: 'reply',
      fate: 'whole',
      message,
      iteration,
      attempt: 1,
      spend: { usage, usd: 0.01 },
      at: iteration * 1_000,
    },
    { kind: 'outcomes', outcomes: [{ index: 1, toolUseId: id, isError: false, content, log }] },
  ];
}
