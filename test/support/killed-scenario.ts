// A scenario whose last model call is cut by SIGKILL of the worker: another worker must bring it to the same end.
import { expect } from 'vitest';
import { gate, text, type Reply } from '../../worker/scripted-model/index.ts';
import { crashHarness, replays } from './crash-harness.ts';
import { fillWorkspace, type Scenario } from './scenarios.ts';
import { until } from './until.ts';

/** The scenario's replies, its last request held mid-stream the first time it comes. */
function heldAtTheLast(replies: readonly Reply[], requests: number, hold: Promise<void>): readonly Reply[] {
  const flat = replies.flatMap((each) =>
    Array.from({ length: typeof each.times === 'number' ? each.times : 1 }, () => ({ ...each, times: 1 })),
  );
  const before = flat.slice(0, requests - 1);
  const held: Reply = { content: [text('This attempt dies.')], hold, holdAfterEvent: 4 };
  return [...before, held, ...flat.slice(requests - 1)];
}

export async function killedInModelCall({
  replies,
  options,
  config,
  reason,
  transitions,
  turns,
  requests,
}: Scenario): Promise<void> {
  const held = gate();
  const script = { replies: heldAtTheLast(replies, requests, held.hold) };
  const h = await crashHarness({ script, ...(config ? { config } : {}) });
  fillWorkspace(h.cwd);
  const first = await h.worker();
  const session = await h.open('Do it.', options);
  const early = h.follow(session);
  await until(() => h.bodies().length === requests);
  await first.kill();
  const second = await h.worker();
  const ended = await session.ended(1);
  held.release();
  expect(ended, JSON.stringify(ended)).toMatchObject({ terminal: { reason }, turns });
  const entries = await session.entries();
  expect(entries.flatMap((entry) => (entry.kind === 'transition' ? [entry.reason] : []))).toEqual(transitions);
  // The attempt that died left no trace in what the model was asked: the last two requests are the same.
  expect(h.bodies()).toHaveLength(requests + 1);
  expect(h.bodies().at(-1)).toEqual(h.bodies().at(-2));
  expect(new Set(h.effects()).size).toBe(h.effects().length);
  await early.converges();
  await h.follow(session).converges();
  await replays(h.client, session);
  await second.kill();
}
