// A scenario's last model call is cut by SIGKILL of the worker: another worker must bring it to the
// same end. Those of one configuration are played at once: one worker dies under all of them, and
// another one takes them all over. Each run draws half of the scenarios; KILLED_SEED, which it
// prints, draws the same again, and KILLED_ALL=1 plays all.
import type { Client } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { gate, text, type Reply } from '../../scripted-model/index.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { gatherChain, replayGathered } from '../support/replay-histories.ts';
import { crowdOf, eachOnce, playedTogether, scenarios, type Scenario } from '../support/scenarios.ts';
import { random } from '../support/random.ts';
import { until } from '../support/until.ts';

const SEED = Number(process.env.KILLED_SEED ?? Date.now() % 1_000_000);

/** Half of them, each as likely as any other, in their order. */
function drawHalf(from: readonly Scenario[], seed: number): readonly Scenario[] {
  const { nat } = random(seed);
  const left = [...from];
  while (left.length > from.length / 2) left.splice(nat(left.length - 1), 1);
  return left;
}

const drawn = process.env.KILLED_ALL === '1' ? scenarios : drawHalf(scenarios, SEED);

/** The scenario's replies, its last request held mid-stream the first time it comes. */
function heldAtTheLast({ replies, requests }: Scenario, hold: Promise<void>): readonly Reply[] {
  const flat = eachOnce(replies);
  const held: Reply = { content: [text('This attempt dies.')], hold, holdAfterEvent: 4 };
  return [...flat.slice(0, requests - 1), held, ...flat.slice(requests - 1)];
}

/** Whether the last request continues a reply that the API paused. */
const isContinued = ({ replies, requests }: Scenario): boolean =>
  eachOnce(replies)[requests - 2]?.stop_reason === 'pause_turn';

/** What a heartbeat has not told the server yet is lost with the worker, and asked for again. */
async function heartbeatNamesPause(client: Client, session: string): Promise<boolean> {
  const { pendingActivities } = (await client.workflow.getHandle(session).describe()).raw;
  const payloads = (pendingActivities ?? []).flatMap(({ heartbeatDetails }) => heartbeatDetails?.payloads ?? []);
  return payloads.some(({ data }) => Buffer.from(data ?? []).includes('"paused"'));
}

async function killed(group: readonly Scenario[]): Promise<readonly Promise<void>[]> {
  const held = gate();
  const crowd = crowdOf(group, (scenario) => heldAtTheLast(scenario, held.hold));
  const config = group[0]?.config;
  const h = await crashHarness({ script: crowd.script, ...(config ? { config } : {}) });
  const first = await h.worker();
  const playing = await Promise.all(
    group.map(async (scenario) => {
      const { text: prompt, options } = crowd.opening(scenario, h.cwd);
      const session = await h.open(prompt, options);
      return { scenario, session, early: h.follow(session) };
    }),
  );
  await until(() => group.every((scenario) => crowd.asked(scenario).length === scenario.requests));
  for (const { session } of playing.filter(({ scenario }) => isContinued(scenario)))
    await until(() => heartbeatNamesPause(h.client, session.id));
  await first.kill();
  const second = await h.worker();
  for (const { session } of playing) await session.ended(1);
  held.release();
  for (const { session } of playing) await gatherChain(h.client, session);
  const broken = await replayGathered();
  const checked = playing.map(async ({ scenario, session, early }) => {
    const { reason, turns, transitions, requests, told = '' } = scenario;
    const ended = await session.ended(1);
    expect(ended, JSON.stringify(ended)).toMatchObject({ terminal: { reason }, turns });
    const entries = await session.entries();
    expect(entries.flatMap((entry) => (entry.kind === 'transition' ? [entry.reason] : []))).toEqual(transitions);
    // The attempt that died left no trace in what the model was asked: the last two requests are
    // the same.
    const asked = crowd.asked(scenario);
    expect(asked).toHaveLength(requests + 1);
    expect(asked.at(-1)).toEqual(asked.at(-2));
    expect(JSON.stringify(asked.at(-1))).toContain(told);
    const effects = crowd.effects(scenario, h.cwd);
    expect(new Set(effects).size).toBe(effects.length);
    await early.converges();
    await h.follow(session).converges();
    expect(broken.get(session.id)).toBeUndefined();
  });
  await Promise.allSettled(checked);
  await second.kill();
  expect(h.bodies()).toHaveLength(group.reduce((sum, { requests }) => sum + requests + 1, 0));
  return checked;
}

const outcomeOf = playedTogether(drawn, killed);

describe('a worker killed in the middle of a model call', () => {
  process.stdout.write(`killed scenarios: KILLED_SEED=${SEED}\n`);
  test.each(drawn.map((scenario) => [scenario.name, scenario] as const))('%s', (_name, scenario) =>
    outcomeOf(scenario),
  );
});
