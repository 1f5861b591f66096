// Which sessions have their folders on this machine, where hosts share a store. A host that was away
// finds out by these notes which of them live elsewhere now; their folders stay as they are (T19).
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../system/json-file.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { keySegment } from './values/store.ts';

const lostSchema = z.object({
  /** Milliseconds since the epoch at which this host found out. */
  at: z.number(),
  /** The name of the host that has the session. */
  to: z.string(),
  /** The snapshot of each folder as this host was left with it; null where it could not be taken. */
  snapshots: z.array(z.object({ root: z.string(), id: z.string().nullable() })),
});

const schema = z.object({
  session: z.string(),
  /** Absolute real paths of its folders. */
  folders: z.array(z.string()),
  lost: lostSchema.optional(),
});

export type HostedSession = Omit<z.infer<typeof schema>, 'session'> & { readonly session: SessionId };
export type LostFolders = z.infer<typeof lostSchema>;

export class HostedSessions {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'hosted');
  }

  /** Notes that a session works here. It costs a look where that is known. */
  note(session: SessionId, folders: readonly string[]): void {
    const known = this.read(session);
    if (known && !known.lost && known.folders.join('\0') === folders.join('\0')) return;
    this.#write({ session, folders: [...folders] });
  }

  /** Notes that another host has the session now. */
  noteLost(hosted: HostedSession, lost: LostFolders): void {
    this.#write({ ...hosted, lost });
  }

  /** Tells whether a session works here. */
  isHere(session: SessionId): boolean {
    const known = this.read(session);
    return known !== null && known.lost === undefined;
  }

  has(session: SessionId): boolean {
    return existsSync(this.#path(session));
  }

  /** A damaged note counts as none. */
  read(session: SessionId): HostedSession | null {
    return readHosted(this.#path(session));
  }

  /** A session that is over needs no note. */
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
