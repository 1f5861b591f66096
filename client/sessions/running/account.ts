// Computes what a session has spent so far from the history of its current workflow execution, as
// the machine counts it: a handover carries the sums of all before, and each step returns its own
// cost. So the numbers of a current run are exact, with compactions, notes and agents that have
// ended.
import { z } from 'zod';
import { DELEGATED_SIGNAL } from '../../../workflows/contract/delegation.ts';
import { UPDATES } from '../../../workflows/contract/session.ts';
import { type Hash, isHash } from '../../../workflows/contract/ids.ts';
import { addSpend, nothingSpent, noSpend, type Spend } from '../../../workflows/contract/loop.ts';
import { type HistoryEvent, timeOf } from '../history/steps.ts';
import { countBeat } from './beats.ts';

/** A step that a worker was asked for. */
export type AskedStep = {
  /** Name of the activity: callModel, runTool, … */
  readonly name: string;
  readonly config: Hash | null;
  /** Position of the model; 0 is the primary. */
  readonly model: number;
  /** Index of the call in the newest reply; null for steps other than calls. */
  readonly index: number | null;
};

export type RunningAccount = {
  readonly turns: number;
  readonly spend: Spend;
  /** Tokens in context at the newest reply; null before one is known. */
  readonly contextTokens: number | null;
  /** Head of the newest reply's segment. */
  readonly reply: Hash | null;
  readonly config: Hash | null;
  readonly model: number;
  /** When a step last began, ended or was asked for, in milliseconds since the epoch. */
  readonly progressAt: number;
  /** How often steps began or ended, by the number of the five minutes since the epoch. */
  readonly beats: ReadonlyMap<number, number>;
  /** Steps that have not ended, by their activity's id. */
  readonly open: ReadonlyMap<string, AskedStep>;
};

type Payloads = NonNullable<NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>['input']>['payloads'];

/** Decodes the first of some payloads; `activity` is null for those of the workflow. */
type DecodePayload = (activity: string | null, payloads: Payloads) => Promise<unknown>;

const aHash = z.custom<Hash>(isHash);
const usage = z.object({ input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() });
export const aSpend = z.object({ usage, usd: z.number().nullable() });
const spentSchema = z.object({ turns: z.number(), spend: aSpend });
const transitions = z.array(
  z.looseObject({ kind: z.string(), reason: z.unknown().optional(), iteration: z.unknown().optional() }),
);
const carried = z.object({
  carry: z
    .object({
      spent: spentSchema.optional(),
      run: z
        .object({
          state: z.object({
            turn: z.number(),
            spend: aSpend,
            contextTokens: z.number().optional(),
            modelPosition: z.number().optional(),
            pending: transitions.optional(),
          }),
          snapshot: z.object({ config: aHash }),
        })
        .nullish(),
    })
    .optional(),
});
const askedSchema = z.object({
  config: aHash.nullish().catch(null),
  model: z.number().optional().catch(undefined),
  index: z.number().optional().catch(undefined),
  append: transitions.optional().catch(undefined),
});
const answered = z.object({
  done: z.object({
    kind: z.string().optional().catch(undefined),
    head: aHash.nullish().catch(null),
    spend: aSpend.optional().catch(undefined),
    contextTokens: z.number().optional().catch(undefined),
    after: z.number().optional().catch(undefined),
    calls: z
      .array(z.looseObject({ outcome: z.looseObject({ spend: aSpend.optional() }).optional() }))
      .optional()
      .catch(undefined),
  }),
});
const report = z.object({ key: z.string(), end: z.object({ kind: z.literal('agent'), spend: aSpend }) });

type Draft = { -readonly [Key in keyof RunningAccount]: RunningAccount[Key] };

const isNextTurn = ({ kind, reason }: z.infer<typeof transitions>[number]): boolean =>
  kind === 'transition' && reason === 'next_turn';

/** Takes the events of one workflow execution, and counts. */
export class Accountant {
  readonly #decode: DecodePayload;
  readonly #scheduled = new Map<string, { readonly id: string; readonly step: AskedStep }>();
  readonly #open = new Map<string, AskedStep>();
  readonly #beats = new Map<number, number>();
  /** The turns and the agents that are counted already. */
  readonly #counted = new Set<string>();
  readonly #account: Draft = {
    turns: 0,
    spend: noSpend,
    contextTokens: null,
    reply: null,
    config: null,
    model: 0,
    progressAt: 0,
    beats: this.#beats,
    open: this.#open,
  };
  #newest = 0;
  #run = 0;

  constructor(decode: DecodePayload) {
    this.#decode = decode;
  }

  get account(): RunningAccount {
    return this.#account;
  }

  /** Id of the newest event that was absorbed. */
  get newest(): number {
    return this.#newest;
  }

  /** Takes events oldest first; passes over those it has taken. */
  async absorb(event: HistoryEvent): Promise<void> {
    if (Number(event.eventId) <= this.#newest) return;
    this.#newest = Number(event.eventId);
    if (isProgress(event)) {
      this.#account.progressAt = timeOf(event.eventTime);
      countBeat(this.#beats, this.#account.progressAt);
    }
    const end = endOf(event);
    const { workflowExecutionStartedEventAttributes: start, workflowExecutionSignaledEventAttributes: signal } = event;
    if (start) this.#takeUp(carried.safeParse(await this.#decode(null, start.input?.payloads)).data ?? {});
    else if (event.activityTaskScheduledEventAttributes) await this.#beginStep(event);
    else if (end) await this.#endStep(event, end.scheduledEventId);
    else if (signal?.signalName === DELEGATED_SIGNAL)
      this.#countAgent(report.safeParse(await this.#decode(null, signal.input?.payloads)).data);
  }

  #takeUp({ carry }: z.infer<typeof carried>): void {
    const { turns, spend } = carry?.spent ?? nothingSpent;
    const account = this.#account;
    Object.assign(account, { turns, spend });
    if (!carry?.run) return;
    const { state, snapshot } = carry.run;
    account.turns += state.turn;
    account.spend = addSpend(spend, state.spend);
    account.contextTokens = state.contextTokens ?? null;
    account.model = state.modelPosition ?? 0;
    account.config = snapshot.config;
    this.#countTurns(state.pending, false);
  }

  async #beginStep(event: HistoryEvent): Promise<void> {
    const { activityId, activityType, input } = event.activityTaskScheduledEventAttributes ?? {};
    const id = activityId ?? '';
    const request = askedSchema.safeParse(await this.#decode(id, input?.payloads)).data ?? {};
    const name = (activityType?.name ?? '').replace(/^perdure\./, '');
    const step = { name, config: request.config ?? null, model: request.model ?? 0, index: request.index ?? null };
    this.#scheduled.set(String(event.eventId), { id, step });
    this.#open.set(id, step);
    if (name === 'openRun') this.#run += 1;
    if (request.config) this.#account.config = request.config;
    if (name === 'callModel') this.#account.model = step.model;
    this.#countTurns(request.append);
  }

  async #endStep(event: HistoryEvent, scheduledId: unknown): Promise<void> {
    const known = this.#scheduled.get(String(scheduledId));
    this.#scheduled.delete(String(scheduledId));
    if (!known) return;
    this.#open.delete(known.id);
    const payloads = event.activityTaskCompletedEventAttributes?.result?.payloads;
    const done = answered.safeParse(payloads ? await this.#decode(known.id, payloads) : null).data?.done;
    if (!done) return;
    const account = this.#account;
    for (const spend of [done.spend, ...(done.calls ?? []).map(({ outcome }) => outcome?.spend)])
      if (spend) account.spend = addSpend(account.spend, spend);
    if (done.kind === 'compacted') account.contextTokens = done.after ?? account.contextTokens;
    if (known.step.name === 'openRun' && done.kind === 'opened') account.turns += 1;
    if (known.step.name !== 'callModel' || done.contextTokens === undefined) return;
    account.contextTokens = done.contextTokens;
    account.reply = done.head ?? account.reply;
  }

  #countAgent(agent: z.infer<typeof report> | undefined): void {
    if (!agent || this.#counted.has(agent.key)) return;
    this.#counted.add(agent.key);
    this.#account.spend = addSpend(this.#account.spend, agent.end.spend);
  }

  /** Appends that a step failed to store come again with the next one, and count once. */
  #countTurns(append: z.infer<typeof transitions> = [], isNew = true): void {
    for (const one of append.filter(isNextTurn)) {
      const name = `${this.#run}.${String(one.iteration)}`;
      if (isNew && !this.#counted.has(name)) this.#account.turns += 1;
      this.#counted.add(name);
    }
  }
}

const endOf = (event: HistoryEvent) =>
  event.activityTaskCompletedEventAttributes ??
  event.activityTaskFailedEventAttributes ??
  event.activityTaskTimedOutEventAttributes ??
  event.activityTaskCanceledEventAttributes;

/** Tells whether the session itself did something; what people send it is no sign of it. */
function isProgress(event: HistoryEvent): boolean {
  return Boolean(
    event.workflowExecutionStartedEventAttributes ??
    event.activityTaskScheduledEventAttributes ??
    event.activityTaskStartedEventAttributes ??
    endOf(event) ??
    isDecision(event) ??
    event.timerFiredEventAttributes ??
    event.childWorkflowExecutionStartedEventAttributes ??
    event.childWorkflowExecutionCompletedEventAttributes,
  );
}

const DECISIONS: readonly string[] = [UPDATES.approve, UPDATES.deny, UPDATES.answer];

/** Tells whether an event is a person's decision: progress counts from it, not from the wait. */
function isDecision({ workflowExecutionUpdateAcceptedEventAttributes: accepted }: HistoryEvent): true | undefined {
  return DECISIONS.includes(accepted?.acceptedRequest?.input?.name ?? '') || undefined;
}
