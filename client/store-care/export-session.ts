// Writes a session into a file: its transcript with every value that it reaches, and its options.
// It refuses a session that is at work.
import { unwrapAsked } from '../../workflows/contract/steered.ts';
import { open, rm } from 'node:fs/promises';
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { codeOf, reasonOf } from '../../system/text.ts';
import type { StoreCare } from '../../store/values/store-care.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { withChanges } from '../../workflows/contract/options-problem.ts';
import { type OptionChanges, type RunOptions, SIGNALS, UPDATES } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionDescription } from '../sessions/info.ts';
import { sealingContextOf } from '../sessions/newest-head.ts';
import type { packSnapshots } from './carry-snapshots.ts';
import { markReached } from './mark-reached.ts';
import { type SessionHeader, writeLines } from './session-file.ts';

type Sessions = { describe(session: string): Promise<SessionDescription> };

export type ExportSession = {
  readonly temporal: Client;
  readonly sessions: Sessions;
  readonly care: StoreCare;
  readonly session: SessionId;
  /** Path of a new file. */
  readonly path: string;
  /** Packs the snapshots of its files; null without any. Absent: they are left out. */
  readonly snapshots?: (() => ReturnType<typeof packSnapshots>) | undefined;
};

export type ExportResult = { readonly values: number; readonly bytes: number };

/**
 * Throws ClientProblem, and StoreError for a transcript that cannot be read. Leaves no incomplete
 * file.
 */
export async function exportSession({
  temporal,
  sessions,
  care,
  session,
  path,
  snapshots,
}: ExportSession): Promise<ExportResult> {
  const described = await headerOf(temporal, sessions, session);
  const packed = (await snapshots?.()) ?? null;
  const header = packed ? { ...described, snapshots: packed.carried } : described;
  const roots = { sessions: new Set([session]), heads: new Map([[session, header.head]]), named: new Set<Hash>() };
  const reached = await markReached(care, roots, () => false);
  const exported = { values: 0, bytes: 0 };
  const values = async function* () {
    if (packed) yield { hash: packed.carried.pack, bytes: packed.bytes };
    for (const hash of reached) {
      const bytes = await care.value(hash);
      // A text may look like a hash.
      if (!bytes) continue;
      exported.values += 1;
      yield { hash, bytes };
    }
  };
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    if (codeOf(error) === undefined) throw error;
    const why = codeOf(error) === 'EEXIST' ? 'is there already' : `cannot be written: ${reasonOf(error)}`;
    throw new ClientProblem('refused', `${path} ${why}: name another`, { cause: error });
  });
  try {
    for await (const line of writeLines(header, values())) exported.bytes += (await file.write(line)).bytesWritten;
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return exported;
}

async function headerOf(temporal: Client, sessions: Sessions, session: SessionId): Promise<SessionHeader> {
  const { phase, title, head, runs, last, unseen, forkedFrom } = await sessions.describe(session);
  const isOver = (phase === 'idle' || phase === 'closed') && !unseen && runs === (last?.run ?? 0);
  if (!isOver || head === null) {
    const why = isOver ? 'has no transcript yet' : `is in the middle of a run (${phase.replace('_', ' ')})`;
    throw new ClientProblem('refused', `session ${session} ${why}: export it when a run has ended`);
  }
  const options = await optionsOf(temporal, session);
  return { perdure: 'session', v: 1, session, title, head, runs, last, options, ...(forkedFrom && { forkedFrom }) };
}

/**
 * Returns the options that the newest workflow run began with, plus what messages and people have
 * changed since.
 */
export async function optionsOf(client: Client, session: SessionId): Promise<RunOptions> {
  const { events } = await client.workflow.getHandle(session).fetchHistory();
  const context = sealingContextOf(client, session, null);
  let options: RunOptions | undefined;
  for (const event of events ?? []) {
    const started = event.workflowExecutionStartedEventAttributes;
    const signaled = event.workflowExecutionSignaledEventAttributes;
    const updated = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
    const isMessage = signaled?.signalName === SIGNALS.message;
    const payloads =
      started?.input ?? (isMessage ? signaled.input : updated?.name === UPDATES.setOptions && updated.args);
    if (!payloads) continue;
    const [given] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads.payloads, context);
    const said = given as
      { readonly options?: unknown; readonly carry?: { readonly options?: RunOptions } } | undefined;
    if (started) options = said?.carry?.options ?? (said?.options as RunOptions);
    else if (options) {
      const changes = isMessage ? said?.options : unwrapAsked<unknown>(said);
      options = withChanges(options, (changes ?? {}) as OptionChanges);
    }
  }
  return options ?? { cwd: '/' };
}
