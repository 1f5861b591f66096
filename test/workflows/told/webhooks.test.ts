// What a session tells of itself while the transcript does not tell it yet.
import { expect, test, vi } from 'vitest';
import type { Phase } from '../../../workflows/contract/session.ts';
import type { TellWebhooks } from '../../../workflows/contract/webhooks.ts';
import { Webhooks } from '../../../workflows/told/webhooks.ts';

const conditions: { readonly isMet: () => boolean; readonly go: () => void }[] = [];
vi.mock('@temporalio/workflow', async (original) => ({
  ...(await original<typeof import('@temporalio/workflow')>()),
  patched: () => true,
  workflowInfo: () => ({ taskQueue: 'q' }),
  condition: (isMet: () => boolean) => new Promise<void>((go) => conditions.push({ isMet, go })),
  CancellationScope: { nonCancellable: (run: () => unknown) => run() },
}));

/** A session whose call has begun to wait, which is being stored. */
function storing() {
  const told: string[] = [];
  const waits = { open: [{ call: 'a', why: 'approval' }], isSettled: false };
  const session = {
    ports: {
      tellWebhooks: ({ events }: TellWebhooks) => {
        told.push(...events.map(({ type }) => type));
        return new Promise<void>(() => undefined);
      },
    },
    facts: { nextStep: () => 1 },
    phase: 'running' as Phase,
    run: null,
    waits,
  };
  const webhooks = new Webhooks(session as unknown as ConstructorParameters<typeof Webhooks>[0]);
  webhooks.subscribe({ webhooks: ['session.requires_action', 'session.status_terminated'] });
  return { webhooks, session, waits, told };
}

test('a wait is told once it is stored, and once (G70)', async () => {
  const { webhooks, waits, told } = storing();
  webhooks.look();
  webhooks.look();
  expect(told).toEqual([]);
  expect(conditions).toHaveLength(1);
  waits.isSettled = true;
  const [stored] = conditions;
  expect(stored?.isMet()).toBe(true);
  stored?.go();
  await vi.waitFor(() => expect(told).toEqual(['session.requires_action']));
});

test('an end is told whatever is being stored (G70)', () => {
  const { webhooks, session, told } = storing();
  session.phase = 'closed';
  webhooks.look();
  expect(told).toEqual(['session.status_terminated']);
});
