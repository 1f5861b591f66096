// The facts that every hook of a run is told, and the notice that a hook failed.
import type { Notice } from '../../workflows/contract/activities.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import type { HookContext, HookProgress, HookFailure } from './hooks.ts';

/** Builds the context. With `live`, watchers see each hook start and end (L60). */
export function buildHookContext(
  {
    session,
    queryId,
    depth,
    cwd,
    folders,
    querySource,
  }: Pick<RunConfig, Exclude<keyof HookContext, 'iteration' | 'signal' | 'watch'>>,
  { iteration, signal }: Pick<HookContext, 'iteration' | 'signal'>,
  live?: Pick<LiveWriter, 'write'>,
): HookContext {
  const more = { ...(folders && { folders }), ...(querySource && { querySource }) };
  const context = { session, queryId, depth, iteration, cwd, ...more, signal };
  return live ? { ...context, watch: watchHooks(live, iteration) } : context;
}

export function hookFailureNotice({ hook, detail }: HookFailure): { readonly kind: 'notice'; readonly notice: Notice } {
  return { kind: 'notice', notice: { kind: 'hook_failed', hook, detail } };
}

function watchHooks(live: Pick<LiveWriter, 'write'>, iteration: number): (event: HookProgress) => void {
  return (event) => {
    if (event.type === 'start') live.write({ type: 'hook_start', iteration, hook: event.hook });
    else live.write({ type: 'hook_end', iteration, hook: event.hook, result: event.result });
  };
}
