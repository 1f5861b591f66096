// The news of managed sessions for endpoints outside (G70): what a session tells its worker, and
// what the workflow that sends it to one endpoint is told. No content of a conversation is in it.
import type { SessionId } from './ids.ts';

/** Marks the sessions that tell endpoints: `patched` with this id. */
export const WEBHOOKS_CHANGE = 'perdure-webhooks';

/** The name under which workflows/index.ts exports the workflow that sends to one endpoint. */
export const SENDER_TYPE = 'perdure.webhookSender';

/** Takes a list of WebhookEvent. */
export const SEND_SIGNAL = 'send';

/** The names of events that an endpoint can ask for. */
export const WEBHOOK_TYPES = [
  'session.status_run_started',
  'session.status_idled',
  'session.requires_action',
  'session.budget_reached',
  'session.status_rescheduled',
  'session.status_terminated',
] as const;

export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** `at`: milliseconds since the epoch. `count`: of the session's events, from 1. */
export type WebhookEvent = { readonly type: WebhookType; readonly at: number; readonly count: number };

/** `in_sandbox`: all calls that wait are for workers of an environment. */
export type ToldStatus =
  'running' | 'in_sandbox' | 'requires_action' | 'at_budget' | 'rescheduled' | 'idle' | 'terminated';

/**
 * `types`: what some endpoint asks for. `status` and `waits`: the session as it was told last.
 * `open`: events that are not known to be passed on; a handover may pass one on twice.
 */
export type WebhooksCarry = {
  readonly types: readonly WebhookType[];
  readonly status: ToldStatus | null;
  readonly waits: readonly string[];
  readonly count: number;
  readonly open: readonly WebhookEvent[];
};

/** `queue`: the task queue of the session. `step` is that of this activity. */
export type TellWebhooks = {
  readonly events: readonly WebhookEvent[];
  readonly queue: string;
  readonly step: number;
};

/** `endpoint`: the id of one. */
export type SendWebhook = {
  readonly session: SessionId;
  readonly endpoint: string;
  readonly event: WebhookEvent;
};

/** The argument of the sender. `waiting`: only its continuation as new has some. */
export type SenderInput = Pick<SendWebhook, 'session' | 'endpoint'> & { readonly waiting?: readonly WebhookEvent[] };

/** One sender at a time sends to an endpoint what a session tells it, in order. */
export const senderId = ({ session, endpoint }: SenderInput): string => `${session}.webhook-${endpoint}`;

/** Anyone can signal, so the shape is checked. */
export function isWebhookEvent(value: unknown): value is WebhookEvent {
  const { type, at, count } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return WEBHOOK_TYPES.some((known) => known === type) && Number.isSafeInteger(at) && Number.isSafeInteger(count);
}
