// Tells the hooks `silent` of a worker that a run has not gone on for some time. No workflow can
// say so, since nothing happens in it: whoever looks at sessions does. Of all workers that see the
// same silence one tells it.
import { pause } from '../system/async.ts';
import type { Log } from '../system/log.ts';
import type { HookRunner } from '../activities/hooks/hooks.ts';
import type { HookConfig } from '../activities/hooks/hook-config.ts';
import { keySegment, type Store } from '../store/values/store.ts';
import type { SessionId } from '../workflows/contract/ids.ts';

/** A session as the look found it. Times are in milliseconds since the epoch. */
export type SilentSession = {
  readonly session: SessionId;
  readonly title: string;
  readonly cwd: string;
  readonly depth: number;
  readonly lastSign: number;
  /** Its current work in words; null when unknown. */
  readonly doing: string | null;
};

export type SilenceTeller = {
  /** Milliseconds of silence after which it is told: the shortest that a hook names. */
  readonly afterMs: number;
  /** Resolves when every hook was told or given up. */
  tell(silent: SilentSession, signal: AbortSignal): Promise<void>;
};

type SilenceParts = {
  readonly hooks: Pick<HookRunner, 'alert'>;
  readonly store: Pick<Store, 'create'>;
  readonly log: Log;
  readonly now?: () => number;
};

const AFTER_MS = 10 * 60_000;
/** Milliseconds before each further try. */
const AGAIN_MS = [1_000, 3_000, 9_000, 27_000];

/** Returns null where no hook is called `silent`. */
export function createSilenceTeller({ silent = [] }: HookConfig, parts: SilenceParts): SilenceTeller | null {
  if (silent.length === 0) return null;
  const waits = silent.map((hook) => (typeof hook === 'function' ? undefined : hook.afterMs) ?? AFTER_MS);
  return { afterMs: Math.min(...waits), tell: (session, signal) => tellOnce(parts, session, signal) };
}

async function tellOnce(
  { hooks, store, log, now = Date.now }: SilenceParts,
  { session, title, cwd, depth, lastSign, doing }: SilentSession,
  signal: AbortSignal,
): Promise<void> {
  const claimed = await store.create(
    `silent/${keySegment(session)}/${Math.floor(lastSign)}`,
    new TextEncoder().encode('{}'),
  );
  if (claimed.kind === 'existing') return;
  const context = { session, queryId: session, depth, iteration: 0, cwd, signal };
  const reported = new Set<string>();
  for (const waitMs of [0, ...AGAIN_MS]) {
    if (waitMs > 0 && !(await pause(waitMs, signal))) return;
    const silentMs = Math.max(0, now() - lastSign);
    const { failed } = await hooks.alert('silent', context, { title, lastSign, silentMs, doing }, reported);
    for (const { hook, detail } of failed)
      log('warn', `hook ${hook} of the alert "silent" failed: ${detail}`, { session });
    if (failed.length === 0) return;
  }
}
