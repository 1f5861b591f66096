// Changes limits and rules of the current run and sets options for the next one (Q10), by updates
// that a session accepts or refuses with a sentence. It also cancels a session.
import {
  SIGNALS,
  UPDATES,
  type OptionChanges,
  type RuleChanges,
  type TopUp,
} from '../../workflows/contract/session.ts';
import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import type { SignalOnce } from '../../workflows/contract/steered.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { LIMITS } from '../../workflows/contract/run-options.ts';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import { permissionsProblem } from '../../workflows/contract/permission-rules.ts';
import { ClientProblem } from '../problem.ts';
import type { DecidePorts } from './decide.ts';
import { patience, callUntilAnswered } from './persist.ts';
import { sessionClosedProblem, callSession } from './send.ts';
import { findWrongOption } from './message.ts';

export async function topUp({ look, update }: DecidePorts, session: SessionId, more: TopUp, by: string): Promise<void> {
  const problem = topUpProblem(more);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const seen = await look(session);
  if (seen.status !== 'open') throw sessionClosedProblem(seen);
  await update(session, UPDATES.topUp, more, { by });
}

/** Returns a sentence that says what is wrong with the limits in any run, or undefined. */
export function topUpProblem(asked: TopUp): string | undefined {
  const more = Object.fromEntries(Object.entries(asked).filter(([name]) => name !== 'exact'));
  if (Object.keys(more).length === 0) return `no limit is named: give ${Object.keys(LIMITS).join(', ')}`;
  return optionsProblem(more);
}

export async function changeRules(
  { look, update }: DecidePorts,
  session: SessionId,
  rules: RuleChanges,
  by: string,
): Promise<void> {
  const problem = permissionsProblem({ allow: rules.allow }) ?? permissionsProblem({ allow: rules.drop });
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const seen = await look(session);
  if (seen.status !== 'open') throw sessionClosedProblem(seen);
  await update(session, UPDATES.changeRules, rules, { by });
}

export async function setOptions(
  { look, update }: DecidePorts,
  session: SessionId,
  changes: OptionChanges,
  by: string,
): Promise<void> {
  const problem =
    Object.keys(changes).length === 0 ? 'no option is given: name what is to change' : await findWrongOption(changes);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const seen = await look(session);
  if (seen.status !== 'open') throw sessionClosedProblem(seen);
  await update(session, UPDATES.setOptions, changes, { by });
}

/** Milliseconds for which the server may refuse to pass on who cancels. */
const NAME_WITHIN_MS = 5_000;

/**
 * Temporal's cancel does not tell the session who asks, so a signal says it first. A flooded
 * session takes no more signals and must end all the same; then no name is recorded.
 */
export async function cancel(client: Client, session: SessionId, by: string): Promise<void> {
  const told: SignalOnce = { signal: 'cancel', id: randomUUID(), by };
  const handle = client.workflow.getHandle(session);
  const tell = () => handle.signal(SIGNALS.cancel, told);
  await callUntilAnswered(client, `reach session ${session}`, tell, { ...patience, total: NAME_WITHIN_MS }).catch(
    () => undefined,
  );
  await callSession(client, session, `cancel session ${session}`, () => handle.cancel());
}
