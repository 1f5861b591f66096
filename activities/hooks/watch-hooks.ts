// Shows watchers each hook as it starts and ends (L60).
import type { LiveWriter } from '../live/events.ts';
import type { HookEvent } from './hooks.ts';

export function watchHooks(live: Pick<LiveWriter, 'write'>, iteration: number): (event: HookEvent) => void {
  return (event) => {
    if (event.type === 'start') live.write({ type: 'hook_start', iteration, hook: event.hook });
    else live.write({ type: 'hook_end', iteration, hook: event.hook, result: event.result });
  };
}
