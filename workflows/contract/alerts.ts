// News that someone is to be told of by the hooks of a worker: a person is waited for, a run has ended badly.
import type { Hash } from './ids.ts';
import type { Spend, Terminal } from './loop.ts';
import type { PendingApproval } from './session.ts';

/** Named as the hooks that are told. */
export type AlertKind = 'waiting' | 'failed';

export type WaitingCall = Pick<PendingApproval, 'call' | 'tool' | 'reason' | 'deadline' | 'askedAt'>;

/** `run`: the number of the run it is about. */
export type Alert = { readonly run: number; readonly iteration: number } & (
  | { readonly kind: 'waiting'; readonly calls: readonly WaitingCall[] }
  | {
      readonly kind: 'failed';
      readonly terminal: Terminal;
      readonly turns: number;
      readonly spend: Spend;
      readonly durationMs: number;
    }
);

/** Tell the hooks of a worker. `config`: null where the run could not be opened. */
export type TellAlert = {
  readonly alert: Alert;
  readonly chain: string;
  readonly config: Hash | null;
  readonly title: string;
  readonly step: number;
};
