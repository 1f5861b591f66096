// What pre-tool hooks think of a call: asked in order, each about the input the last one left; deny > ask > allow (L33, L55).
import type { Hook } from './hook-config.ts';
import { failures, firstStop, reasonOf, type HookRan, type RunOne } from './hook-ran.ts';
import type { HookContext, PreToolVerdict } from './hooks.ts';

type Decision = PreToolVerdict['decision'];

/** A denial is final: the hooks after it are not asked. */
export async function askBeforeTool(
  hooks: readonly Hook<'preTool'>[],
  one: RunOne,
  context: HookContext,
  call: { readonly tool: string; readonly input: unknown },
): Promise<PreToolVerdict> {
  const ran: HookRan<'preTool'>[] = [];
  let decision: Decision = null;
  let input: unknown;
  for (const hook of hooks) {
    const done = await one('preTool', hook, context, { tool: call.tool, input: input ?? call.input });
    ran.push(done);
    decision = stricter(decision, decisionOf(done));
    if (decision?.kind === 'deny') break;
    if (done.end.kind === 'answer') input = done.end.answer.input ?? input;
  }
  const answers = ran.filter(({ end }) => end.kind !== 'refused');
  return { decision, input, stop: firstStop(answers), failed: failures(ran) };
}

function decisionOf({ hook, end }: HookRan<'preTool'>): Decision {
  if (end.kind === 'refused') return { kind: 'deny', why: reasonOf(hook, end.text) };
  if (end.kind === 'failed' || end.answer.decision === undefined) return null;
  if (end.answer.decision === 'allow') return { kind: 'allow' };
  return { kind: end.answer.decision, why: reasonOf(hook, end.answer.reason) };
}

const strictness = { allow: 1, ask: 2, deny: 3 };

/** Of two equally strict ones the first, with its reason. */
function stricter(one: Decision, other: Decision): Decision {
  if (one === null || other === null) return one ?? other;
  return strictness[other.kind] > strictness[one.kind] ? other : one;
}
