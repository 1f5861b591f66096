// Prepares a session to leave this host while it is at work (T20): what runs in the background
// ends, and its folders are captured as they are.
import type { HostLeft, LeaveHost } from '../../workflows/contract/hosts.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';

export function leaveHost(deps: Deps): (attempt: Attempt, input: LeaveHost) => Promise<HostLeft> {
  return async ({ session, signal }, { head }) => {
    const { transcripts, snapshots, background } = deps;
    await background?.endSession(session);
    const view = await transcripts.view(session, head);
    const started = view.entries.findLast((entry) => entry.kind === 'run_started');
    if (!started || !snapshots) return { files: null };
    const config = await deps.config(started.config);
    return { files: await snapshots.captureAll({ config, head, base: { view, added: [] }, signal }) };
  };
}
