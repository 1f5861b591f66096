// The context that a run performs its moves in.
import type { RunSnapshot } from '../contract/loop.ts';
import type { RunState } from '../machine/state.ts';
import type { RunWait, RunCarry } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';
import type { RunClock } from '../updates/run-limits.ts';

/** The model call, the tools and the approvals of one run share it. */
export type RunContext = {
  readonly session: Session;
  /** The snapshot as it is now: a person may have raised its limits since the run was opened. */
  readonly snapshot: RunSnapshot;
  readonly clock: RunClock;
  /** Returns the run as a handover carries it. */
  carryRun(state: RunState, wait: RunWait): RunCarry;
};
