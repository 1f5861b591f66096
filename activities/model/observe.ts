// Post-sampling hooks: fire and forget (L21).
import type { Deps, ObservedReply } from '../deps.ts';

/** Returns at once. A copy is handed out: what an observer does to it reaches nobody. */
export function observe({ observers, warn }: Pick<Deps, 'observers' | 'warn'>, reply: ObservedReply): void {
  if (observers.length === 0) return;
  setImmediate(() => {
    for (const observer of observers) void told(observer, structuredClone(reply), warn);
  });
}

async function told(observer: Deps['observers'][number], reply: ObservedReply, warn: Deps['warn']): Promise<void> {
  try {
    await observer(reply);
  } catch (error) {
    warn(`a post-sampling hook failed on session ${reply.session}, iteration ${reply.iteration}: ${String(error)}`);
  }
}
