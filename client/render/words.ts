// Words the loop for people: transitions, notices, endings.
import type { Notice, PreambleChanged, RunEnded } from '../../workflows/contract/activities.ts';
import type { RunLimit, TerminalReason, TransitionReason } from '../../workflows/contract/loop.ts';
import { type RunOutcome, terminalDetail } from '../sessions/outcome.ts';
import { oneLine } from '../paint.ts';
import { count, formatMoney, shortTime, formatTokens } from '../units.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { LiveEvent } from '../../store/live/events.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';

const transitions: Readonly<Record<TransitionReason, string>> = {
  next_turn: 'next turn',
  collapse_drain_retry: 'prompt too long: older parts are shortened',
  reactive_compact_retry: 'prompt too long: compacted',
  max_output_tokens_escalate: 'the reply was cut: asked again with a higher limit',
  max_output_tokens_recovery: 'the reply was cut: asked to continue',
  stop_hook_blocking: 'a stop hook sent the model back to work',
  token_budget_continuation: 'continues: there is budget left',
  model_fallback: 'continues with another model',
  structured_output_retry: 'the answer does not fit its schema: asked again',
};

/** A turn after another needs no line: what follows shows it. */
export function isOrdinary(reason: TransitionReason): boolean {
  return reason === 'next_turn';
}

export function transitionText(reason: TransitionReason): string {
  return transitions[reason];
}

const endings: Readonly<Record<TerminalReason, string>> = {
  completed: 'completed',
  max_turns: 'turn limit reached',
  aborted_streaming: 'ended early',
  aborted_tools: 'ended during tool calls',
  prompt_too_long: 'prompt too long',
  image_error: 'image or document not accepted',
  max_output_tokens: 'reply too long',
  model_error: 'model error',
  blocking_limit: 'no room left in the context window',
  stop_hook_prevented: 'ended by a stop hook',
  hook_stopped: 'ended by a hook or tool',
  budget_exceeded: 'budget spent',
  timeout: 'time limit reached',
  permission_denied: 'permission denied',
  fatal_tool_error: 'fatal tool error',
  structured_output_failed: 'no answer that fits the schema',
};

/**
 * A foreign workflow may say anything: a reason that is not ours is shown as it is, made harmless.
 */
export function reasonText(reason: TerminalReason): string {
  return Object.hasOwn(endings, reason) ? endings[reason] : oneLine(reason, 60);
}

const nearLimits: Readonly<Record<RunLimit, string>> = {
  cost: 'the budget is almost spent',
  tokens: 'the tokens are almost used up',
  time: 'the time is almost over',
  turns: 'no turns are left',
};

const spentBefore = { cost: 'its budget spent', tokens: 'its tokens used up' };

export function noticeText(notice: Notice): string {
  switch (notice.kind) {
    case 'interrupted':
      return 'interrupted';
    case 'continue':
      return 'asked to continue where it stopped';
    case 'call_cut':
      return 'its last tool call was cut and did not run';
    case 'wrap_up':
      return `about to end, ${nearLimits[notice.limit]}: asked to sum up`;
    case 'budget_spent':
      return `the model is told that the run before ended, ${spentBefore[notice.limit]}`;
    case 'max_turns_reached':
      return `the limit of ${count(notice.limit, 'turn')} is reached`;
    case 'error':
      return oneLine(notice.text, 2_000);
    case 'model_switched':
      return modelSwitched(notice);
    case 'stop_hook':
      return `a stop hook sends it back: ${oneLine(notice.text, 500)}`;
    case 'token_budget':
      return `${formatTokens(notice.spent)} spent of ${notice.budget.toLocaleString('en')} to spend: asked to continue`;
    case 'structured_output':
      return `its answer does not fit the schema: ${oneLine(notice.problem, 500)}`;
    case 'hook_context':
      return `hook ${oneLine(notice.hook, 60)} adds: ${oneLine(notice.text, 300)}`;
    case 'files_changed':
      return `changed by someone else: ${listed(notice.paths, 5)}`;
    case 'attachment':
      return `${oneLine(notice.source, 60)}: ${oneLine(notice.text, 300)}`;
    case 'batch_summary':
      return oneLine(notice.text, 300);
    case 'about_model':
    case 'about_skills':
      return oneLine(notice.text, 500);
    case 'compaction_failed': {
      const now = notice.spent ? '; it is not tried again in this run' : '';
      return `compacting failed${now}: ${oneLine(notice.detail, 500)}`;
    }
    case 'repaired':
      return `the transcript was repaired: ${oneLine(notice.lost, 1_000)}`;
    case 'hook_failed':
      return `hook ${oneLine(notice.hook, 60)} failed and changes nothing: ${oneLine(notice.detail, 300)}`;
    case 'preamble_changed':
      return preambleChanged(notice);
  }
}

/** The model is told: the date (…); tools gone: a, b */
function preambleChanged({ parts, ended, toolsGone, toolsBack, toolsNew = [] }: PreambleChanged): string {
  const newNames = toolsNew.map(({ name }) => String(name));
  const told = [
    ...parts.map(({ name, text }) => `${oneLine(name, 60)} (${oneLine(text, 100)})`),
    ...ended.map((name) => `${oneLine(name, 60)} no longer holds`),
    ...(toolsGone.length === 0 ? [] : [`tools gone: ${listed(toolsGone, 10)}`]),
    ...(toolsBack.length === 0 ? [] : [`tools back: ${listed(toolsBack, 10)}`]),
    ...(toolsNew.length === 0 ? [] : [`new tools: ${listed(newNames, 10)}`]),
  ];
  return `the model is told what has changed: ${told.join('; ')}`;
}

function modelSwitched({ from, to, calls, detail }: Extract<Notice, { readonly kind: 'model_switched' }>): string {
  const left = calls.length === 0 ? '' : `; what it had started does not count: ${listed(calls, 10)}`;
  return `continues with ${oneLine(to, 80)} instead of ${oneLine(from, 80)} (${oneLine(detail, 300)})${left}`;
}

/** a, b, c and 2 more */
function listed(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).map((name) => oneLine(name, 100));
  const hidden = names.length - shown.length;
  return hidden > 0 ? `${shown.join(', ')} and ${hidden} more` : shown.join(', ');
}

type Ending = Pick<RunOutcome, 'reason' | 'turns' | 'costUsd' | 'durationMs'> & {
  readonly detail?: string | undefined;
};

/** completed · 3 turns · $0.02 · 4.2 s */
export function outcomeText({ reason, detail, turns, costUsd, durationMs }: Ending): string {
  const ending = reasonText(reason);
  const why = detail === undefined ? ending : `${ending}: ${oneLine(detail, 500)}`;
  return [why, count(turns, 'turn'), formatMoney(costUsd), shortTime(durationMs)].join(' · ');
}

// How a run ended, as the last line of it. The sentence that its reason carries is not said again
// right after the error that said it.

/** `position`: of the entry that `ended` is of. */
export function endingText(entries: readonly Entry[], position: number, ended: RunEnded): string {
  const { terminal, turns, spend, durationMs } = ended;
  const detail = unlessSaid(terminalDetail(terminal), errorBefore(entries, position));
  return outcomeText({ reason: terminal.reason, detail, turns, costUsd: spend.usd, durationMs });
}

/** `error`: what the error notice said that was shown just before, if there was one. */
export function unlessSaid(detail: string | undefined, error: string | null): string | undefined {
  return detail === error ? undefined : detail;
}

/** Returns the words of an error notice; null for others. */
export function errorOf(notice: Notice): string | null {
  return notice.kind === 'error' ? notice.text : null;
}

function errorBefore(entries: readonly Entry[], position: number): string | null {
  const before = entries[position - 1];
  return before?.kind === 'notice' ? errorOf(before.notice) : null;
}

// Tells people how a session was kept within the model's window: nothing is lost, the model only
// sees less.

/** Entries that change what the model sees of others. */
export type ContextEntry = Extract<
  Entry,
  { readonly kind: 'boundary' | 'microcompact' | 'collapse_staged' | 'collapse_committed' | 'snip' }
>;

/** Prints all of it. */
export function fullCommand(session: SessionId): string {
  return `perdure show ${session} --full`;
}

/** `full`: the command that prints what the model no longer sees. */
export function contextText(entry: ContextEntry, full: string): string {
  switch (entry.kind) {
    case 'boundary': {
      const prompts = entry.prompts.length > 0 ? ` and ${count(entry.prompts.length, 'prompt')} before` : '';
      const kept = `the model sees a summary, all from entry ${entry.from} on${prompts}`;
      return `${compactedBy(entry)}, ${change(entry)}: ${kept}; the full text: ${full}`;
    }
    case 'microcompact':
      return `tool results before entry ${entry.before} are shown to the model as a marker, ${formatTokens(entry.freed)} freed`;
    case 'collapse_staged':
      return `a short form of entries ${entry.from} to ${entry.to - 1} is ready`;
    case 'collapse_committed':
      return `${count(entry.count, 'old stretch', 'old stretches')} now shown to the model in short form; the full text: ${full}`;
    case 'snip':
      return `the model no longer sees ${entriesAt(entry.entries)}`;
  }
}

type ContextEvent = Extract<
  LiveEvent,
  { readonly type: 'compaction_start' | 'compaction_end' | 'collapse_staged' | 'hook_start' | 'hook_end' }
>;

export function compactionText(
  event: Extract<ContextEvent, { readonly type: 'compaction_end' }>,
  full: string,
): string {
  const kept = `a summary of ${count(event.summary.length, 'character')} stands for the rest`;
  return `${compactedBy(event)}, ${change(event)}: ${count(event.kept, 'entry', 'entries')} kept word for word, ${kept}; the full text: ${full}`;
}

/**
 * Whose summary it is decides whether a model that checks what stood before its thinking is sent on
 * what it has thought.
 */
function compactedBy({
  signed,
  keepsThinking,
}: {
  readonly signed?: unknown;
  readonly keepsThinking?: boolean;
}): string {
  if (!signed) return 'compacted';
  return keepsThinking ? 'compacted by the API, thinking since is kept' : 'compacted by the API';
}

export function describeStaged({
  savings,
}: Pick<Extract<ContextEvent, { readonly type: 'collapse_staged' }>, 'savings'>): string {
  const saved = savings.reduce((sum, saving) => sum + saving, 0);
  return `short forms of ${count(savings.length, 'old stretch', 'old stretches')} are ready, ${formatTokens(saved)} to be saved`;
}

function change({ before, after }: { readonly before: number; readonly after: number }): string {
  return `about ${before.toLocaleString('en')} → ${formatTokens(after)}`;
}

function entriesAt(positions: readonly number[]): string {
  const shown = positions.slice(0, 20).join(', ');
  const hidden = positions.length - 20;
  return `${positions.length === 1 ? 'entry' : 'entries'} ${shown}${hidden > 0 ? ` and ${hidden} more` : ''}`;
}
