// A verdict is the end of a call before it is stored: the words that the model reads and the facts
// that the loop acts on. Pure functions.
import type { Decision, OutcomeFacts, SeenFile } from '../../workflows/contract/activities.ts';
import { GIVEN_UP } from '../../workflows/contract/calls.ts';
import type { CallLog } from '../../store/log/entries.ts';
import type { TakenReport } from './claim-report.ts';
import { present } from '../../workflows/contract/present.ts';
import { clip } from '../../system/text.ts';
import { describeDenial } from '../../tools/rules/permission.ts';
import type { ToolRunEnd } from './call-tool.ts';
import type { AbortCause, PermissionDecision } from '../../tools/tool.ts';
import type { VoidAttempt } from './call-context.ts';

export type CallVerdict = {
  readonly kind: 'verdict';
  readonly content: string;
  /** The media that the tool returned, not examined yet. */
  readonly media?: readonly Uint8Array[];
  readonly isError: boolean;
  readonly decision: CallLog['decision'];
  readonly outcome: CallLog['outcome'];
  readonly facts: OutcomeFacts;
  /** The files that the tool saw (L43). */
  readonly seen?: readonly SeenFile[];
  /** The tools that it found (L74). */
  readonly found?: readonly string[];
  /** The decision of a person (L55). */
  readonly approved?: CallLog['approved'];
  readonly ran?: CallLog['ran'];
  /** The person who denied it (O12). */
  readonly deniedBy?: string;
  /** Nothing ran, because of the input: with another one the call may run (L55). */
  readonly ofInput?: true;
};

type Denial = Extract<Decision, { kind: 'deny' }>;

/** A name, schema or check refused the call. */
export function refuseCall(text: string, facts: OutcomeFacts = {}): CallVerdict {
  return { ...makeRefusal(text, facts), decision: 'not_run' };
}

/** The call could not run, and the run is not to go on without it (L34). */
export function refuseFatally(text: string): CallVerdict {
  return refuseCall(text, fatalFacts({ fatal: true }, text));
}

/** A rule, a mode, a hook or the tool itself denied the call. */
export function denyCall(tool: string, by: Extract<PermissionDecision, { kind: 'deny' }>): CallVerdict {
  const content = describeDenial(tool, clip(by.why));
  return makeRefusal(content, fatalFacts(by, content));
}

/** Returns the facts of a denial that ends the run (L34), or none. */
function fatalFacts(by: { readonly fatal?: boolean; readonly interrupt?: boolean }, text: string): OutcomeFacts {
  const detail = clip(text);
  if (by.interrupt === true) return { fatal: { reason: 'permission_denied', detail } };
  return by.fatal === true ? { fatal: { reason: 'fatal_tool_error', detail } } : {};
}

/** Someone was asked and said no, or did not answer in time (L55). */
export function denyByPerson(tool: string, { reason: why, interrupt, expired, by }: Denial): CallVerdict {
  const how = expired ? 'needed a decision of a person' : 'was denied by a person';
  const content = `Not run: ${tool} ${how}: ${clip(why)}`;
  const denied = makeRefusal(content, fatalFacts({ interrupt: interrupt === true }, content));
  return by === undefined ? denied : { ...denied, deniedBy: by };
}

/** A hook ends the run before the call runs (L41). */
export function stopByHook(tool: string, why: string): CallVerdict {
  return makeRefusal(`Not run: a hook ended the run before ${tool} was called: ${clip(why)}`, { stop: clip(why) });
}

function makeRefusal(content: string, facts: OutcomeFacts): CallVerdict {
  const outcome = { decision: 'denied', outcome: 'not_run' } as const;
  return { kind: 'verdict', content, isError: true, ...outcome, facts: { error: true, ...facts } };
}

/**
 * An earlier attempt claimed the call and left no outcome (L40). A person may have been asked
 * whether to run it again.
 */
export function reportTakenCall(report: TakenReport, denial?: Denial): CallVerdict {
  const outcome = report.ran ? 'unknown' : 'not_run';
  const facts: OutcomeFacts = {
    error: true,
    ...(denial === undefined ? {} : fatalFacts({ interrupt: denial.interrupt === true }, report.text)),
  };
  return { kind: 'verdict', content: report.text, isError: true, decision: 'allowed', outcome, facts };
}

const CANCELLED: OutcomeFacts = { cancelled: true };

/** The call was stopped before the tool was called (L36, L48), so the tool has not failed. */
function reportNotStarted(cause: AbortCause): CallVerdict {
  const content = `Not run: ${CAUSE_WORDS[cause]} before it started.`;
  return { kind: 'verdict', content, isError: true, decision: 'not_run', outcome: 'not_run', facts: CANCELLED };
}

/** The call was cancelled where an earlier attempt may have begun it and left no trace (L40). */
export function reportMaybeStarted(tool: string): CallVerdict {
  const content =
    `outcome unknown: ${tool} was cancelled, and it is not known whether it had started. It may have taken effect wholly, partly ` +
    'or not at all: check before you repeat it.';
  return { kind: 'verdict', content, isError: true, decision: 'allowed', outcome: 'unknown', facts: CANCELLED };
}

/** The call began early, was given up, and is not to begin again (L37, L48). */
export function reportGivenUp(): CallVerdict {
  const fate = { decision: 'allowed', outcome: 'cancelled' } as const;
  return { kind: 'verdict', content: GIVEN_UP, isError: true, ...fate, facts: CANCELLED };
}

const MOST_SEEN = 50;

/** The tool was called and came to an end. */
export function concludeCall(ran: ToolRunEnd, safe: boolean): CallVerdict {
  const allowed = { kind: 'verdict', decision: 'allowed' } as const;
  if (ran.kind === 'stopped') {
    const doubt = safe ? '' : '; it had started and may have partly run';
    const content = [ran.partial.trimEnd(), `(stopped: ${CAUSE_WORDS[ran.cause]}${doubt})`].filter(
      (part) => part !== '',
    );
    return { ...allowed, content: content.join('\n'), isError: true, outcome: 'cancelled', facts: CANCELLED };
  }
  if (ran.kind === 'failed') {
    const fatal = { fatal: { reason: 'fatal_tool_error', detail: clip(ran.text) } } as const;
    const facts: OutcomeFacts = { error: true, ...(ran.fatal === true ? fatal : {}) };
    return { ...allowed, content: ran.text, isError: true, outcome: 'error', facts };
  }
  const { content, media, isError = false, cancelsSiblings = false, stopRun, seen: seenFiles, found } = ran.output;
  const facts: OutcomeFacts = {
    ...(isError ? { error: true } : {}),
    ...(cancelsSiblings ? { cancelsSiblings: true } : {}),
    ...(typeof stopRun === 'string' ? { stop: clip(stopRun) } : {}),
  };
  const more = present({
    media,
    seen: Array.isArray(seenFiles) ? seenFiles.slice(0, MOST_SEEN) : undefined,
    found: readNames(found),
  });
  return { ...allowed, content, isError, outcome: isError ? 'error' : 'ok', facts, ...more };
}

/** A tool's values need not be what their type says, and these are read with every later view. */
function readNames(found: unknown): readonly string[] | undefined {
  if (!Array.isArray(found)) return undefined;
  return found.filter((name) => typeof name === 'string').slice(0, MOST_SEEN);
}

const CAUSE_WORDS: Readonly<Record<AbortCause, string>> = {
  // A sibling's failure, too, arrives as a cancel of the activity, which does not say why.
  interrupt: 'it was cancelled',
  sibling: 'another call of the same reply failed',
  deploy: 'the worker was shut down',
  timeout: 'its attempt ran out of time',
  superseded: 'its attempt was given up',
};

export function reportStopped(cause: AbortCause): CallVerdict | VoidAttempt {
  return endsCall(cause) ? reportNotStarted(cause) : { kind: 'void', cause };
}

/**
 * An interrupt and a failing sibling end the call; a deploy or a lost attempt ends only this
 * attempt (L50).
 */
export function endsCall(cause: AbortCause): boolean {
  return cause === 'interrupt' || cause === 'sibling';
}
