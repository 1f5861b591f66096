// Adds the state of a current run to the session of a list, and what follows from it. Pure.
import { present } from '../../../workflows/contract/present.ts';
import type { SessionInfo } from '../info.ts';
import type { RunningState } from './running-row.ts';

/** Milliseconds without a sign after which a run under way counts as silent. */
const SILENT_MS = 5 * 60_000;

/**
 * Returns the session with the row's numbers in place of those that visibility knows. A number
 * never falls: visibility may know of a later moment than the row.
 */
export function withRunning<Info extends SessionInfo>(info: Info, running: RunningState | undefined): Info {
  if (!running || info.status !== 'open') return info;
  const { facts } = info;
  const cents = running.cents === null || facts?.cents === null ? null : Math.max(running.cents, facts?.cents ?? 0);
  return {
    ...info,
    running,
    facts: {
      ...facts,
      turns: Math.max(running.turns, facts?.turns ?? 0),
      tokens: Math.max(running.tokens, facts?.tokens ?? 0),
      cents,
      ...present({ model: running.model ?? undefined }),
    },
  };
}

/**
 * Tells whether a session's numbers are as of an earlier moment or leave something out, so that
 * lists show them as "at least".
 */
export function isAtLeast({ phase, status, running }: Pick<SessionInfo, 'phase' | 'status' | 'running'>): boolean {
  const isUnderWay = status === 'open' && phase !== 'idle' && phase !== 'closed';
  return isUnderWay && (running ? running.isLeast : true);
}

/** Returns the milliseconds since the last sign of a run that should go on by itself, or null. */
export function silenceOf(
  { phase, status, running }: Pick<SessionInfo, 'phase' | 'status' | 'running'>,
  now: number,
): number | null {
  return running && status === 'open' && phase === 'running' ? Math.max(0, now - running.lastSign) : null;
}

export function isSilentSession(info: Pick<SessionInfo, 'phase' | 'status' | 'running'>, now: number): boolean {
  return (silenceOf(info, now) ?? 0) > SILENT_MS;
}
