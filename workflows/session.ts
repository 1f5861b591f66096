// A session between its runs: what it is, its phase as others see it, and how it is stopped. One per workflow run, never shared.
import {
  CancellationScope,
  defineQuery,
  defineSignal,
  setHandler,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SessionId } from './contract/ids.ts';
import type { StopCause } from './contract/loop.ts';
import {
  MEMO_KEY,
  PHASE_ATTRIBUTE,
  QUERIES,
  SIGNALS,
  type Phase,
  type SessionMemo,
  type SessionView,
  type UserMessage,
} from './contract/session.ts';
import { Inbox } from './inbox.ts';
import type { RunState } from './machine/state.ts';
import type { Carry, ResumedInput } from './session-state.ts';

const phaseKey = defineSearchAttributeKey(PHASE_ATTRIBUTE, SearchAttributeType.KEYWORD);

/** What can be seen of the run in progress. */
export type LiveRun = { state: RunState; parkedUntil: number | null };

export class Session {
  readonly id = workflowInfo().workflowId as SessionId;
  readonly input: ResumedInput;
  readonly inbox: Inbox;
  /** The carried values, replaced as the session moves on; `inbox` and `run` are read from their owners. */
  facts: Omit<Carry, 'inbox' | 'run'>;
  run: LiveRun | null = null;
  /** Why the current run is being stopped; first cause wins. */
  private stopped: StopCause | null = null;
  private readonly root = CancellationScope.current();
  private scope = new CancellationScope();
  private phase: Phase | null = null;
  /** Set by the `resume` signal, cleared by whoever waits for it. */
  resumed = false;
  /** Of this workflow run, for the handover's limits. */
  signals = 0;
  iterations = 0;

  constructor(input: ResumedInput, carry: Carry) {
    this.input = input;
    this.inbox = new Inbox(carry.inbox);
    const { inbox: _inbox, run: _run, ...facts } = carry;
    this.facts = facts;
    setHandler(defineSignal<[UserMessage]>(SIGNALS.message), (message) => this.receive(message));
    setHandler(defineSignal(SIGNALS.interrupt), () => this.stop('interrupt'));
    setHandler(defineSignal(SIGNALS.resume), () => void (this.resumed = true));
    setHandler(defineQuery<SessionView>(QUERIES.view), () => this.view());
  }

  /** The scope of the current run: cancelled by a stop, and with the workflow. */
  get runScope(): CancellationScope {
    return this.scope;
  }

  get stopCause(): StopCause | null {
    return this.stopped ?? (this.root.consideredCancelled ? 'cancel' : null);
  }

  nextStep(): number {
    this.facts = { ...this.facts, step: this.facts.step + 1 };
    return this.facts.step;
  }

  /** A run that is not there cannot be stopped: an interrupt of an idle session changes nothing. */
  stop(cause: StopCause): void {
    if (!this.run || this.stopped) return;
    this.stopped = cause;
    this.scope.cancel();
  }

  /** A fresh scope for the next run. A stop belongs to one run. */
  beginRun(run: LiveRun): void {
    this.run = run;
    this.stopped = null;
    this.scope = this.root.consideredCancelled ? this.root : new CancellationScope();
  }

  endRun(): void {
    this.run = null;
  }

  /** Seen from outside by search attribute and memo: changes with the phase, not with every turn. */
  enter(phase: Phase): void {
    if (phase === this.phase) return;
    this.phase = phase;
    const { head, options, runs, last } = this.facts;
    const memo: SessionMemo = { phase, head, cwd: options.cwd, title: this.input.title, runs, last };
    upsertMemo({ [MEMO_KEY]: memo });
    if (this.input.visibility) upsertSearchAttributes([{ key: phaseKey, value: phase }]);
  }

  private receive(message: UserMessage): void {
    this.signals += 1;
    if (this.inbox.push(message) && message.now) this.stop('message');
  }

  private view(): SessionView {
    const { head, runs, last } = this.facts;
    const state = this.run?.state;
    return {
      session: this.id,
      phase: this.phase ?? 'idle',
      head: state?.head ?? head,
      run: runs,
      iteration: state?.iteration ?? 0,
      turn: state?.turn ?? 0,
      queued: this.inbox.waiting.map((message) => message.id),
      transitions: state?.transitions ?? [],
      counts: state?.counts ?? {},
      parkedUntil: this.run?.parkedUntil ?? null,
      last: last && { run: last.run, reason: last.terminal.reason },
    };
  }
}
