// Lists the signals that did nothing, and why, for the person who has just sent one.
import { log } from '@temporalio/workflow';
import type { PassedOver } from '../contract/people.ts';

/** How many are kept; a new workflow run begins with none. */
const MOST_KEPT = 10;

export class PassedOverLog {
  private kept: readonly PassedOver[] = [];

  get last(): readonly PassedOver[] {
    return this.kept;
  }

  note(what: PassedOver): void {
    log.warn(`a signal was passed over: ${what.why}`, { signal: what.signal });
    this.kept = [...this.kept, what].slice(-MOST_KEPT);
  }
}
