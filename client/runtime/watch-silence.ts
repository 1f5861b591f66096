// Looks for runs without progress for some time, for the hooks `silent` of this process's worker
// (O14).
import { pause } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import type { SilenceTeller, SilentSession } from '../../worker/silence-teller.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { nowText } from '../render/now-words.ts';
import { silenceOf } from '../sessions/running/with-running.ts';

export type WatchSilence = {
  readonly sessions: Pick<PerdureClient, 'list'>;
  /** Null where no hook wants to know. */
  readonly teller: SilenceTeller | null;
  /** Gets a line when sessions cannot be looked at. */
  readonly say: (line: string) => void;
  /** Milliseconds between looks; absent: a tenth of the silence, at most half a minute. */
  readonly everyMs?: number;
};

const MOST_BETWEEN_MS = 30_000;

/** The returned function ends it and resolves when nothing of it runs. */
export function watchSilence({ sessions, teller, say, everyMs }: WatchSilence): () => Promise<void> {
  if (teller === null) return () => Promise.resolve();
  const stop = new AbortController();
  const watching = lookOn(
    { sessions, teller, say },
    everyMs ?? Math.min(MOST_BETWEEN_MS, teller.afterMs / 10),
    stop.signal,
  );
  return () => {
    stop.abort();
    return watching;
  };
}

type Watched = Omit<WatchSilence, 'everyMs'> & { readonly teller: SilenceTeller };

async function lookOn(watch: Watched, everyMs: number, signal: AbortSignal): Promise<void> {
  const telling = new Set<Promise<void>>();
  while (await pause(everyMs, signal)) {
    try {
      for await (const run of findSilent(watch, signal)) {
        const report = watch.teller
          .tell(run, signal)
          .catch((error: unknown) => watch.say(`silent run ${run.session} cannot be told: ${reasonOf(error)}`))
          .finally(() => telling.delete(report));
        telling.add(report);
      }
    } catch (error) {
      if (!signal.aborted) watch.say(`silent runs cannot be looked for: ${reasonOf(error)}`);
    }
  }
  await Promise.all(telling);
}

async function* findSilent({ sessions, teller }: Watched, signal: AbortSignal): AsyncIterable<SilentSession> {
  const idle = `idle>${Math.ceil(teller.afterMs / 1_000)}s`;
  for await (const found of sessions.list({ filter: `phase:running ${idle}`, open: true, signal })) {
    const { session, title, cwd, facts, running } = found;
    if (!running || (silenceOf(found, Date.now()) ?? 0) < teller.afterMs) continue;
    const { lastSign, doing } = running;
    // A run that only waits for its agents is told of by their own sessions.
    if (doing.length > 0 && doing.every(({ kind }) => kind === 'agents')) continue;
    yield { session, title, cwd, depth: facts?.agent?.depth ?? 0, lastSign, doing: nowText(running) || null };
  }
}
