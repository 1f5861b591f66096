// Stops of a run or of its session, and the end of a wait. No worker has to be alive: they are
// durable once the server has them.
import { randomUUID } from 'node:crypto';
import { SIGNALS } from '../../workflows/contract/session.ts';
import type { SignalOnce } from '../../workflows/contract/steered.ts';
import type { ActOptions } from '../sessions/decide.ts';
import { patience, callUntilAnswered } from '../sessions/persist.ts';
import { callSession } from '../sessions/send.ts';
import type { OnceOptions } from '../sessions/start.ts';
import { defineOperation } from './operation.ts';
import { nothing } from './shapes.ts';

export const interrupt = defineOperation<OnceOptions>({
  name: 'interrupt',
  target: 'session',
  role: 'steer',
  summary: 'Ends the run, with what it has.',
  status: 202,
  body: nothing,
  options: ['messageId'],
  done: 'Interrupting the run.',
  run: (means, session, options) => means.sendOnce(session, 'interrupt', options),
});

export const resume = defineOperation<OnceOptions>({
  name: 'resume',
  target: 'session',
  role: 'steer',
  summary: 'Ends a wait for the provider early.',
  status: 202,
  body: nothing,
  options: ['messageId'],
  done: 'Resuming.',
  run: (means, session, options) => means.sendOnce(session, 'resume', options),
});

/** Milliseconds for which the server may refuse to pass on who cancels. */
const NAME_WITHIN_MS = 5_000;

export const cancel = defineOperation<ActOptions>({
  name: 'cancel',
  target: 'session',
  role: 'steer',
  summary: 'Ends what runs, and the session.',
  status: 202,
  body: nothing,
  done: 'Ending the session.',
  isAppliedBy: ({ kind }) => kind === 'cancel',
  async run(means, session, options) {
    const { temporal } = means.options;
    const handle = temporal.workflow.getHandle(session);
    // Temporal's cancel does not tell the session who asks, so a signal says it first. A flooded
    // session takes no more signals and must end all the same; then no name is recorded.
    const signal: SignalOnce = { signal: 'cancel', id: randomUUID(), by: means.actor(options) };
    const name = () => handle.signal(SIGNALS.cancel, signal);
    const briefly = { ...patience, total: NAME_WITHIN_MS };
    await callUntilAnswered(temporal, `reach session ${session}`, name, briefly).catch(() => undefined);
    await callSession(temporal, session, `cancel session ${session}`, () => handle.cancel());
  },
});
