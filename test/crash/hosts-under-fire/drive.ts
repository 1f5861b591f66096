// One session under way: it gets a plan whenever its run has ended, and messages while it runs, with
// the commands that people use. What a command has acknowledged is noted.
import { mkdirSync } from 'node:fs';
import { type Client, NamespaceNotFoundError } from '@temporalio/client';
import { readChain } from '../../../store/log/read-chain.ts';
import type { Store } from '../../../store/values/store.ts';
import { mainHere } from '../../support/cli-here.ts';
import { random, type Random } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { MEMO_KEY, QUERIES, type SessionMemo, type SessionView } from '../../../workflows/contract/session.ts';
import { rest } from './faults.ts';
import type { Host } from './host.ts';
import { type Plan, planText } from './plans.ts';

const PLAN_CALLS = { least: 20, most: 60 } as const;
const LAST_CALLS = 3;
const LONGEST_REST_MS = 40_000;
/** One in so many commands moves the session. */
const MOVES_IN = 6;
/** Why a session is not moved while hosts come and go; the last two: none of its workers answers. */
const NOT_MOVED = [
  'Not moved: ',
  'is on host',
  'is moving already',
  'No worker of this session runs on host',
  'tied to no host',
  'no worker answers for session',
  'cannot reach session',
];

/** What a command says where the server, without CPU for long, does not find its own namespace. */
const NO_NAMESPACE = 'has no namespace';

/** Asks the server, again where it does not find its own namespace. */
export async function askServer<T>(ask: () => Promise<T>): Promise<T> {
  const { answer } = await until(() =>
    ask().then(
      (found) => ({ answer: found }),
      (error: unknown) => {
        if (error instanceof NamespaceNotFoundError) return null;
        throw error;
      },
    ),
  );
  return answer;
}

export type Means = {
  readonly client: Client;
  readonly env: Readonly<Record<string, string>>;
  readonly seed: number;
  /** How many there are. */
  readonly hosts: number;
};

export class Driven {
  readonly name: string;
  readonly cwd: string;
  id = '' as SessionId;
  firstHost = '';
  /** Texts of messages that a command has acknowledged. */
  readonly acknowledged: string[] = [];
  /** How often it was moved at will, at once or before its next step. */
  moves = 0;
  /** Commands that failed, by what they said. */
  readonly failed: string[] = [];
  readonly #means: Means;
  readonly #dice: Random;
  #plans = 0;
  #notes = 0;

  constructor(number: number, means: Means) {
    this.name = `s${String(number).padStart(2, '0')}`;
    this.cwd = `/srv/work/${this.name}`;
    this.#means = means;
    this.#dice = random(means.seed * 100 + number);
  }

  /** Begins on this host, which alone has its folder. */
  async begin(host: Host): Promise<void> {
    this.firstHost = host.name;
    await host.run('mkdir', '-p', this.cwd);
    // The command looks whether the folder is there.
    mkdirSync(this.cwd, { recursive: true });
    const prompt = this.#nextPlan();
    const out = await this.#command('start', '--permission-mode', 'bypass', '--cwd', this.cwd, prompt);
    if (out === null) throw new Error(`${this.name} could not be started: ${this.failed.join('; ')}`);
    this.acknowledged.push(prompt);
    this.id = out.trim() as SessionId;
  }

  /** Keeps the session busy until `signal` is aborted. */
  async keepBusy(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await rest(5_000 + this.#dice.nat(LONGEST_REST_MS - 5_000), signal);
      if (signal.aborted) return;
      if (this.#dice.nat(MOVES_IN - 1) === 0) await this.#move();
      else await this.#send((await this.isIdle()) ? this.#nextPlan() : `Note ${(this.#notes += 1)} of ${this.name}.`);
    }
  }

  /** Waits for the end of what runs, and has a last run made, which all hosts could take. */
  async close(): Promise<void> {
    await until(() => this.isIdle());
    await this.#send(this.#nextPlan({ calls: LAST_CALLS, isLast: true }));
    await until(() => this.isIdle());
  }

  async memo(): Promise<SessionMemo> {
    const { memo } = await askServer(() => this.#handle.describe());
    return memo?.[MEMO_KEY] as SessionMemo;
  }

  /** Tells whether a capture of its folder is stored, without which no other host can have it. */
  async hasSnapshot(store: Store): Promise<boolean> {
    const { head } = await askServer(() => this.#handle.query<SessionView>(QUERIES.view));
    if (head === null) return false;
    const chain = await readChain(store, this.id, head);
    return chain.some(({ segment }) => segment.entries.some(({ kind }) => kind === 'files'));
  }

  /** No run is under way, and no message waits for one. */
  async isIdle(): Promise<boolean> {
    const { memo, raw } = await askServer(() => this.#handle.describe());
    const { phase, runs, last, background } = (memo?.[MEMO_KEY] ?? {}) as Partial<SessionMemo>;
    return (
      phase === 'idle' &&
      !background &&
      last?.run === runs &&
      !raw.pendingWorkflowTask &&
      !raw.pendingActivities?.length
    );
  }

  get #handle() {
    return this.#means.client.workflow.getHandle(this.id);
  }

  #nextPlan(more: Partial<Plan> = {}): string {
    this.#plans += 1;
    const calls = PLAN_CALLS.least + this.#dice.nat(PLAN_CALLS.most - PLAN_CALLS.least);
    const seed = this.#means.seed * 100 + this.#plans;
    return planText({ session: this.name, number: this.#plans, calls, seed, ...more });
  }

  /** To any other host, or to one of them. */
  async #move(): Promise<void> {
    const to = this.#dice.bool() ? [] : ['--host', `host-${1 + this.#dice.nat(this.#means.hosts - 1)}`];
    const failures = this.failed.length;
    if ((await this.#command('move', this.id, ...to)) !== null) this.moves += 1;
    else if (NOT_MOVED.some((why) => this.failed.at(-1)?.includes(why))) this.failed.length = failures;
  }

  async #send(text: string): Promise<void> {
    if ((await this.#command('send', this.id, text)) !== null) this.acknowledged.push(text);
  }

  /** Returns what it prints; null where it failed. */
  async #command(...args: readonly string[]): Promise<string | null> {
    const { status, out, err } = await until(async () => {
      const end = await mainHere(args, { cwd: () => '/srv/work', env: { ...this.#means.env } });
      return end.status !== 0 && end.err.includes(NO_NAMESPACE) ? null : end;
    });
    if (status === 0) return out;
    this.failed.push(`${args[0]}: ${err.trim()}`);
    return null;
  }
}
