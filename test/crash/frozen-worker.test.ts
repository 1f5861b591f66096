// A worker frozen for longer than its heartbeat (SIGSTOP), whose run is stopped meanwhile. What it
// does when it comes back (SIGCONT) has no effect. The cases wait for the same 30 s, so they wait
// together.
import { expect, test } from 'vitest';
import { gate, reply, text, toolUse, type Reply } from '../../scripted-model/index.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { processesOf } from '../support/processes.ts';
import { until } from '../support/until.ts';
import { watcher } from '../support/watcher.ts';

const command = 'echo begun >> effects.log; sleep 600; echo late >> effects.log';
const held = gate();

type Case = { readonly script: Reply; readonly run?: Partial<RunOptions>; readonly effects: readonly string[] };

async function frozen({ script, run = {}, effects }: Case) {
  const h = await crashHarness({ script: [script] });
  const first = await h.worker();
  const session = await h.open('Do it.', run);
  const watching = watcher(h.liveDir, session.id);
  await until(() => h.liveText(session.id).includes('I begin') && h.effects().length === effects.length);
  const second = await h.worker();
  process.kill(first.pid, 'SIGSTOP');
  await session.interrupt();
  const { terminal } = await session.ended(1);
  const left = processesOf(h.cwd);
  const before = await session.entries();
  process.kill(first.pid, 'SIGCONT');
  held.release();
  // It comes back, finds its work given to another, and goes when it is told to.
  await first.drain();
  expect(await session.entries()).toEqual(before);
  expect(h.effects()).toEqual(effects);
  expect(left).toEqual([]);
  await watching.sees((items) => items.some(({ type }) => type === 'run_end'));
  await replays(h.client, session);
  await second.kill();
  const outcomes = before.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  return { terminal, told: outcomes.map(({ content }) => content), said: watching.said() };
}

test('what a frozen worker had begun is found out and ended, and it can begin and store nothing more (L39 L40 L47 L48 L50)', async () => {
  const calls = [text('I begin.'), toolUse('bash', { command })];
  const [withReply, regular, streaming] = await Promise.all([
    frozen({ script: reply(calls), effects: ['begun'] }),
    frozen({ script: reply(calls), run: { maxTokens: 1_000_000 }, effects: ['begun'] }),
    frozen({ script: reply(calls, { hold: held.hold, holdAfterEvent: 4 }), effects: [] }),
  ]);
  for (const { terminal, told, said } of [withReply, regular]) {
    expect(terminal).toMatchObject({ reason: 'aborted_tools', by: 'interrupt' });
    expect(told).toEqual([expect.stringMatching(/^outcome unknown: bash was started .* ended just now/)]);
    expect(said).toEqual(['I begin.']);
  }
  expect(streaming).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' }, told: [], said: [] });
});
