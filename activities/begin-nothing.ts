// A worker that is there to stop one run: it records what ends, and begins nothing, of any session (L47, L49).
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Body } from './attempt.ts';
import { forAnotherWorker } from './for-another-worker.ts';

/** `run`: the one that is stopped, under way or about to open. */
export type Stops = { readonly session: SessionId; readonly run: number };

/** `unless`: what belongs to the stop all the same. */
type Refusal<Input> = { readonly unless?: (session: SessionId, input: Input) => boolean };

/** `stops`: null: the worker works, and bodies stay as they are. */
export function beginNothing(stops: Stops | null) {
  return <Input, Output>(
    body: Body<Input, Output>,
    { unless = () => false }: Refusal<Input> = {},
  ): Body<Input, Output> => {
    if (stops === null) return body;
    return async (attempt, input) => {
      if (unless(attempt.session, input)) return body(attempt, input);
      throw forAnotherWorker('StopsOnly', `this worker only stops session ${stops.session}: start one that works`);
    };
  };
}
