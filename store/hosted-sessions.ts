// Which sessions have their folders on this machine, where hosts share a store. A host that was
// away finds out by these notes which of them live elsewhere now; their folders stay as they are
// (T19).
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../system/json.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { keySegment } from './values/store.ts';

const lostSchema = z.object({
  /** Milliseconds since the epoch at which this host found out. */
  at: z.number(),
  /** The name of the host that has the session. */
  to: z.string(),
  /** Each folder's snapshot as this host was left with it; null where none could be taken. */
  snapshots: z.array(z.object({ root: z.string(), id: z.string().nullable() })),
  /** The session is back: its folders have its files, the snapshots what lay there. */
  isBack: z.literal(true).optional(),
  /** A person has seen to the folders: they are not listed, and nothing is kept of them. */
  isForgotten: z.literal(true).optional(),
});

const schema = z.object({
  session: z.string(),
  /** The server's name for the namespace of the session. */
  namespace: z.string().optional(),
  /** Absolute real paths of its folders. */
  folders: z.array(z.string()),
  lost: lostSchema.optional(),
});

export type HostedSession = Omit<z.infer<typeof schema>, 'session'> & { readonly session: SessionId };
type LostFolders = z.infer<typeof lostSchema>;
export type LostSession = HostedSession & { readonly lost: LostFolders };

/** Tells whether another host has the session now. */
export const isLost = ({ lost }: Pick<HostedSession, 'lost'>): boolean => lost !== undefined && !lost.isBack;

export class HostedSessions {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'hosted');
  }

  /**
   * Notes that a session works here. It costs a look where that is known. What this host was once
   * left with stays listed until a person has seen it.
   */
  note(session: SessionId, folders: readonly string[], namespace?: string): void {
    const { lost, ...known } = this.read(session) ?? {};
    const current = { session, ...(namespace !== undefined && { namespace }), folders: [...folders] };
    if (isDeepStrictEqual(known, current) && (!lost || lost.isBack)) return;
    this.#write({ ...current, ...(lost && !lost.isForgotten && { lost: { ...lost, isBack: true } }) });
  }

  /** Notes that another host has the session now. */
  noteLost(hosted: HostedSession, lost: LostFolders): void {
    this.#write({ ...hosted, lost });
  }

  has(session: SessionId): boolean {
    return existsSync(this.#path(session));
  }

  /** A damaged note counts as none. */
  read(session: SessionId): HostedSession | null {
    return readHosted(this.#path(session));
  }

  /** Ends the listing of what this host was left with. Returns false where nothing was listed. */
  forgetLost(session: SessionId): boolean {
    const known = this.read(session);
    if (!known?.lost || known.lost.isForgotten) return false;
    const { lost, ...hosted } = known;
    // That it was here stays known: it may come back to its folders.
    this.#write({ ...hosted, ...(!lost.isBack && { lost: { ...lost, isForgotten: true } }) });
    return true;
  }

  /** Returns the sessions whose folders were left here, until a person has seen to them. */
  listLost(): readonly LostSession[] {
    return this.list().flatMap(({ lost, ...hosted }) => (lost && !lost.isForgotten ? [{ ...hosted, lost }] : []));
  }

  /** A session that is over needs no note, and neither do folders that a person has seen to. */
  forget(session: SessionId): void {
    rmSync(this.#path(session), { force: true });
  }

  list(): readonly HostedSession[] {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
    return names.flatMap((name) => readHosted(join(this.#folder, name)) ?? []);
  }

  #path(session: SessionId): string {
    return join(this.#folder, `${keySegment(session)}.json`);
  }

  #write(hosted: HostedSession): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeJsonFile(this.#path(hosted.session), hosted, 'durable');
  }
}

function readHosted(path: string): HostedSession | null {
  const stored = readJsonFile(path, schema);
  return stored.kind === 'read' ? (stored.value as HostedSession) : null;
}
