// A program is told each entry once, and what that costs does not grow with the run (Q7 L4).
import { expect, test } from 'vitest';
import { openConversation } from '../../../client/agent-sdk/conversation.ts';
import { createHookRelay } from '../../../client/agent-sdk/program-hooks.ts';
import type { SDKMessage } from '../../../client/agent-sdk/shapes/messages.ts';
import { createMailbox } from '../../../client/async.ts';
import type { FollowOptions } from '../../../client/follow/follow.ts';
import { transcriptReader } from '../../../client/sessions/transcript-reader.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { emptyView } from '../../../store/view/view.ts';
import type { Hash, MessageId } from '../../../workflows/contract/ids.ts';
import { countTurns } from '../../support/count-calls.ts';
import {
  appendSegment,
  callBlock,
  outcome,
  outcomes,
  reply,
  runStarted,
  session,
  transition,
} from '../../support/transcript.ts';
import { description } from '../support.ts';

const MESSAGE = 'm-1' as MessageId;
const PROMPT: Entry = { kind: 'user', id: MESSAGE, body: { kind: 'text', text: 'Begin.' } };

const turnOf = (n: number): readonly Entry[] => [
  ...(n > 1 ? [transition(n, 'next_turn')] : []),
  reply([callBlock(`c${n}`, { path: 'a.txt' })], { iteration: n }),
  outcomes(outcome(0, 'done', { toolUseId: `c${n}` })),
];

/** A conversation whose transcript grows; `told` are the messages that the program asks for. */
async function conversation() {
  const store = memoryStore();
  const reader = transcriptReader(store);
  const heads = createMailbox<Hash>();
  const follow = async function* (_: string, { onHead, signal }: FollowOptions = {}) {
    signal?.addEventListener('abort', heads.close);
    for await (const head of heads) onHead?.(head);
    yield* [];
  };
  const failed = new AbortController();
  const ports = {
    session,
    sessions: { follow, describe: async () => description(), interrupt: async () => undefined },
    reader,
    bodies: async () => new Map(),
    root: '/nowhere',
    smallModel: () => undefined,
    program: {
      isKnown: false,
      received: 0,
      noteReceived: () => undefined,
      receivedOf: () => 0,
      noteReceivedOf: () => undefined,
    },
    before: 0,
    partial: false,
    relay: createHookRelay(),
    hookEvents: false,
    agentText: false,
    inBackground: new Set<string>(),
    headNow: async () => null,
    failed: failed.signal,
    onApproval: () => undefined,
    say: () => undefined,
  };
  const open = openConversation(ports as never, { sent: new Set([MESSAGE]), compactions: new Set() });
  const told = open.answer(MESSAGE);
  let view = await appendSegment(store, emptyView(session), [runStarted(1), PROMPT]);
  return {
    add: async (entries: readonly Entry[]) => {
      view = await appendSegment(store, view, entries);
      heads.push(view.head as Hash);
    },
    take: async (count: number): Promise<readonly SDKMessage[]> => {
      const taken: SDKMessage[] = [];
      while (taken.length < count) taken.push((await told.next()).value as SDKMessage);
      return taken;
    },
    leave: async () => {
      heads.close();
      await told.return(undefined);
      await open.stop();
    },
  };
}

test('a late turn costs a program no more calls of functions than an early one (Q7 L4)', async () => {
  const program = await conversation();
  const turn = async (n: number): Promise<void> => {
    await program.add(turnOf(n));
    expect((await program.take(2)).map(({ type }) => type)).toEqual(['assistant', 'user']);
  };
  try {
    const { grown, called } = await countTurns(turn, 1);
    expect(called).toBeGreaterThan(40);
    expect(grown).toEqual([]);
  } finally {
    await program.leave();
  }
});

test('what is told head by head is what is told of all entries at once (Q7)', async () => {
  const turns = [1, 2, 3, 4].map(turnOf);
  const [atOnce, byHead, byEntry] = [await conversation(), await conversation(), await conversation()];
  await atOnce.add(turns.flat());
  const all = await atOnce.take(8);
  for (const turn of turns) await byHead.add(turn);
  expect(await byHead.take(8)).toEqual(all);
  const one: SDKMessage[] = [];
  for (const entry of turns.flat()) {
    await byEntry.add([entry]);
    if (entry.kind !== 'transition') one.push(...(await byEntry.take(1)));
  }
  expect(one).toEqual(all);
  for (const each of [atOnce, byHead, byEntry]) await each.leave();
});
