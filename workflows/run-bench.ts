// The bench that a run performs its moves with.
import type { Session } from './session.ts';
import type { RunSnapshot } from './contract/loop.ts';
import type { RunClock } from './updates/run-limits.ts';
import type { RunState } from './machine/state.ts';
import type { Held, RunCarry } from './session-state.ts';

/** Shared by the model call, the tools and the approvals of one run. */
export type RunBench = {
  readonly session: Session;
  /** Its limits may have been raised meanwhile. */
  readonly snapshot: RunSnapshot;
  readonly clock: RunClock;
  readonly carried: (state: RunState, held: Held) => RunCarry;
};
