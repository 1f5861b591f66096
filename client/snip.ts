// What a person takes out of the model's sight, by position; it stays in the transcript (L7). The session passes over positions it
// does not have, so whoever asks is told here.
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Entry } from '../activities/transcript/entries.ts';
import { ClientProblem } from './problem.ts';
import { count } from './render/units.ts';
import type { SessionDescription } from './session-info.ts';
import { closedProblem } from './session-send.ts';

/** Each throws ClientProblem, `entries` StoreError too. */
export type SnipPorts = {
  readonly look: (session: SessionId) => Promise<SessionDescription>;
  /** As of now. */
  readonly entries: (session: SessionId) => Promise<readonly Entry[]>;
  readonly send: (session: SessionId) => Promise<void>;
};

/** Of one request. */
const MOST_SNIPPED = 1_000;

export async function snip(
  { look, entries, send }: SnipPorts,
  session: SessionId,
  given: readonly number[],
): Promise<void> {
  refuse(snipProblem(given));
  const seen = await look(session);
  if (seen.status !== 'open') throw closedProblem(seen);
  refuse(absentProblem(session, given, (await entries(session)).length));
  await send(session);
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new ClientProblem('refused', problem);
}

/** A sentence that says what is wrong with positions to be snipped, whatever the session, or undefined. */
export function snipProblem(given: readonly number[]): string | undefined {
  if (given.length === 0) return 'no entry is named: `perdure show ID --json` has their positions';
  if (given.length > MOST_SNIPPED) return `${given.length} entries are named: give at most ${MOST_SNIPPED} at once`;
  const wrong = given.find((entry) => !Number.isSafeInteger(entry) || entry < 0);
  return wrong === undefined ? undefined : `${wrong} is no position of an entry: give whole numbers from 0`;
}

/** `there`: how many entries the session has, at positions from 0. */
function absentProblem(session: SessionId, given: readonly number[], there: number): string | undefined {
  const absent = given.find((entry) => entry >= there);
  if (absent === undefined) return undefined;
  const has = there === 0 ? 'none yet' : `${count(there, 'entry', 'entries')}, the last at ${there - 1}`;
  return `session ${session} has no entry at position ${absent}, for it has ${has}: \`perdure show ${session} --json\` lists them`;
}
