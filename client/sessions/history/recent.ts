// Lists what people have recently requested from a session, and who did: messages, decisions,
// higher limits, options for the next run. It reads the newest workflow execution only, so requests
// from before a handover are missing.
import { unwrapRequest } from '../../../workflows/contract/steered.ts';
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { withChanges } from '../../../workflows/contract/options-problem.ts';
import {
  type OptionChanges,
  SIGNALS,
  type NewLimits,
  type RuleChanges,
  UPDATES,
  type UserMessage,
} from '../../../workflows/contract/session.ts';
import { present } from '../../../workflows/contract/present.ts';
import { sealingContextOf } from '../newest-head.ts';
import { type HistoryEvent, timeOf } from './steps.ts';

/**
 * `at` is in milliseconds since the epoch; `by` is the person's name where a decision has it, or
 * the client's identity.
 */
export type PersonRequest = { readonly at: number; readonly by: string } & (
  | { readonly kind: 'approve'; readonly call: string; readonly edited: boolean }
  | { readonly kind: 'deny'; readonly call: string; readonly reason: string }
  | { readonly kind: 'answer'; readonly call: string }
  | { readonly kind: 'topUp'; readonly limits: NewLimits; readonly exact?: true }
  | { readonly kind: 'changeRules'; readonly rules: RuleChanges }
  | { readonly kind: 'setOptions'; readonly changes: OptionChanges }
  | { readonly kind: 'interrupt' | 'resume' | 'repair' | 'cancel' }
);

export type RecentRequests = {
  /** Messages, taken or not, oldest first. */
  readonly messages: readonly UserMessage[];
  /**
   * Ids of messages that arrived before the handover, as many as the session remembers against
   * repeats.
   */
  readonly before: readonly string[];
  /** Requests that the session has taken, oldest first. */
  readonly asked: readonly PersonRequest[];
  /** Limits that the current run was given in addition to its own. */
  readonly raised: NewLimits;
  /** Options that wait for the next run. */
  readonly next: OptionChanges;
};

export const noRecentRequests: RecentRequests = { messages: [], before: [], asked: [], raised: {}, next: {} };

type Draft = {
  messages: UserMessage[];
  before: readonly string[];
  asked: PersonRequest[];
  raised: NewLimits;
  next: OptionChanges;
};

export async function readRecent(client: Client, session: SessionId): Promise<RecentRequests> {
  const { events } = await client.workflow.getHandle(session).fetchHistory();
  const read = async (payloads: Payloads): Promise<unknown> =>
    (
      await decodeArrayFromPayloads(
        client.options.loadedDataConverter,
        payloads,
        sealingContextOf(client, session, null),
      )
    )[0];
  const draft: Draft = { messages: [], before: [], asked: [], raised: {}, next: {} };
  for (const event of events ?? []) await absorbEvent(draft, event, read);
  return draft;
}

type Payloads = Parameters<typeof decodeArrayFromPayloads>[1];
type Read = (payloads: Payloads) => Promise<unknown>;

async function absorbEvent(draft: Draft, event: HistoryEvent, read: Read): Promise<void> {
  const at = timeOf(event.eventTime);
  const { workflowExecutionStartedEventAttributes: started, workflowExecutionSignaledEventAttributes: signaled } =
    event;
  const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest;
  const cancelled = event.workflowExecutionCancelRequestedEventAttributes;
  if (started) {
    const input = await read(started.input?.payloads);
    draft.raised = carried.safeParse(input).data?.carry?.run?.snapshot.rules ?? {};
    const { first, carry } = reached.safeParse(input).data ?? {};
    draft.before = [...(carry?.inbox.seen ?? []), ...(first ? [first.id] : [])];
  }
  if (event.activityTaskScheduledEventAttributes?.activityType?.name === 'perdure.openRun')
    Object.assign(draft, { raised: {}, next: {} });
  if (cancelled) draft.asked.push({ kind: 'cancel', at, by: cancelled.identity ?? '' });
  if (signaled) {
    const { signalName: kind, identity: by } = signaled;
    if (kind === SIGNALS.interrupt || kind === SIGNALS.resume) draft.asked.push({ kind, at, by: by ?? '' });
    if (kind !== SIGNALS.message) return;
    const value = await read(signaled.input?.payloads);
    if (aMessage.safeParse(value).success) draft.messages.push(value as UserMessage);
  }
  if (!update) return;
  const input = await read(update.input?.args?.payloads);
  const known = updateOf(update.input?.name ?? '', input);
  if (known === null) return;
  draft.asked.push({ ...known, at, by: named.safeParse(input).data?.by ?? update.meta?.identity ?? '' });
  if (known.kind === 'topUp') draft.raised = { ...draft.raised, ...known.limits };
  if (known.kind === 'setOptions') draft.next = { ...draft.next, ...known.changes };
}

type Bare<One> = One extends unknown ? Omit<One, 'at' | 'by'> : never;

/** Returns null for an update that our clients do not send. */
function updateOf(name: string, input: unknown): Bare<PersonRequest> | null {
  if (name === UPDATES.approve) {
    const read = approval.safeParse(input).data;
    return read ? { kind: 'approve', call: read.call, edited: read.edited !== undefined } : null;
  }
  if (name === UPDATES.deny) {
    const read = denial.safeParse(input).data;
    return read ? { kind: 'deny', ...read } : null;
  }
  if (name === UPDATES.answer) {
    const read = answer.safeParse(input).data;
    return read ? { kind: 'answer', ...read } : null;
  }
  const { data: object } = anObject.safeParse(unwrapRequest(input));
  if (!object) return null;
  if (name === UPDATES.topUp)
    return { kind: 'topUp', limits: limits.parse(object), ...(object['exact'] === true && { exact: true }) };
  if (name === UPDATES.changeRules) return { kind: 'changeRules', rules: ruleChanges.parse(object) };
  if (name === UPDATES.setOptions) return { kind: 'setOptions', changes: object };
  return name === UPDATES.repair ? { kind: 'repair' } : null;
}

/** These schemas cover only what is read here, since any client may send something else. */
const aMessage = z.looseObject({
  id: z.string(),
  body: z.discriminatedUnion('kind', [
    z.looseObject({ kind: z.literal('text'), text: z.string() }),
    z.looseObject({ kind: z.literal('stored'), hash: z.string(), bytes: z.number() }),
  ]),
});
const anObject = z.record(z.string(), z.unknown());
const approval = z.object({ call: z.string(), edited: z.string().optional() });
const denial = z.object({ call: z.string(), reason: z.string() });
const answer = z.object({ call: z.string() });
/** Decisions name the person. */
const named = z.object({ by: z.string().min(1) });
const limit = z.number().optional().catch(undefined);
const limits = z
  .object({ maxTurns: limit, maxBudgetUsd: limit, maxTokens: limit, timeoutMs: limit })
  .transform((value) => withChanges<NewLimits>({}, value as OptionChanges));
const ruleList = z.array(z.string()).optional().catch(undefined);
const ruleChanges = z
  .object({ allow: ruleList, drop: ruleList, lasts: z.literal('session').optional().catch(undefined) })
  .transform((value): RuleChanges => present(value));
/** A handover in the middle of a run carries its limits. */
const carried = z.object({
  carry: z.object({ run: z.object({ snapshot: z.object({ rules: limits }) }).nullish() }).optional(),
});
/** A session that another workflow begins has its first message in its argument. */
const reached = z.object({
  first: z.object({ id: z.string() }).optional(),
  carry: z.object({ inbox: z.object({ seen: z.array(z.string()) }) }).optional(),
});
