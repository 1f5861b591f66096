// Moves a session to another host (T20): at once where it is at rest, else before its next model
// call, when none of its calls runs. While agents work in its folder in the background it waits for
// them.
import { ApplicationFailure, CancellationScope, defineUpdate, setHandler } from '@temporalio/workflow';
import type { Moved, MoveRequest } from '../contract/hosts.ts';
import { UPDATES } from '../contract/session.ts';
import { isOnce, type Signature, unwrapRequest, type UpdateOnce } from '../contract/steered.ts';
import type { Session } from '../session/session.ts';
import { refuse } from './approvals.ts';
import { UPDATE_DESCRIPTIONS } from './descriptions.ts';

type MoveUpdate = MoveRequest | UpdateOnce<MoveRequest>;

export function handleMoves(session: Session): void {
  const { steered, facts } = session;
  const problem = (request: MoveUpdate): string | undefined => {
    if (steered.isClosing) return 'the session is closing: nothing runs in it any more';
    return steered.once.problem(UPDATES.move, request) ?? moveProblem(unwrapRequest(request), session);
  };
  const move = async (request: MoveUpdate, by?: Signature): Promise<Moved> => {
    steered.once.note(request);
    facts.requestMove(unwrapRequest(request));
    steered.note({ action: 'move' }, isOnce(request) ? request : by);
    if (session.run !== null || session.inbox.count > 0 || session.isRewinding) return { kind: 'later' };
    if (session.delegations.agents.background.length > 0) return { kind: 'later' };
    await CancellationScope.nonCancellable(() => session.hosting.moveIfRequested());
    const { refusal } = session.hosting;
    if (refusal !== null) throw ApplicationFailure.nonRetryable(`Not moved: ${refusal}`, 'NotMoved');
    return facts.now.host ? { kind: 'moved', host: facts.now.host } : { kind: 'later' };
  };
  const validator = (request: MoveUpdate, _by?: Signature): void => refuse(problem(request));
  const update = defineUpdate<Moved, [MoveUpdate, Signature?]>(UPDATES.move);
  setHandler(update, move, { validator, description: UPDATE_DESCRIPTIONS.move });
}

/** Returns a sentence that says why the session does not move, or undefined. */
function moveProblem(request: unknown, { facts, hosting, input }: Session): string | undefined {
  if (typeof request !== 'object' || request === null) return 'the request is no object';
  const { to } = request as { readonly to?: unknown };
  const { id, name } = (to ?? {}) as { readonly id?: unknown; readonly name?: unknown };
  if (to !== undefined && (typeof id !== 'string' || typeof name !== 'string'))
    return 'the host to move to has no id and name';
  const { host } = facts.now;
  if (!host) return 'The session is tied to no host: any worker can take its next step.';
  if (input.agent) return 'An agent moves with the session that started it.';
  if (hosting.isMoving) return 'The session is moving already. Wait until it has.';
  return id === host.id ? `The session is on host ${host.name} already.` : undefined;
}
