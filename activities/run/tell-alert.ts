// Tells the hooks `waiting`, `failed` and `agentEnded` of a worker (O14): a person is waited for, a
// run has ended badly, an agent has ended. Each hook is told at least once, and again only when its
// worker died, or the session was handed over, before that was recorded.
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { AgentEnded, Alert, TellAlert } from '../../workflows/contract/activities.ts';
import { agentName, queryIdOf } from '../../workflows/contract/ids.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { type Attempt, createGivenUpError, isGivenUp, forAnotherWorker } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import type { HookContext, HookFailure } from '../hooks/hooks.ts';
import type { HookPayload } from '../hooks/payloads.ts';
import { CONTEXT_LIMIT } from '../hooks/run-hook.ts';
import type { ObservedPlace } from '../../store/live/observe.ts';
import { runFields } from '../../system/log.ts';
import { clip } from '../../system/text.ts';
import type { Store } from '../../store/values/store.ts';
import { lastWords } from '../../store/view/agent-end.ts';

/**
 * The most alerts that one worker tells at once: when a pager hangs, activities that end runs must
 * find a slot.
 */
const MOST_AT_ONCE = 20;

/** Tells an alert. Throws for another attempt while a hook fails. */
export function tellAlert(deps: Deps): (attempt: Attempt, input: TellAlert) => Promise<void> {
  let telling = 0;
  return async (attempt, input) => {
    const { alert } = input;
    const { context, about } = await buildContext(deps, attempt, input);
    if (!deps.hooks.has(alert.kind)) return;
    if (telling >= MOST_AT_ONCE) throw forAnotherWorker('Busy', `this worker tells ${telling} alerts already`, true);
    telling += 1;
    try {
      const { failed } = await tell(deps, attempt, context, input);
      if (isGivenUp(attempt)) throw createGivenUpError(attempt, 'the alert');
      deps.observe({ kind: 'alert', about, alert: alert.kind, failed: failed.length > 0 });
      reportFailures(deps, attempt, about, { alert, failed });
    } finally {
      telling -= 1;
    }
  };
}

async function buildContext(
  deps: Deps,
  { session, signal }: Attempt,
  { alert: { run, iteration }, chain, config }: TellAlert,
): Promise<{ readonly context: HookContext; readonly about: ObservedPlace }> {
  const opened = config === null ? null : await deps.config(config);
  const { depth = 0, cwd = null, folders, traceparent, querySource } = opened ?? {};
  const queryId = queryIdOf(chain, run);
  const context = { session, queryId, depth, iteration, cwd, ...(folders && { folders }), querySource, signal };
  return { context, about: { session, chain, run, queryId, depth, iteration, ...(traceparent && { traceparent }) } };
}

async function tell(
  { hooks, store }: Deps,
  attempt: Attempt,
  context: HookContext,
  { alert, title }: TellAlert,
): Promise<{ readonly failed: readonly HookFailure[] }> {
  const before: unknown = attempt.remembered;
  const names = new Set<unknown>(Array.isArray(before) ? before : []);
  const toldHooks = {
    has: (hook: string) => names.has(hook),
    add: (hook: string) => {
      names.add(hook);
      attempt.remember([...names], 'now');
    },
  };
  if (alert.kind === 'waiting') return hooks.alert('waiting', context, { title, calls: alert.calls }, toldHooks);
  if (alert.kind === 'agentEnded')
    return hooks.alert('agentEnded', context, await describeAgent(store, title, alert.ended), toldHooks);
  const { run, terminal, turns, spend, durationMs } = alert;
  const { reason } = terminal;
  const detail = 'detail' in terminal ? terminal.detail : null;
  const status = ('status' in terminal ? terminal.status : null) ?? null;
  return hooks.alert(
    'failed',
    context,
    { title, run, reason, detail, status, turns, costUsd: spend.usd, durationMs },
    toldHooks,
  );
}

async function describeAgent(store: Store, title: string, end: AgentEnded): Promise<HookPayload<'agentEnded'>> {
  const { session, run, spend, detail, ...about } = end;
  const { terminal } = run ?? {};
  return {
    title,
    agent: { id: agentName(session), session, ...about },
    reason: terminal?.reason ?? null,
    detail: detail ?? (terminal && 'detail' in terminal ? terminal.detail : null),
    text: clip(await lastWords(store, { kind: 'agent', session, run, spend }), CONTEXT_LIMIT),
    turns: run?.turns ?? 0,
    tokens: totalTokens(spend.usage),
    costUsd: detail === undefined ? spend.usd : null,
  };
}

function reportFailures(
  { log }: Deps,
  { number }: Attempt,
  run: ObservedPlace,
  { alert: { kind }, failed }: { readonly alert: Alert; readonly failed: readonly HookFailure[] },
): void {
  const about = { ...runFields(run), attempt: number };
  for (const { hook, detail } of failed) log('warn', `hook ${hook} of the alert "${kind}" failed: ${detail}`, about);
  const [first] = failed;
  if (!first) return;
  const category = ApplicationFailureCategory.BENIGN;
  throw ApplicationFailure.create({ type: 'AlertFailed', message: `hook ${first.hook}: ${first.detail}`, category });
}
