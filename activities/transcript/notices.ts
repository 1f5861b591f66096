// What the loop says to the model in its own words. Fixed sentences: the prompt cache depends on them.
import type { Notice } from '../../workflows/contract/activities.ts';

export const CONTINUE =
  'Your reply was cut off because it reached the output limit. Continue exactly where it stopped: no apology, no recap.';

export const CALL_CUT =
  'Your last tool call was cut off because the reply reached the output limit, so it did not run. Make it again, ' +
  'and break long inputs into several smaller calls.';

export const INTERRUPTED = 'The run was interrupted here.';

/** Stands where a user message has to be and there is nothing to say. */
export const GO_ON = 'Continue.';

/** The result of a call of which nothing is known. */
export const NO_OUTCOME = 'No outcome was recorded for this call.';

/** The result of a call that returned nothing: the API refuses an empty error. */
export const NO_OUTPUT = '(no output)';

/** The text the model gets for a notice; null for those that are for people. */
export function noticeText(notice: Notice): string | null {
  switch (notice.kind) {
    case 'continue':
      return CONTINUE;
    case 'call_cut':
      return CALL_CUT;
    case 'interrupted':
      return INTERRUPTED;
    case 'max_turns_reached':
    case 'error':
      return null;
  }
}
