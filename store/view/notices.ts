// The loop's own sentences to the model. They are fixed: the prompt cache depends on them.
import type { Notice, PreambleChanged } from '../../workflows/contract/activities.ts';
import type { ForkNotice } from '../../workflows/contract/fork.ts';
import type { GradedNotice } from '../../workflows/contract/goals.ts';
import type { HostChanged } from '../../workflows/contract/hosts.ts';
import type { RunLimit } from '../../workflows/contract/loop.ts';
import { entryName, type EntryRange } from '../log/entries.ts';

export const CONTINUE =
  'Your reply was cut off because it reached the output limit. Continue exactly where it stopped: no apology, no recap.';

export const CALL_CUT =
  'Your last tool call was cut off because the reply reached the output limit, so it did not run. Make it again, ' +
  'and break long inputs into several smaller calls.';

export const INTERRUPTED = 'The run was interrupted here.';

/** Stands where a user message has to be and nothing is left to say. */
export const GO_ON = 'Continue.';

/** The result of a call of which nothing is known. */
export const NO_OUTCOME = 'No outcome was recorded for this call.';

/** The result of a call that returned nothing: the API refuses an empty error. */
export const NO_OUTPUT = '(no output)';

/** Returns the words in the place of an older result (L8). `name` is what the read tool opens. */
export function shrunkResult(characters: number, name: string): string {
  return `[An older result, about ${characters} characters, is no longer shown here. It was kept: the read tool opens it at path "${name}".]`;
}

/** Stands where images and documents are no longer shown (L24, L25). */
export const BARE =
  '(The images and documents named here are no longer shown: a request with them was refused. A smaller one, or a part of one, may do.)';

/** Returns the text that stands for a stretch of the conversation (L9). */
export function shortForm(range: EntryRange, text: string): string {
  return `[A part of this conversation in short. The read tool opens all of it at path "${entryName(range)}".]\n${text}`;
}

/** Returns the text that stands for everything before position `before` (L10). */
export function summaryText(before: number, text: string): string {
  const whole = before > 0 ? ` The read tool opens all of it at path "${entryName({ from: 0, to: before })}".` : '';
  return `[This conversation began earlier. What follows is a summary of that part.${whole}]\n${text}\n[End of the summary.]`;
}

/**
 * Returns the words after the kept part of the conversation, where its summary is the API's own.
 */
export function summaryFollowUp(before: number): string {
  return `[The part of this conversation before position ${before} is a summary now. The read tool opens all of it at path "${entryName({ from: 0, to: before })}". What holds of it word for word follows: what was asked for in this run.]`;
}

const askToSumUp = (why: string): string =>
  `This run ends now, because ${why}. Do not call tools. Say briefly what is done, what is not, and how to go on, for whoever takes it up.`;

const WRAP_UP: Readonly<Record<RunLimit, string>> = {
  cost: askToSumUp('its budget is almost spent'),
  tokens: askToSumUp('its tokens are almost used up'),
  time: askToSumUp('its time is almost over'),
  turns: askToSumUp('it has no turns left'),
};

const sayCutShort = (what: string): string =>
  `The run before this one was ended because ${what}, and what it was about may be unfinished: look at how things stand before you rely on them. This run has limits of its own.`;

const BUDGET_SPENT: Readonly<Record<'cost' | 'tokens', string>> = {
  cost: sayCutShort('its budget was spent'),
  tokens: sayCutShort('its tokens were used up'),
};

/** Returns the text that the model gets for a notice; null for notices that are for people. */
export function noticeForModel(notice: Notice): string | null {
  switch (notice.kind) {
    case 'continue':
      return CONTINUE;
    case 'call_cut':
      return CALL_CUT;
    case 'interrupted':
      return INTERRUPTED;
    case 'model_switched':
      return describeModelSwitch(notice.calls);
    case 'stop_hook':
      return `A check that runs before you may stop is not satisfied:\n${notice.text}`;
    case 'graded':
      return describeGrade(notice);
    case 'token_budget':
      return `You have used ${notice.spent} of the ${notice.budget} output tokens set for this task, so there is room for more work. Go on with the task; if it is truly complete, check it once more and improve what can be improved.`;
    case 'structured_output':
      return `Your final answer does not satisfy the required JSON schema: ${notice.problem}\nAnswer again with the corrected JSON alone.`;
    case 'call_as_text':
      return notice.again ? null : describeTextCall(notice.name);
    case 'same_results':
      return notice.forPeople ? null : describeSameResults(notice.times);
    case 'hook_context':
      return `Added by the hook ${notice.hook}:\n${notice.text}`;
    case 'files_changed':
      return `These files were changed by someone else since you last read or wrote them; read them again before you rely on them:\n${notice.paths.join('\n')}`;
    case 'attachment':
      return `From ${notice.source}:\n${notice.text}`;
    case 'repaired':
      return `The record of this conversation was damaged, and it goes on from the last part that is whole: ${notice.lost}. What you did in the lost part may have taken effect: look before you do it again.`;
    case 'preamble_changed':
      return describePreambleChange(notice);
    case 'system_message':
      return notice.text;
    case 'wrap_up':
      return WRAP_UP[notice.limit];
    case 'budget_spent':
      return BUDGET_SPENT[notice.limit];
    case 'forked':
      return describeFork(notice);
    case 'host_changed':
      return describeHostChange(notice);
    case 'grading':
    case 'max_turns_reached':
    case 'error':
    case 'batch_summary':
    case 'about_model':
    case 'about_skills':
    case 'about_tools':
    case 'server_away':
    case 'compaction_failed':
    case 'hook_failed':
    case 'workers_silent':
      return null;
  }
}

/** Says with a prompt what its run is graded by. */
export const goalText = (rubric: string): string =>
  `[When you stop, your work is graded apart from you, and what is missing comes back to you. It has to satisfy this:]\n${rubric}`;

/** Returns null for a grade that ends the run. */
function describeGrade({ grade, text }: GradedNotice): string | null {
  const missed = `Your work was graded, and it is not done:\n${text}\n`;
  if (grade === 'not_met') return `${missed}Revise it, then stop: it is graded again.`;
  if (grade === 'rounds_spent')
    return `${missed}It is not graded again. Correct what you can, then say what is done and what is missing.`;
  return null;
}

const describeTextCall = (name: string): string =>
  `Your reply contains a call of the tool ${name} written as text, so nothing ran. If you meant to call it, do so now with a tool call; if you only quoted it, finish your answer.`;

const describeSameResults = (times: number): string =>
  `Your last ${times} replies made only calls that you had just made, and got the same results again. Repeating them brings nothing new: try something else, wait for what you expect if it takes time, or say what is in the way.`;

/** Leaves out the tools where they are changed by other means. */
export function describePreambleChange(
  { parts, ended: removedParts, toolsGone, toolsBack, toolsNew = [] }: PreambleChanged,
  withTools = true,
): string {
  const names = toolsNew.map(({ name }) => String(name));
  const ofTools = [
    ...(toolsGone.length === 0 ? [] : [`Not available any more, a call is refused: ${toolsGone.join(', ')}.`]),
    ...(toolsBack.length === 0 ? [] : [`Available again: ${toolsBack.join(', ')}.`]),
    ...(names.length === 0 ? [] : [`New, or with other inputs: ${names.join(', ')}.`]),
  ];
  const lines = [
    ...(parts.length === 0 ? [] : ['This has changed since this conversation began, and holds from now on:']),
    ...parts.map(({ text }) => text),
    ...(removedParts.length === 0 ? [] : [`No longer holds: ${removedParts.join('; ')}.`]),
    ...(withTools ? ofTools : []),
  ];
  return lines.join('\n');
}

/** Says what a fork does not have; null where it lacks nothing. */
function describeFork({ moved, background }: ForkNotice): string | null {
  const parts = [
    ...(moved
      ? [`Your files are in ${moved.to} now, and no longer in ${moved.from}: work there, and read files again.`]
      : []),
    ...(background
      ? ['Commands and agents that were at work in the background belong to the other session: you cannot reach them.']
      : []),
  ];
  return parts.length === 0 ? null : `This conversation was copied here into a session of its own. ${parts.join(' ')}`;
}

const LEFT_BECAUSE: Readonly<Record<HostChanged['because'], string>> = {
  away: 'could not be reached any more',
  emptied: 'has lost your files',
  moved: 'was left on purpose',
};

function describeHostChange({ because, at, calls }: HostChanged): string {
  const lostCalls =
    calls.length === 0
      ? ''
      : ` What these calls have changed in files since then is lost, although you have read their results: ${calls.join(', ')}.`;
  return (
    `You continue on another machine, because the one before ${LEFT_BECAUSE[because]}. The files of your working ` +
    `directory were restored as of ${new Date(at).toISOString()}.${lostCalls} What git ignores, and its own folder .git, ` +
    'may be missing; what you had started in the background has ended. Read files again before you rely on them.'
  );
}

function describeModelSwitch(calls: readonly string[]): string {
  const switched = 'Another model could not finish this reply, and you go on in its place.';
  if (calls.length === 0) return switched;
  return `${switched} It had started calls that may have run, and whose results are not known: ${calls.join(', ')}. Make those again that you need.`;
}
