// Who watches a worker, put together: each is told everything, and one that throws keeps it from no other and from no step (L21).
import { type InjectedSinks } from '@temporalio/worker';
import type { Log } from '../../activities/log.ts';
import type { Observe } from '../../activities/live/observe.ts';
import { reasonOf } from '../../activities/text.ts';
import { SEEN_SINK, type Seen } from '../../workflows/contract/seen.ts';

export function observeAll(watchers: readonly Observe[], log: Log): Observe {
  const failed = new Set<Observe>();
  return (observation) => {
    for (const watch of watchers) {
      try {
        watch(observation);
      } catch (error) {
        if (!failed.has(watch)) log('error', `what watches this worker failed (told once): ${reasonOf(error)}`);
        failed.add(watch);
      }
    }
  };
}

type SeenSinks = { readonly [SEEN_SINK]: { see(seen: Seen): void } };

/** What workflows tell their worker. Every worker that runs ours needs it; absent `observe`, nobody listens. */
export function seenSinks(observe: Observe = () => {}): InjectedSinks<SeenSinks> {
  const fn = ({ workflowId: session }: { readonly workflowId: string }, seen: Seen): void => {
    observe({ kind: 'seen', session, seen });
  };
  return { [SEEN_SINK]: { see: { fn, callDuringReplay: false } } };
}
