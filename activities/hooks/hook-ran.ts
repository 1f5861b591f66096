// What came of hooks that ran, read together: who failed, what is told to the model, whether the run is to end.
import type { Hook, HookPayload } from './hook-config.ts';
import { clip } from '../text.ts';
import { CONTEXT_LIMIT, WORKFLOW_LIMIT } from './hook-text.ts';
import type { HookContext, HookFailure, HookName, HookText } from './hooks.ts';
import type { HookEnd } from './run-hook.ts';

/** How one hook of a kind ended. */
export type HookRan<Name extends HookName> = { readonly hook: string; readonly end: HookEnd<Name> };

export type RunOne = <Name extends HookName>(
  name: Name,
  hook: Hook<Name>,
  context: HookContext,
  payload: HookPayload<Name>,
) => Promise<HookRan<Name>>;

type Answer<Name extends HookName> = Extract<HookEnd<Name>, { readonly kind: 'answer' }>['answer'];

export function failures(ran: readonly HookRan<HookName>[]): HookFailure[] {
  return ran.flatMap(({ hook, end }) => (end.kind === 'failed' ? [{ hook, detail: end.detail }] : []));
}

/** Of each hook that said something, what it said, bounded. */
export function texts<Name extends HookName>(
  ran: readonly HookRan<Name>[],
  pick: (answer: Answer<Name>) => string | undefined,
): HookText[] {
  return ran.flatMap(({ hook, end }) => {
    const text = end.kind === 'answer' ? pick(end.answer) : undefined;
    return text === undefined || text.trim() === '' ? [] : [{ hook, text: clip(text, CONTEXT_LIMIT) }];
  });
}

export function contexts(ran: readonly HookRan<'sessionStart' | 'promptSubmitted' | 'postTool'>[]): HookText[] {
  return texts(ran, ({ context }) => context);
}

/** Why the run is to end, in the words of the first hook that wants it (L41). */
export function firstStop(ran: readonly HookRan<'promptSubmitted' | 'preTool' | 'postTool'>[]): string | null {
  for (const { hook, end } of ran) {
    if (end.kind === 'refused') return reasonOf(hook, end.text);
    if (end.kind === 'answer' && 'stop' in end.answer && end.answer.stop !== undefined)
      return reasonOf(hook, end.answer.stop);
  }
  return null;
}

/** A reason as it travels through the workflow; one that was not given is made up. */
export function reasonOf(hook: string, given: string | undefined): string {
  const text = given?.trim() ?? '';
  return clip(text === '' ? `the hook ${hook} gave no reason` : text, WORKFLOW_LIMIT);
}
