// The queue of a session's alerts while the hook that is told of the first one hangs.
import { expect, test, vi } from 'vitest';
import { noSpend } from '../../../workflows/contract/loop.ts';
import type { Alert } from '../../../workflows/contract/told.ts';
import { Alerts } from '../../../workflows/told/alerts.ts';
import { hash } from '../../support/machine.ts';

const patches = new Set<string>();
vi.mock('@temporalio/workflow', async (original) => ({
  ...(await original<typeof import('@temporalio/workflow')>()),
  patched: (id: string) => patches.has(id),
  CancellationScope: { nonCancellable: (run: () => unknown) => run() },
}));

function hanging(): { readonly alerts: Alerts; readonly decided: Set<string> } {
  const decided = new Set<string>();
  const session = {
    ports: { tellAlert: () => new Promise<void>(() => undefined) },
    facts: { now: { runs: 1, alertKinds: ['waiting', 'failed'], chain: 'c' }, nextStep: () => 1 },
    approvals: { isWaiting: (call: string) => !decided.has(call) },
    input: { title: 'Hangs' },
  };
  return { alerts: new Alerts(session as unknown as ConstructorParameters<typeof Alerts>[0], []), decided };
}

const kinds = (alerts: Alerts): readonly Alert['kind'][] => alerts.open.map(({ alert }) => alert.kind);
const asked = (call: string) => ({ call, tool: 'bash', reason: 'why', deadline: null }) as never;

function fail(alerts: Alerts, run: number): void {
  const terminal = { reason: 'model_error', detail: 'boom' } as const;
  alerts.alertFailedRun(
    { run, iterations: 1, terminal, turns: 1, spend: noSpend, durationMs: 1 } as never,
    hash('config'),
  );
}

test('of runs that end badly, a hundred wait to be told, and in a session of an earlier release all (O17)', () => {
  const { alerts } = hanging();
  for (let run = 1; run <= 150; run++) fail(alerts, run);
  expect(kinds(alerts)).toHaveLength(150);
  patches.add('perdure-failed-bound');
  const bounded = hanging().alerts;
  for (let run = 1; run <= 150; run++) fail(bounded, run);
  expect(kinds(bounded)).toHaveLength(101);
});

test('of calls that are decided meanwhile nothing is kept (O17)', () => {
  const { alerts, decided } = hanging();
  fail(alerts, 1);
  for (let call = 0; call < 500; call++) {
    alerts.alertWaiting(asked(`call-${call}`), 1, hash('config'));
    decided.add(`call-${call}`);
    if (call % 50 === 0) fail(alerts, call);
  }
  expect(kinds(alerts).filter((kind) => kind === 'waiting')).toHaveLength(1);
});
