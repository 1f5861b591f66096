// One session under way, as an app drives it: a plan whenever its turn has ended, and messages while
// it runs. Each request that could not be answered is repeated with its own key.
import { APIConnectionError, APIError, type Anthropic } from '@anthropic-ai/sdk';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { random, type Random } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import { rest } from '../hosts-under-fire/faults.ts';
import { planText } from '../hosts-under-fire/plans.ts';

const PLAN_REPLIES = { least: 10, most: 30 } as const;
const LAST_REPLIES = 3;
const LONGEST_REST_MS = 15_000;

export type Means = { readonly client: Anthropic; readonly seed: number };

export class Driven {
  readonly name: string;
  readonly id: string;
  /** Texts of messages that were answered. */
  readonly acknowledged: string[] = [];
  readonly #means: Means;
  readonly #dice: Random;
  #plans = 0;
  #sent = 0;

  constructor(number: number, id: string, means: Means) {
    this.name = `s${String(number).padStart(2, '0')}`;
    this.id = id;
    this.#means = means;
    this.#dice = random(means.seed * 100 + number);
  }

  /** Keeps the session busy until `signal` is aborted. */
  async keepBusy(signal: AbortSignal): Promise<void> {
    await this.#send(this.#nextPlan());
    while (!signal.aborted) {
      await rest(2_000 + this.#dice.nat(LONGEST_REST_MS - 2_000), signal);
      if (signal.aborted) return;
      await this.#send((await this.isAtRest()) ? this.#nextPlan() : `Note ${this.#sent} of ${this.name}.`);
    }
  }

  /** Waits for the end of what runs, and has a last turn made, which any sandbox may run. */
  async close(): Promise<void> {
    await until(() => this.isAtRest());
    await this.#send(this.#nextPlan(LAST_REPLIES));
    await until(() => this.isAtRest());
  }

  /** No turn is under way, and no call or message waits. */
  async isAtRest(): Promise<boolean> {
    const events = await this.events();
    const last = events.at(-1);
    const isIdle = last?.type === 'session.status_idle' && last.stop_reason.type !== 'requires_action';
    const texts = new Set(textsIn(events));
    return isIdle && this.acknowledged.every((text) => texts.has(text));
  }

  /** All events, the first ones first. */
  events(): Promise<readonly BetaManagedAgentsSessionEvent[]> {
    return untilAnswered(async () => {
      const all: BetaManagedAgentsSessionEvent[] = [];
      for await (const event of this.#means.client.beta.sessions.events.list(this.id)) all.push(event);
      return all;
    });
  }

  #nextPlan(replies = PLAN_REPLIES.least + this.#dice.nat(PLAN_REPLIES.most - PLAN_REPLIES.least)): string {
    this.#plans += 1;
    const seed = this.#means.seed * 100 + this.#plans;
    return planText({ session: this.name, number: this.#plans, calls: replies, seed });
  }

  async #send(text: string): Promise<void> {
    this.#sent += 1;
    const events = [{ type: 'user.message' as const, content: [{ type: 'text' as const, text }] }];
    const headers = { 'Idempotency-Key': `${this.id}-${this.#sent}` };
    await untilAnswered(() => this.#means.client.beta.sessions.events.send(this.id, { events }, { headers }));
    this.acknowledged.push(text);
  }
}

/** The texts of all messages of the app, in order; those that came together are one. */
export const textsIn = (events: readonly BetaManagedAgentsSessionEvent[]): readonly string[] =>
  events.flatMap((event) => {
    if (event.type !== 'user.message') return [];
    return event.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  });

/** Repeats while the server is away or says that it cannot answer. */
export const untilAnswered = <T extends object>(ask: () => Promise<T>): Promise<T> =>
  until(async () => {
    try {
      return await ask();
    } catch (error) {
      const isAway = error instanceof APIConnectionError || (error instanceof APIError && (error.status ?? 0) >= 500);
      if (!isAway) throw error;
      return null;
    }
  }) as Promise<T>;
