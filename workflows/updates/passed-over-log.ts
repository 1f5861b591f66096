// The signals that did nothing, and why: for the person who sent one just now.
import { log } from '@temporalio/workflow';
import type { PassedOver } from '../contract/people.ts';

/** The last are kept, of this run of the workflow: they are for whoever sent one just now. */
const KEPT = 10;

/** Signals that did nothing, and why. */
export class PassedOverLog {
  private kept: readonly PassedOver[] = [];

  get last(): readonly PassedOver[] {
    return this.kept;
  }

  note(what: PassedOver): void {
    log.warn(`a signal was passed over: ${what.why}`, { signal: what.signal });
    this.kept = [...this.kept, what].slice(-KEPT);
  }
}
