// What stop hooks make of a finished reply: one that prevents outweighs those that block; who failed is no vote (L30).
import type { StopHooksRan } from '../../workflows/contract/activities.ts';
import { failures, reasonOf, type HookRan } from './hook-ran.ts';
import { clip } from '../text.ts';
import { WORKFLOW_LIMIT } from './hook-text.ts';

export function stopVerdict(ran: readonly HookRan<'stop'>[]): StopHooksRan {
  const failed = failures(ran);
  const prevented = ran.flatMap(({ hook, end }) =>
    end.kind === 'answer' && end.answer.prevent !== undefined ? [reasonOf(hook, end.answer.prevent)] : [],
  );
  const [detail] = prevented;
  if (detail !== undefined) return { verdict: { kind: 'prevented', detail }, failed };
  const blocked = ran.flatMap(({ hook, end }) => {
    if (end.kind === 'refused') return [reasonOf(hook, end.text)];
    return end.kind === 'answer' && end.answer.block !== undefined ? [reasonOf(hook, end.answer.block)] : [];
  });
  if (blocked.length === 0) return { verdict: { kind: 'passed' }, failed };
  return { verdict: { kind: 'blocked', text: clip(blocked.join('\n\n'), WORKFLOW_LIMIT) }, failed };
}
