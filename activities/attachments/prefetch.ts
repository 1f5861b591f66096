// Collects the texts of configured providers in advance, while tools run (L43). The loop takes only
// texts that are ready, so it never waits for one. The worker keeps them in memory, and requests
// texts lost with a worker again.
import { runWithin } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { runFields, type Log } from '../../system/log.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { ExtendedView } from '../../store/transcript/transcripts.ts';

/**
 * A provider of notifications or memory: a text for the model, or null when there is nothing new.
 */
export type AttachmentProvider = {
  /** The name is told to the model with the text. */
  readonly name: string;
  /** Milliseconds, 60,000 when absent. A provider that takes longer is given up. */
  readonly timeoutMs?: number | undefined;
  readonly collect: (context: AttachmentContext) => Promise<string | null> | string | null;
};

export type AttachmentContext = {
  readonly session: SessionId;
  readonly queryId: string;
  readonly depth: number;
  readonly run: number;
  readonly cwd: string;
  /** The span of the run's caller, by its W3C trace context (O15). */
  readonly traceparent?: string;
  readonly signal: AbortSignal;
};

export type Attachment = { readonly source: string; readonly text: string };

export type Attachments = {
  /**
   * Asks the providers when a run opened or an iteration ended, without waiting for them. Never
   * throws.
   */
  prefetch(config: RunConfig): void;
  /**
   * Returns the entries to append after `extended`; the same again until a reply is stored. Throws
   * nothing of its own.
   */
  collect(config: RunConfig, extended: ExtendedView): Promise<readonly Entry[]>;
};

type Prefetch = {
  /** Asks every provider that is not being asked for this session already. Never throws. */
  start(context: Omit<AttachmentContext, 'signal'>): void;
  /**
   * Returns the texts that have settled, in the order of the providers. For the same `since` it
   * returns them again: a request that failed took nothing with it.
   */
  take(session: SessionId, since: number): readonly Attachment[];
};

type PrefetchOptions = {
  readonly log: Log;
  /** The number of sessions remembered; the one asked for longest ago is forgotten first. */
  readonly sessions?: number;
};

type SessionTexts = {
  readonly pending: Map<string, AbortController>;
  readonly settled: Map<string, string>;
  readonly taken: Map<string, string>;
  since: number;
};

const TIMEOUT_MS = 60_000;
const SESSIONS = 256;

export function createPrefetch(
  providers: readonly AttachmentProvider[],
  { log, sessions = SESSIONS }: PrefetchOptions,
): Prefetch {
  const all = new RecentMap<SessionId, SessionTexts>(sessions, abortPending);
  return {
    start(context) {
      if (providers.length === 0) return;
      const { session } = context;
      const texts = all.get(session) ?? createSessionTexts();
      all.set(session, texts);
      for (const provider of providers) {
        if (!texts.pending.has(provider.name)) void askProvider(provider, context, texts, log);
      }
    },
    take(session, since) {
      const texts = all.get(session);
      if (texts === undefined) return [];
      if (texts.since !== since) texts.taken.clear();
      texts.since = since;
      for (const [name, text] of texts.settled) texts.taken.set(name, text);
      texts.settled.clear();
      return providers.flatMap(({ name }) => {
        const text = texts.taken.get(name);
        return text === undefined ? [] : [{ source: name, text }];
      });
    },
  };
}

const createSessionTexts = (): SessionTexts => ({
  pending: new Map(),
  settled: new Map(),
  taken: new Map(),
  since: -1,
});

/** Asks one provider. Never rejects. */
async function askProvider(
  { name, timeoutMs = TIMEOUT_MS, collect }: AttachmentProvider,
  context: Omit<AttachmentContext, 'signal'>,
  { pending, settled }: SessionTexts,
  log: Log,
): Promise<void> {
  const controller = new AbortController();
  pending.set(name, controller);
  try {
    const text = await runWithin(timeoutMs, controller.signal, (signal) => collect({ ...context, signal }));
    if (text !== null && text.trim() !== '') settled.set(name, text);
  } catch (error) {
    if (controller.signal.reason === SESSION_FORGOTTEN) return;
    log('warn', `attachment ${name}: ${reasonOf(error)}`, runFields(context));
  } finally {
    pending.delete(name);
  }
}

const SESSION_FORGOTTEN = new Error('the session was forgotten');

function abortPending({ pending }: SessionTexts): void {
  for (const asking of pending.values()) asking.abort(SESSION_FORGOTTEN);
}
