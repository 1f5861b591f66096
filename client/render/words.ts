// Words the loop for people: transitions, reasons, notices, why a conversation's beginning is sent
// anew, and searches of the web that the API made by itself (L88).
import type { Notice, PreambleChanged } from '../../workflows/contract/activities.ts';
import type { Grade } from '../../workflows/contract/goals.ts';
import type { HostChanged } from '../../workflows/contract/hosts.ts';
import type { BudgetEntry } from '../../workflows/contract/waits.ts';
import type { RunLimit, TerminalReason, TransitionReason } from '../../workflows/contract/loop.ts';
import { oneLine } from '../paint.ts';
import { formatCount, formatMoment, formatMoney, formatTokens } from '../units.ts';
import type { EpochEntry } from '../../store/log/entries.ts';
import type { ContentBlock } from '@anthropic-ai/sdk/resources/messages';
import { searchQueryOf, queryText, resultsOf, resultsText } from '../../store/transcript/server-tools.ts';

const transitions: Readonly<Record<TransitionReason, string>> = {
  next_turn: 'next turn',
  collapse_drain_retry: 'prompt too long: older parts are shortened',
  reactive_compact_retry: 'prompt too long: compacted',
  max_output_tokens_escalate: 'the reply was cut: asked again with a higher limit',
  max_output_tokens_recovery: 'the reply was cut: asked to continue',
  stop_hook_blocking: 'a stop hook sent the model back to work',
  goal_revision: 'the goal was not met: the model went back to work',
  token_budget_continuation: 'continues: there is budget left',
  model_fallback: 'continues with another model',
  structured_output_retry: 'the answer does not fit its schema: asked again',
  call_as_text_retry: 'a tool call was written as text: asked again',
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
  goal_not_met: 'goal not met',
  budget_exceeded: 'budget spent',
  timeout: 'time limit reached',
  permission_denied: 'permission denied',
  fatal_tool_error: 'fatal tool error',
  structured_output_failed: 'no answer that fits the schema',
};

/** A foreign workflow may say anything, so an unknown reason is shown as it is, made harmless. */
export function reasonText(reason: TerminalReason): string {
  return Object.hasOwn(endings, reason) ? endings[reason] : oneLine(reason, 60);
}

/** Says where a run waited at the session's budget, and with which one it went on (G69). */
export function budgetText({ state, limitUsd }: BudgetEntry): string {
  if (state === 'reached')
    return `budget of the session reached, ${formatMoney(limitUsd ?? 0)}: waits until it is raised`;
  return limitUsd === null ? 'goes on without a budget' : `goes on with a budget of ${formatMoney(limitUsd)}`;
}

const nearLimits: Readonly<Record<RunLimit, string>> = {
  cost: 'the budget is almost spent',
  tokens: 'the tokens are almost used up',
  time: 'the time is almost over',
  turns: 'no turns are left',
};

const spentBefore = { cost: 'its budget spent', tokens: 'its tokens used up' };

/** The note for the model that a text comes from the workspace; people aren't shown it. */
const FOR_MODEL = /^\(This comes from the workspace[^)]*\)\s*/;

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
      return `turn limit reached: ${formatCount(notice.limit, 'turn')}`;
    case 'error':
      return oneLine(notice.text, 2_000);
    case 'model_switched':
      return modelSwitched(notice);
    case 'stop_hook':
      return `a stop hook sends it back: ${oneLine(notice.text, 500)}`;
    case 'grading':
      return `grading the goal, round ${notice.round}`;
    case 'graded':
      return `${grades[notice.grade]}: ${oneLine(notice.text, 500)}`;
    case 'token_budget':
      return `${formatTokens(notice.spent)} spent of ${notice.budget.toLocaleString('en')} to spend: asked to continue`;
    case 'structured_output':
      return `its answer does not fit the schema: ${oneLine(notice.problem, 500)}`;
    case 'call_as_text':
      return textCallText(notice);
    case 'same_results':
      return `${notice.times} replies in a row repeated the same calls and got the same results (${listNames(notice.calls, 5)})${notice.forPeople ? ': it may be stuck' : ': the model is told'}`;
    case 'hook_context':
      return `hook ${oneLine(notice.hook, 60)} adds: ${oneLine(notice.text, 300)}`;
    case 'files_changed':
      return `changed by someone else: ${listNames(notice.paths, 5)}`;
    case 'attachment':
      return `${oneLine(notice.source, 60)}: ${oneLine(notice.text.replace(FOR_MODEL, ''), 300)}`;
    case 'batch_summary':
      return oneLine(notice.text, 300);
    case 'about_model':
    case 'about_skills':
    case 'about_tools':
      return oneLine(notice.text, 500);
    case 'server_away':
      return `the MCP server ${oneLine(notice.server, 60)} is away, and the run goes on without it: ${oneLine(notice.detail, 500)}`;
    case 'compaction_failed': {
      const now = notice.spent ? '; it is not tried again in this run' : '';
      return `compacting failed${now}: ${oneLine(notice.detail, 500)}`;
    }
    case 'repaired':
      return `the transcript was repaired: ${oneLine(notice.lost, 1_000)}`;
    case 'hook_failed':
      return `hook ${oneLine(notice.hook, 60)} failed and changes nothing: ${oneLine(notice.detail, 300)}`;
    case 'workers_silent':
      return `${notice.items} items of work in a row ended without a heartbeat: what your dispatcher starts for an item may fail, or return at once`;
    case 'system_message':
      return `system message: ${oneLine(notice.text, 300)}`;
    case 'preamble_changed':
      return preambleChanged(notice);
    case 'forked':
      return formatFork(notice);
    case 'host_changed':
      return hostChangedText(notice);
  }
}

const grades: Readonly<Record<Grade, string>> = {
  met: 'goal met',
  not_met: 'goal not met',
  rounds_spent: 'goal not met in the last round',
  not_applicable: 'the goal does not apply',
};

const leftHosts = { away: 'is away', emptied: 'has lost its files', moved: 'was left' };

/** Formats: continues on host b with its files as of 2026-11-30 10:02:11 UTC, since a is away */
function hostChangedText({ from, to, because, at, calls }: HostChanged): string {
  const files = `with its files as of ${formatMoment(at)}`;
  const loss = calls.length === 0 ? '' : `; lost: what these calls changed since: ${listNames(calls, 5)}`;
  return `continues on host ${oneLine(to, 60)} ${files}, since ${oneLine(from, 60)} ${leftHosts[because]}${loss}`;
}

/** Formats: forked from s-4k2 at entry 12, files in /work/fork, by ana */
function formatFork({ session, position, moved, by }: Extract<Notice, { readonly kind: 'forked' }>): string {
  const files = moved ? `, files in ${oneLine(moved.to, 300)}` : '';
  return `forked from ${session} at entry ${position}${files}${by === undefined ? '' : `, by ${oneLine(by, 100)}`}`;
}

/** Formats: the model is told what has changed: the date (…); tools gone: a, b */
function preambleChanged({ parts, ended: obsolete, toolsGone, toolsBack, toolsNew = [] }: PreambleChanged): string {
  const newNames = toolsNew.map(({ name }) => String(name));
  const changes = [
    ...parts.map(({ name, text }) => `${oneLine(name, 60)} (${oneLine(text, 100)})`),
    ...obsolete.map((name) => `${oneLine(name, 60)} no longer holds`),
    ...(toolsGone.length === 0 ? [] : [`tools gone: ${listNames(toolsGone, 10)}`]),
    ...(toolsBack.length === 0 ? [] : [`tools back: ${listNames(toolsBack, 10)}`]),
    ...(toolsNew.length === 0 ? [] : [`new tools: ${listNames(newNames, 10)}`]),
  ];
  return `the model is told what has changed: ${changes.join('; ')}`;
}

function textCallText({ name, again }: Extract<Notice, { readonly kind: 'call_as_text' }>): string {
  const what = `the reply has a call of ${oneLine(name, 80)} written as text, so nothing ran`;
  return `${what}${again ? ', although the model was asked to make it' : ': the model is told'}`;
}

function modelSwitched({ from, to, calls, detail }: Extract<Notice, { readonly kind: 'model_switched' }>): string {
  const left = calls.length === 0 ? '' : `; what it had started does not count: ${listNames(calls, 10)}`;
  return `continues with ${oneLine(to, 80)} instead of ${oneLine(from, 80)} (${oneLine(detail, 300)})${left}`;
}

/** Formats: a, b, c and 2 more */
function listNames(names: readonly string[], most: number): string {
  const visible = names.slice(0, most).map((name) => oneLine(name, 100));
  const hidden = names.length - visible.length;
  return hidden > 0 ? `${visible.join(', ')} and ${hidden} more` : visible.join(', ');
}

/**
 * Says why the system prompt and the tools are sent anew; null when they are sent for the first
 * time.
 */
export function epochText({ why }: Pick<EpochEntry, 'why'>): string | null {
  switch (why) {
    case 'first':
      return null;
    case 'compacted':
      return 'after the compaction the system prompt and the tools are sent as they are now';
    case 'tools':
      return 'a tool came, takes other inputs, or cannot stay: the tools are sent anew, and thinking from before is not sent on';
    case 'server':
      return 'the server no longer takes how changes were told: they are told otherwise, and thinking from before is not sent on';
    case 'summary_refused':
      return 'the API does not take its own summary, as after a change of account or platform: it is sent in words, and thinking from before is not sent on';
    case 'older':
      return 'a newer version goes on: thinking from before is not sent on';
    case 'refused':
      return 'the API found earlier thinking bound to something else: it is not sent on (a defect of Perdure: please report it)';
  }
}

const LONGEST = 400;
const LONGEST_FOUND = 2_000;

export function searchLine(query: string): string {
  return oneLine(queryText(query), LONGEST);
}

/** Returns null for a block of another kind. */
export function searchBlockLine(block: ContentBlock): string | null {
  const query = searchQueryOf(block);
  if (query !== null) return searchLine(query);
  const found = resultsOf(block);
  return found === null ? null : oneLine(resultsText(found), LONGEST_FOUND);
}
