// Watchers come to the same as the transcript, whatever the live channel has lost, doubled or kept.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ChannelItem, WatchedEvent } from '../../store/live/events.ts';
import { listContentEvents, listOutcomeEvents, replyEvent } from '../../store/live/tell.ts';
import type { Entry, Outcome, ReplyEntry } from '../../store/log/entries.ts';
import { memoryStore } from '../support/memory-store.ts';
import { createConverger } from '../../client/follow/ledger.ts';
import { transcriptReader } from '../../client/sessions/transcript-reader.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { random, type Random } from '../support/random.ts';
import { shownLines, storedLines } from '../support/standing.ts';
import {
  appendSegment,
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  session,
  textBlock,
} from '../support/transcript.ts';
import { emptyView } from '../../store/view/view.ts';

type Step = { readonly entries: readonly Entry[]; readonly live: readonly WatchedEvent[]; readonly head: Hash };

/** A reply with calls, some of whose outcomes are stored with it and some with the next step. */
function anyReply(from: Random, iteration: number, step: number) {
  const calls = Array.from({ length: from.nat(3) }, (_, n) => callBlock(`toolu_${step}_${n}`, { n }));
  const said = from.nat(4) > 0 ? [textBlock(from.pick(['ok', 'going on', `step ${step}`]))] : [];
  const entry = reply([...said, ...calls], { iteration });
  const made = calls.map((_, n) => outcome(said.length + n, `result ${step}.${n}`, { isError: from.bool() }));
  const early = made.filter(() => from.bool());
  return { entry, early, late: made.filter((one) => !early.includes(one)) };
}

/** Runs of steps as they are stored, and what their attempts say when all goes well. */
async function anySession(seed: number) {
  const from = random(seed);
  const store = memoryStore();
  let view = emptyView(session);
  let step = 0;
  const steps: Step[] = [];
  const keep = async (entries: readonly Entry[], live: readonly WatchedEvent[]): Promise<void> => {
    view = await appendSegment(store, view, entries);
    steps.push({ entries, live, head: view.head as Hash });
  };
  const runs = 1 + from.nat(2);
  for (let run = 1; run <= runs; run += 1) {
    let late: { readonly of: ReplyEntry; readonly outcomes: readonly Outcome[] } | null = null;
    let opening: readonly Entry[] = [runStarted(run)];
    const open = { type: 'run_start', run, queryId: 'q', depth: 0, cwd: '/', model: 'm', scripted: false } as const;
    let before: readonly WatchedEvent[] = [{ ...open, step: (step += 1), attempt: 1 }];
    const replies = 1 + from.nat(4);
    for (let iteration = 1; iteration <= replies; iteration += 1) {
      const number = (step += 1);
      // The last call of a run may sum it up, in the iteration of the one before: none of its calls
      // is run.
      const sumsUp: boolean = iteration === replies && iteration > 1 && from.bool();
      const { entry, early, late: rest } = anyReply(from, sumsUp ? iteration - 1 : iteration, number);
      const place = { step: number, attempt: 1 };
      const ran = sumsUp ? [] : early;
      const events = [
        ...listContentEvents(entry),
        ...ran.flatMap((one) => listOutcomeEvents(entry, one, true)),
        replyEvent(entry),
      ];
      const given = late && late.outcomes.length > 0 ? [outcomes(...late.outcomes)] : [];
      const stored = ran.length > 0 ? [outcomes(...ran)] : [];
      await keep(
        [...opening, ...given, entry, ...stored],
        [...before, ...events.map((event) => ({ ...event, ...place }))],
      );
      [opening, before] = [[], []];
      late = { of: entry, outcomes: sumsUp ? [...early, ...rest] : rest };
      for (const one of sumsUp ? [] : rest) {
        const tool = { step: (step += 1), attempt: 1 };
        // A call that did not run is told by nobody.
        if (from.bool())
          before = [...before, ...listOutcomeEvents(entry, one, false).map((event) => ({ ...event, ...tool }))];
      }
    }
    const ended = runEnded(run) as Extract<Entry, { kind: 'run_ended' }>;
    const given = late && late.outcomes.length > 0 ? [outcomes(...late.outcomes)] : [];
    await keep([...opening, ...given, ended], before);
  }
  return { store, view, steps, runs };
}

/**
 * What a channel makes of it: lines lost, told twice by another attempt, invented by one that never
 * counted, or taken back.
 */
function* disturbed(steps: readonly Step[], from: Random): Iterable<ChannelItem> {
  for (const { live, head, entries } of steps) {
    for (const event of live) {
      if (from.nat(5) === 0) continue;
      yield event;
      if (from.nat(9) === 0) yield { ...event, attempt: 2 };
      if (from.nat(9) === 0)
        yield { type: 'text_delta', iteration: 1 + from.nat(2), index: 0, text: 'never', step: event.step, attempt: 3 };
      if (from.nat(9) === 0)
        yield {
          type: 'tool_end',
          iteration: 1 + from.nat(2),
          index: 1,
          name: 'read',
          isError: false,
          content: 'never',
          durationMs: 1,
          step: event.step,
          attempt: 4,
        };
      if (from.nat(12) === 0)
        yield { type: 'tombstone', step: event.step, attempt: event.attempt, iteration: 1, why: 'x' };
    }
    const ended = entries.find((entry) => entry.kind === 'run_ended');
    const place = { step: live.at(-1)?.step ?? 1, attempt: 1 };
    if (ended?.kind === 'run_ended' && from.nat(3) > 0) yield { type: 'run_end', ended: ended.ended, head, ...place };
    if (from.nat(3) > 0) yield { type: 'stored', head, ...place };
  }
}

async function watched(seed: number, channel: (steps: readonly Step[], from: Random) => Iterable<ChannelItem>) {
  const { store, view, steps, runs } = await anySession(seed);
  const told = createConverger(transcriptReader(store), session, 1);
  const shown: WatchedEvent[] = [];
  for (const event of channel(steps, random(seed + 1))) shown.push(...(await told.pass(event)));
  shown.push(...(await told.end(view.head as Hash, runs)));
  return { shown, entries: view.entries };
}

test('what a watcher was shown, less what was taken back, is the transcript at the end, whatever the channel does (L16)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const { shown, entries } = await watched(seed, disturbed);
      expect(shownLines(shown, entries)).toEqual(storedLines(entries));
    }),
    { numRuns: 300 },
  );
});

test('of a channel that loses nothing, nothing is taken back, and calls that nobody ran are told besides (L16)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const { shown, entries } = await watched(seed, whole);
      expect(shownLines(shown, entries)).toEqual(storedLines(entries));
      expect(shown.filter(({ type }) => type === 'tombstone')).toEqual([]);
      expect(shown.filter(({ step, type }) => step === 0 && type === 'text_delta')).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

function* whole(steps: readonly Step[]): Iterable<ChannelItem> {
  for (const { live, head, entries } of steps) {
    yield* live;
    const place = { step: live.at(-1)?.step ?? 1, attempt: 1 };
    const ended = entries.find((entry) => entry.kind === 'run_ended');
    if (ended?.kind === 'run_ended') yield { type: 'run_end', ended: ended.ended, head, ...place };
    yield { type: 'stored', head, ...place };
  }
}
