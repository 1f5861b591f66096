// Sets the handlers of a session: for signals, queries and updates.
import type { Session } from '../session/session.ts';
import { handleAsides } from './aside.ts';
import { handleQueries } from './queries.ts';
import { handleRewindPreviews, handleRewinds } from './rewind.ts';
import { handleSignals } from './signals.ts';
import { handleSteering } from './steer.ts';

/** Call it once, as soon as the session is made: it delivers what has arrived already. */
export function listenToClients(session: Session): void {
  session.approvals.listen(() => {
    session.memoWriter.markChanged();
    session.asks.change();
  });
  handleSignals(session);
  handleQueries(session);
  handleAsides(session);
  handleSteering(session);
  handleRewinds(session);
  handleRewindPreviews(session);
}
