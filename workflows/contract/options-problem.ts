// Checks a run's options. The client uses it before anything starts, and so does the activity that
// opens a run.
import { didYouMean } from './did-you-mean.ts';
import { RUN_OPTIONS, type RunOptions } from './run-options.ts';
import type { OptionChanges } from './session.ts';

/**
 * Characters of JSON of all options. A handover carries them twice, which stays below the server's
 * limit of 2 MiB also where a character is three bytes.
 */
const LARGEST_TOGETHER = 192 * 1024;

/**
 * Returns a sentence that says what is wrong with the options and what would be right, or
 * undefined. An unknown option is refused: one that is ignored may have been meant as a guard.
 */
export function optionsProblem(options: Partial<RunOptions>): string | undefined {
  const entries = Object.entries(options);
  const names: readonly string[] = Object.keys(RUN_OPTIONS);
  const unknown = entries.find(([name]) => !names.includes(name))?.[0];
  if (unknown !== undefined)
    return `there is no option ${JSON.stringify(unknown.slice(0, 60))}: ${didYouMean(unknown, names)}`;
  for (const [name, { problemOf }] of Object.entries(RUN_OPTIONS)) {
    const value = options[name as keyof RunOptions];
    const problem = value === undefined ? undefined : problemOf(value);
    if (problem !== undefined) return problem;
  }
  return (
    thinkingProblem(options) ??
    sameFallbackProblem(options) ??
    bypassProblem(options) ??
    goalProblem(options) ??
    mountsProblem(options) ??
    rosterProblem(options) ??
    optionsSizeProblem(options)
  );
}

/** Mode `bypass` never asks, so rules that ask would be ignored in silence (L55). */
function bypassProblem({ permissionMode, permissions }: Partial<RunOptions>): string | undefined {
  if (permissionMode !== 'bypass' || !permissions?.ask?.length) return undefined;
  return 'permission mode "bypass" asks about nothing, and there are rules that ask: give the rules again without those, deny instead, or choose another mode';
}

/** What grades a goal, or bounds its rounds, needs one. */
function goalProblem({ goal, goalCommand, goalRounds }: Partial<RunOptions>): string | undefined {
  if (goal !== undefined) return goal.trim() === '' ? 'the goal is empty: say what must be true' : undefined;
  const lone = goalCommand !== undefined ? 'goal command' : goalRounds !== undefined ? 'goal rounds' : undefined;
  return lone && `there is a ${lone} and no goal: say what must be true as the goal`;
}

/** Other tools than those of a toolset would not see the folders. */
function mountsProblem({ mounts, toolset }: Partial<RunOptions>): string | undefined {
  if (mounts === undefined || toolset !== undefined) return undefined;
  return 'only the tools of a toolset see mounts: give the option toolset, too';
}

/** Each agent of a roster is checked as the options of its runs are. */
function rosterProblem({ roster = [] }: Partial<RunOptions>): string | undefined {
  for (const { name, description: _, ...options } of roster) {
    const problem = optionsProblem(options);
    if (problem !== undefined) return `agent ${JSON.stringify(name)} of the roster: ${problem}`;
  }
  return undefined;
}

/** Returns a sentence that says why all options together are too large, or undefined. */
export function optionsSizeProblem(options: Partial<RunOptions>): string | undefined {
  const { length } = JSON.stringify(options);
  if (length <= LARGEST_TOGETHER) return undefined;
  return `the options have ${length} characters of JSON in all: give at most ${LARGEST_TOGETHER}, with fewer rules or shorter texts`;
}

function thinkingProblem({ thinkingTokens, maxOutputTokens }: Partial<RunOptions>): string | undefined {
  return thinkingTokens !== undefined && maxOutputTokens !== undefined && thinkingTokens >= maxOutputTokens
    ? `thinking tokens are ${thinkingTokens} of ${maxOutputTokens} max output tokens, which leaves no room for an answer: give fewer of the first or more of the second`
    : undefined;
}

function sameFallbackProblem({ model, fallbackModels = [] }: Partial<RunOptions>): string | undefined {
  const names = [model, ...fallbackModels];
  const again = names.find((name, at) => at > 0 && name === names[at - 1]);
  return again && `fallback model ${again} comes right after itself: nothing is gained by asking it again`;
}

/**
 * Applies changes that a message makes to its session's options: each gives an option anew, or
 * takes it back with null (L57). A workspace cannot be taken back: its null stays, and is refused
 * where options are checked.
 */
export function withChanges<Options extends Partial<RunOptions>>(options: Options, changes: OptionChanges): Options {
  const changed = Object.entries(changes).filter(([, value]) => value !== undefined);
  const all = Object.entries({ ...options, ...Object.fromEntries(changed) });
  return Object.fromEntries(all.filter(([key, value]) => value !== null || key === 'cwd')) as Options;
}
