// Sets the handlers of a session: for signals, queries and updates.
import type { Session } from '../session/session.ts';
import { listenForAsides } from './aside.ts';
import { listenForQueries } from './queries.ts';
import { listenForSignals } from './signals.ts';
import { listenForSteering } from './steer.ts';

/** Call it once, as soon as the session is made: what has arrived meanwhile is delivered at once. */
export function listenToClients(session: Session): void {
  session.approvals.listen(() => {
    session.told.change();
    session.asks.change();
  });
  listenForSignals(session);
  listenForQueries(session);
  listenForAsides(session);
  listenForSteering(session);
}
