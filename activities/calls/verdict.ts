// A verdict is the end of a call before it is measured and stored: the words the model reads and
// the facts the loop acts on. Pure.
import { toUSVString } from 'node:util';
import type { Decision, OutcomeFacts, SeenFile } from '../../workflows/contract/activities.ts';
import type { CallLog, Outcome } from '../../store/log/entries.ts';
import type { TakenReport } from './claim-report.ts';
import { clip } from '../../system/text.ts';
import { describeDenial } from '../../tools/rules/permission.ts';
import type { Ran } from './call-tool.ts';
import type { AbortCause, PermissionDecision } from '../../tools/tool.ts';
import type { Void } from './workbench.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { estimateTokens } from '../../workflows/contract/tokens.ts';
import type { Store } from '../../store/values/store.ts';
import type { RecordedOutcome } from './journal.ts';
import { RESULT_LIMIT, PREVIEW_LIMIT, resultName, previewText } from '../../store/transcript/preview.ts';
import type { StoredMedium } from '../../workflows/contract/people.ts';
import { examineMedia, fitsMessage, TOO_MANY_MEDIA } from '../../store/transcript/media.ts';
import { outcomeCharacters } from '../../store/view/shrunk-results.ts';

export type Verdict = {
  readonly kind: 'verdict';
  readonly content: string;
  /** Of a tool: not looked at yet. */
  readonly media?: readonly Uint8Array[];
  readonly isError: boolean;
  readonly decision: CallLog['decision'];
  readonly outcome: CallLog['outcome'];
  readonly facts: OutcomeFacts;
  /** L43. */
  readonly seen?: readonly SeenFile[];
  /** L55. */
  readonly approved?: CallLog['approved'];
  readonly ran?: CallLog['ran'];
  /** O12. */
  readonly deniedBy?: string;
  /** Nothing ran, for what the input is: with another one the call may run (L55). */
  readonly ofInput?: true;
};

type Denial = Extract<Decision, { kind: 'deny' }>;

/** A name, schema or check refused the call. */
export function refuseCall(text: string, facts: OutcomeFacts = {}): Verdict {
  return { ...refused(text, facts), decision: 'not_run' };
}

/** It could not run, and the run is not to go on without it (L34). */
export function fatalRefusal(text: string): Verdict {
  return refuseCall(text, fatalDenial({ fatal: true }, text));
}

/** A rule, a mode, a hook or the tool itself denied the call. */
export function denyCall(tool: string, by: Extract<PermissionDecision, { kind: 'deny' }>): Verdict {
  const content = describeDenial(tool, clip(by.why));
  return refused(content, fatalDenial(by, content));
}

/** L34: a denial may end the run. */
function fatalDenial(by: { readonly fatal?: boolean; readonly interrupt?: boolean }, text: string): OutcomeFacts {
  const detail = clip(text);
  if (by.interrupt === true) return { fatal: { reason: 'permission_denied', detail } };
  return by.fatal === true ? { fatal: { reason: 'fatal_tool_error', detail } } : {};
}

/** Someone was asked, and said no, or nothing in time (L55). */
export function deniedByPerson(tool: string, { reason: why, interrupt, expired, by }: Denial): Verdict {
  const how = expired ? 'needed a decision of a person' : 'was denied by a person';
  const content = `Not run: ${tool} ${how}: ${clip(why)}`;
  const denied = refused(content, fatalDenial({ interrupt: interrupt === true }, content));
  return by === undefined ? denied : { ...denied, deniedBy: by };
}

/** A hook ends the run before the call runs (L41). */
export function stoppedByHook(tool: string, why: string): Verdict {
  return refused(`Not run: a hook ended the run before ${tool} was called: ${clip(why)}`, { stop: clip(why) });
}

function refused(content: string, facts: OutcomeFacts): Verdict {
  const outcome = { decision: 'denied', outcome: 'not_run' } as const;
  return { kind: 'verdict', content, isError: true, ...outcome, facts: { error: true, ...facts } };
}

/**
 * An earlier attempt claimed the call and left no outcome (L40). A person may have been asked
 * whether to run it again.
 */
export function reportUnknown(report: TakenReport, denial?: Denial): Verdict {
  const outcome = report.ran ? 'unknown' : 'not_run';
  const facts: OutcomeFacts = {
    error: true,
    ...(denial === undefined ? {} : fatalDenial({ interrupt: denial.interrupt === true }, report.text)),
  };
  return { kind: 'verdict', content: report.text, isError: true, decision: 'allowed', outcome, facts };
}

const CANCELLED: OutcomeFacts = { cancelled: true };

/** Stopped before the tool was called (L36, L48). A stop is no failure of the tool. */
function notStarted(cause: AbortCause): Verdict {
  const content = `Not run: ${reason[cause]} before it started.`;
  return { kind: 'verdict', content, isError: true, decision: 'not_run', outcome: 'not_run', facts: CANCELLED };
}

/** As `notStarted`, where an earlier attempt may have begun it and left no trace (L40). */
export function reportMaybeStarted(tool: string): Verdict {
  const content =
    `outcome unknown: ${tool} was cancelled, and it is not known whether it had started. It may have taken effect wholly, partly ` +
    'or not at all: check before you repeat it.';
  return { kind: 'verdict', content, isError: true, decision: 'allowed', outcome: 'unknown', facts: CANCELLED };
}

const MOST_SEEN = 50;

/** The tool was called and came to an end. */
export function concludeCall(ran: Ran, safe: boolean): Verdict {
  const allowed = { kind: 'verdict', decision: 'allowed' } as const;
  if (ran.kind === 'stopped') {
    const doubt = safe ? '' : '; it had started and may have partly run';
    const content = [ran.partial.trimEnd(), `(stopped: ${reason[ran.cause]}${doubt})`].filter((part) => part !== '');
    return { ...allowed, content: content.join('\n'), isError: true, outcome: 'cancelled', facts: CANCELLED };
  }
  if (ran.kind === 'failed') {
    const fatal = { fatal: { reason: 'fatal_tool_error', detail: clip(ran.text) } } as const;
    const facts: OutcomeFacts = { error: true, ...(ran.fatal === true ? fatal : {}) };
    return { ...allowed, content: ran.text, isError: true, outcome: 'error', facts };
  }
  const { content, media, isError = false, cancelsSiblings = false, stopRun, seen } = ran.output;
  const facts: OutcomeFacts = {
    ...(isError ? { error: true } : {}),
    ...(cancelsSiblings ? { cancelsSiblings: true } : {}),
    ...(typeof stopRun === 'string' ? { stop: clip(stopRun) } : {}),
  };
  const files = seen === undefined ? {} : { seen: seen.slice(0, MOST_SEEN) };
  const shown = media === undefined ? {} : { media };
  return { ...allowed, content, ...shown, isError, outcome: isError ? 'error' : 'ok', facts, ...files };
}

const reason: Readonly<Record<AbortCause, string>> = {
  // Also a sibling's failure arrives as a cancel of the activity, which does not say why.
  interrupt: 'it was cancelled',
  sibling: 'another call of the same reply failed',
  deploy: 'the worker was shut down',
  timeout: 'its attempt ran out of time',
  superseded: 'its attempt was given up',
};

export function reportStopped(cause: AbortCause): Verdict | Void {
  return endsCall(cause) ? notStarted(cause) : { kind: 'void', cause };
}

/**
 * An interrupt and a failing sibling end the call; a deploy or a lost attempt ends only this
 * attempt (L50).
 */
export function endsCall(cause: AbortCause): boolean {
  return cause === 'interrupt' || cause === 'sibling';
}

// The last step of L33 before recording: what a call came to, as the model will read it, bounded
// and well-formed (L6).

/**
 * Tokens: below, an outcome is left out of the estimate of what is newer than the last usage (L10).
 */
const WORTH_SAYING = 100;

type CallIdentity = {
  readonly index: number;
  readonly toolUseId: string;
  readonly name: string;
  readonly key: CallKey | null;
};

/** `duration` in milliseconds. Throws StoreError. */
export async function formatOutcome(
  store: Store,
  call: CallIdentity,
  verdict: Verdict,
  duration: number,
): Promise<RecordedOutcome> {
  const { notes, media } = await keepMedia(store, verdict);
  const said = [verdict.content, ...notes].filter((part) => part.trim() !== '').join('\n');
  const text = said === '' ? '(no output)' : toUSVString(said);
  const { approved, ran, deniedBy } = verdict;
  const outcome: Outcome = {
    index: call.index,
    toolUseId: call.toolUseId,
    isError: verdict.isError,
    ...(await bounded(store, text)),
    ...(media.length === 0 ? {} : { media }),
    ...(verdict.seen === undefined ? {} : { seen: verdict.seen }),
    log: {
      key: call.key,
      name: call.name,
      decision: verdict.decision,
      ...(approved === undefined ? {} : { approved }),
      ...(ran === undefined ? {} : { ran }),
      ...(deniedBy === undefined ? {} : { deniedBy }),
      duration: Math.round(duration),
      outcome: verdict.outcome,
    },
  };
  const tokens = estimateTokens(outcomeCharacters(outcome));
  return { outcome, facts: tokens < WORTH_SAYING ? verdict.facts : { ...verdict.facts, tokens } };
}

async function bounded(store: Store, text: string): Promise<Pick<Outcome, 'content' | 'whole'>> {
  if (text.length <= RESULT_LIMIT) return { content: text };
  const bytes = Buffer.from(text);
  const hash = await store.put(bytes);
  return { content: previewText(text, PREVIEW_LIMIT, resultName(hash)), whole: { hash, bytes: bytes.length } };
}

const NO_BYTES = Buffer.alloc(0);
const NO_MEDIUM = {
  kind: 'refused',
  problem: 'is neither an image that the model takes (png, jpeg, gif, webp) nor a PDF',
} as const;

type KeptMedia = { readonly notes: readonly string[]; readonly media: readonly StoredMedium[] };

/**
 * L85. A line on each, and those that the API takes: with an error it takes none. What comes from a
 * tool need not be what its type says.
 */
async function keepMedia(store: Store, { media: given, isError }: Verdict): Promise<KeptMedia> {
  if (!Array.isArray(given)) return { notes: [], media: [] };
  const notes: string[] = [];
  const media: StoredMedium[] = [];
  for (const each of given as readonly unknown[]) {
    const bytes = each instanceof Uint8Array ? Buffer.from(each.buffer, each.byteOffset, each.byteLength) : NO_BYTES;
    const found = examineMedia(bytes) ?? NO_MEDIUM;
    if (found.kind === 'refused') {
      notes.push(`[something that is not shown: it ${found.problem}]`);
      continue;
    }
    const { mediaType, characters, note } = found;
    const medium = { bytes: bytes.length, mediaType, characters };
    if (isError) notes.push(`${note} (not shown: the call failed)`);
    else if (!fitsMessage([...media, medium])) notes.push(`${note} (not shown: ${TOO_MANY_MEDIA})`);
    else {
      media.push({ hash: await store.put(bytes), ...medium });
      notes.push(note);
    }
  }
  return { notes, media };
}
