// Combines the answers of hooks into verdicts. Pre-tool hooks judge a call one after the other,
// each with the input the last one left; the strictest verdict counts: deny > ask > allow (L33,
// L55).
import type { HookContext, PreToolVerdict, HookFailure, HookText } from './hooks.ts';
import type { HookName } from './payloads.ts';
import type { Hook } from './hook-config.ts';
import type { HookPayload } from './payloads.ts';
import type { StopHooksRan } from '../../workflows/contract/activities.ts';
import { clip } from '../../system/text.ts';
import { WORKFLOW_LIMIT, CONTEXT_LIMIT, type HookEnd } from './run-hook.ts';

type Decision = PreToolVerdict['decision'];

/** Asks the pre-tool hooks. A denial is final: the hooks after it are not asked. */
export async function askBeforeTool(
  hooks: readonly Hook<'preTool'>[],
  one: RunOne,
  context: HookContext,
  call: HookPayload<'preTool'>,
): Promise<PreToolVerdict> {
  const results: HookRunEnd<'preTool'>[] = [];
  let decision: Decision = null;
  let input: unknown;
  for (const hook of hooks) {
    const done = await one('preTool', hook, context, { ...call, input: input ?? call.input });
    results.push(done);
    decision = pickStricter(decision, readDecision(done));
    if (decision?.kind === 'deny') break;
    if (done.end.kind === 'answer') input = done.end.answer.input ?? input;
  }
  const answers = results.filter(({ end }) => end.kind !== 'refused');
  return { decision, input, stop: findStop(answers), failed: collectFailures(results) };
}

function readDecision({ hook, end }: HookRunEnd<'preTool'>): Decision {
  if (end.kind === 'refused') return { kind: 'deny', why: clipReason(hook, end.text) };
  if (end.kind === 'failed' || end.answer.decision === undefined) return null;
  if (end.answer.decision === 'allow') return { kind: 'allow' };
  const why = clipReason(hook, end.answer.reason);
  if (end.answer.decision === 'ask') return { kind: 'ask', why };
  return { kind: 'deny', why, ...(end.answer.fatal && { fatal: true as const }) };
}

const STRICTNESS = { allow: 1, ask: 2, deny: 3 };

/** Returns the stricter verdict, or the first of two equally strict ones, with its reason. */
function pickStricter(one: Decision, other: Decision): Decision {
  if (one === null || other === null) return one ?? other;
  return STRICTNESS[other.kind] > STRICTNESS[one.kind] ? other : one;
}

/**
 * Judges a finished reply by its stop hooks, or by those of an idle agent: one that prevents
 * outweighs those that block; a failed hook has no vote (L30).
 */
export function judgeStop(results: readonly HookRunEnd<'stop' | 'agentIdle'>[]): StopHooksRan {
  const failed = collectFailures(results);
  const prevented = results.flatMap(({ hook, end }) =>
    end.kind === 'answer' && end.answer.prevent !== undefined ? [clipReason(hook, end.answer.prevent)] : [],
  );
  const [detail] = prevented;
  if (detail !== undefined) return { verdict: { kind: 'prevented', detail }, failed };
  const blocked = results.flatMap(({ hook, end }) => {
    if (end.kind === 'refused') return [clipReason(hook, end.text)];
    return end.kind === 'answer' && end.answer.block !== undefined ? [clipReason(hook, end.answer.block)] : [];
  });
  if (blocked.length === 0) return { verdict: { kind: 'passed' }, failed };
  return { verdict: { kind: 'blocked', text: clip(blocked.join('\n\n'), WORKFLOW_LIMIT) }, failed };
}

/** The end of one hook of a kind. */
type HookRunEnd<Name extends HookName> = { readonly hook: string; readonly end: HookEnd<Name> };

export type RunOne = <Name extends HookName>(
  name: Name,
  hook: Hook<Name>,
  context: HookContext,
  payload: HookPayload<Name>,
) => Promise<HookRunEnd<Name>>;

type Answer<Name extends HookName> = Extract<HookEnd<Name>, { readonly kind: 'answer' }>['answer'];

export function collectFailures(results: readonly HookRunEnd<HookName>[]): HookFailure[] {
  return results.flatMap(({ hook, end }) => (end.kind === 'failed' ? [{ hook, detail: end.detail }] : []));
}

/** Collects the words of each hook that said something, bounded. */
export function collectTexts<Name extends HookName>(
  results: readonly HookRunEnd<Name>[],
  pick: (answer: Answer<Name>) => string | undefined,
): HookText[] {
  return results.flatMap(({ hook, end }) => {
    const text = end.kind === 'answer' ? pick(end.answer) : undefined;
    return text === undefined || text.trim() === '' ? [] : [{ hook, text: clip(text, CONTEXT_LIMIT) }];
  });
}

export function collectContexts(
  results: readonly HookRunEnd<'sessionStart' | 'promptSubmitted' | 'postTool'>[],
): HookText[] {
  return collectTexts(results, ({ context }) => context);
}

/** Returns why the run is to end, in the words of the first hook that wants it (L41). */
export function findStop(results: readonly HookRunEnd<'promptSubmitted' | 'preTool' | 'postTool'>[]): string | null {
  for (const { hook, end } of results) {
    if (end.kind === 'refused') return clipReason(hook, end.text);
    if (end.kind === 'answer' && 'stop' in end.answer && end.answer.stop !== undefined)
      return clipReason(hook, end.answer.stop);
  }
  return null;
}

/** Clips a reason for the workflow; a missing one is made up. */
function clipReason(hook: string, reason: string | undefined): string {
  const text = reason?.trim() ?? '';
  return clip(text === '' ? `the hook ${hook} gave no reason` : text, WORKFLOW_LIMIT);
}
