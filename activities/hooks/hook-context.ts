// What every hook of a run is told, and how its failures are told to people.
import type { Notice } from '../../workflows/contract/activities.ts';
import type { LiveWriter } from '../live/events.ts';
import type { RunConfig } from '../run-config.ts';
import type { HookContext, HookFailure } from './hooks.ts';
import { watchHooks } from './watch-hooks.ts';

/** With `live`, watchers see each hook start and end (L60). */
export function hookContext(
  { session, queryId, depth, cwd }: Pick<RunConfig, 'session' | 'queryId' | 'depth' | 'cwd'>,
  { iteration, signal }: Pick<HookContext, 'iteration' | 'signal'>,
  live?: Pick<LiveWriter, 'write'>,
): HookContext {
  const told = { session, queryId, depth, iteration, cwd, signal };
  return live ? { ...told, watch: watchHooks(live, iteration) } : told;
}

export function hookFailed({ hook, detail }: HookFailure): { readonly kind: 'notice'; readonly notice: Notice } {
  return { kind: 'notice', notice: { kind: 'hook_failed', hook, detail } };
}
