// Tells the endpoints of a worker's configuration how a managed session stands (G70). It looks
// whenever the memo is written, so that a reader of the session finds the status that was told, or
// a later one. An activity passes the events on, and the loop does not wait for it.
import { CancellationScope, condition, patched, workflowInfo } from '@temporalio/workflow';
import type { SessionActivities } from '../contract/activities.ts';
import { isOfWorker } from '../contract/delegation.ts';
import type { Phase } from '../contract/session.ts';
import { type WaitingCall, waitKey } from '../contract/waits.ts';
import { type ToldStatus, WEBHOOKS_CHANGE, type WebhooksCarry, type WebhookType } from '../contract/webhooks.ts';
import type { RunState } from '../machine/state.ts';
import type { Facts } from '../session/session-state.ts';
import { throwUnlessFailure } from './alerts.ts';

type TellingSession = {
  readonly ports: Pick<SessionActivities, 'tellWebhooks'>;
  readonly facts: Pick<Facts, 'nextStep'>;
  readonly phase: Phase | null;
  readonly run: { readonly state: Pick<RunState, 'isAtBudget'>; readonly parkedUntil: number | null } | null;
  readonly waits: { readonly open: readonly WaitingCall[] };
};

/**
 * Calls of a sandbox may need another worker of its environment, which is woken as for a run that
 * starts.
 */
const EVENTS: Readonly<Record<ToldStatus, readonly WebhookType[]>> = {
  running: ['session.status_run_started'],
  in_sandbox: ['session.status_run_started'],
  requires_action: ['session.status_idled', 'session.requires_action'],
  at_budget: ['session.status_idled', 'session.budget_reached'],
  rescheduled: ['session.status_rescheduled'],
  idle: ['session.status_idled'],
  terminated: ['session.status_terminated'],
};

const nothingTold: WebhooksCarry = { types: [], status: null, waits: [], count: 0, open: [] };

export class Webhooks {
  private readonly session: TellingSession;
  private state: WebhooksCarry;
  private isTelling = false;

  constructor(session: TellingSession, carried: WebhooksCarry = nothingTold) {
    this.session = session;
    this.state = carried;
    this.begin();
  }

  /** Undefined in a session that has never had an endpoint. */
  get carry(): WebhooksCarry | undefined {
    return this.state === nothingTold ? undefined : this.state;
  }

  /** A run has opened on a worker whose endpoints ask for these events. */
  subscribe(types: readonly WebhookType[] = []): void {
    if (types.length > 0 || this.carry) this.state = { ...this.state, types };
  }

  /** Tells what has changed since the last look. */
  look(): void {
    const { types, status: before, waits: known, count, open } = this.state;
    if (types.length === 0) return;
    const status = statusOf(this.session);
    const waits = this.session.waits.open.map(waitKey);
    const isSame = status === before && waits.every((key) => known.includes(key));
    const isBack = status === 'running' && before === 'in_sandbox';
    const news = isSame || isBack ? [] : EVENTS[status].filter((type) => types.includes(type));
    const events = news.map((type, index) => ({ type, at: Date.now(), count: count + index + 1 }));
    this.state = { types, status, waits, count: count + events.length, open: [...open, ...events] };
    this.begin();
  }

  async awaitSettled(): Promise<void> {
    if (this.isTelling) await CancellationScope.nonCancellable(() => condition(() => !this.isTelling));
  }

  private begin(): void {
    if (this.isTelling || this.state.open.length === 0) return;
    this.isTelling = true;
    // An earlier release cannot replay what follows, and is told so.
    patched(WEBHOOKS_CHANGE);
    void CancellationScope.nonCancellable(() => this.tellAll());
  }

  private async tellAll(): Promise<void> {
    while (this.state.open.length > 0) {
      const { open: events } = this.state;
      const { ports, facts } = this.session;
      const telling = ports.tellWebhooks({ events, queue: workflowInfo().taskQueue, step: facts.nextStep() });
      await telling.catch(throwUnlessFailure);
      this.state = { ...this.state, open: this.state.open.slice(events.length) };
    }
    this.isTelling = false;
  }
}

function statusOf({ phase, run, waits: { open } }: TellingSession): ToldStatus {
  if (phase === 'closed') return 'terminated';
  if (open.length > 0) return open.every(({ why }) => isOfWorker(why)) ? 'in_sandbox' : 'requires_action';
  if (run?.state.isAtBudget) return 'at_budget';
  if (phase === 'idle') return 'idle';
  return phase === 'parked' && run?.parkedUntil ? 'rescheduled' : 'running';
}
