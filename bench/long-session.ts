// A session of many iterations that nobody had to run: its transcript is written as steps write it,
// and its workflow begins as one that was handed over.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { Entry } from '../store/log/entries.ts';
import { nextSegment } from '../store/view/next-segment.ts';
import { openStore } from '../store/values/open-store.ts';
import { emptyView } from '../store/view/view.ts';
import type { Opened } from '../client/runtime/open-server.ts';
import { startCarried } from '../client/sessions/send.ts';
import { carryInput } from '../client/store-care/import-session.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';

export const LONG_SESSION = 'bench-long' as SessionId;

export async function startLongSession(
  { store, temporal, target, folder }: Opened,
  cwd: string,
  iterations: number,
): Promise<void> {
  let view = emptyView(LONG_SESSION);
  for (let iteration = 1; iteration <= iterations; iteration += 1) {
    const next = nextSegment(view, turn(iteration));
    await store.put(next.bytes);
    ({ view } = next);
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
