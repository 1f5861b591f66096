// A worker that is there to stop one session: it records what ends, and begins nothing, of any session (L47, L49).
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Attempt } from './attempt.ts';
import { forAnotherWorker } from './for-another-worker.ts';

type Body<Input, Output> = (attempt: Attempt, input: Input) => Promise<Output>;

/** What a body is asked for belongs to the stop all the same. */
type IsOfStop<Input> = (session: SessionId, input: Input) => boolean;

/** `stops`: the session this worker stops; null: it works, and bodies stay as they are. */
export function beginNothing(stops: SessionId | null) {
  return <Input, Output>(body: Body<Input, Output>, isOfStop: IsOfStop<Input> = () => false): Body<Input, Output> => {
    if (stops === null) return body;
    return async (attempt, input) => {
      if (isOfStop(attempt.session, input)) return body(attempt, input);
      throw forAnotherWorker('StopsOnly', `this worker only stops session ${stops}: start one that works`);
    };
  };
}
