// Keeps the address of a data folder's page: its name, port and secrets stay, so that a link or an
// open tab still works after a restart. The file is as private as the folder: its reader can steer
// sessions.
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../system/json.ts';
import { formatIdentity, isAlive, parseIdentity, processIdentity } from '../system/process/identity.ts';
import { type CodeKind, newCode } from './hosting/passes.ts';

export type PageAddress = {
  /** Key that signs what lets a browser in. It is never sent. */
  readonly key: string;
  /** Token of the HTTP API; it does not open the page. */
  readonly apiToken: string;
  /** A host name of its own, since a browser sends a cookie to every port of a host. */
  readonly name: string;
  /** 0 means a free port. */
  readonly port: number;
  /** The name under which its port was last forwarded over TLS. */
  readonly forwarded?: string | undefined;
  /**
   * Names the process that serves it, or did last: codes for one process are invalid for another.
   */
  readonly run: string;
  /** Identity of the process that serves it; absent once that has closed. */
  readonly holder?: string | undefined;
};

const secret = z.string().regex(/^[\w-]{32,64}$/);
const schema = z.object({
  key: secret,
  apiToken: secret,
  name: z.string().regex(/^perdure-[0-9a-f]{16}\.localhost$/),
  port: z.number().int().min(0).max(65_535),
  forwarded: z
    .string()
    .regex(/^[a-z0-9.-]{1,253}$/)
    .optional(),
  run: secret,
  holder: z.string().max(300).optional(),
});

const newSecret = (): string => randomBytes(24).toString('base64url');

export function newAddress(): PageAddress {
  const name = `perdure-${randomBytes(8).toString('hex')}.localhost`;
  return { key: newSecret(), apiToken: newSecret(), name, port: 0, run: newSecret() };
}

/** Makes an address that lets a browser in once. */
export function entranceOf(address: PageAddress, kind: CodeKind = 'printed'): string {
  const { name, port, forwarded } = address;
  const origin = forwarded === undefined ? `http://${name}:${port}` : `https://${forwarded}`;
  return `${origin}/?code=${newCode(address, kind)}`;
}

export type KeptAddress = {
  readonly address: PageAddress;
  /**
   * Remembers where the page is served, unless another process serves one of this data folder at
   * the remembered port: its bookmarks stay good.
   */
  keep(at: Pick<PageAddress, 'port' | 'forwarded'>): void;
  /** Tells that the page is no longer served. */
  letGo(): void;
};

const fileOf = (root: string): string => join(root, 'page.json');

/**
 * Reads the address kept in the data folder `root`. A damaged file is replaced, and its visitors
 * must open a printed address again.
 */
export function openAddress(root: string): KeptAddress {
  const known = readJsonFile(fileOf(root), schema);
  const address = known.kind === 'read' ? { ...known.value, run: newSecret() } : newAddress();
  const now = (): PageAddress | null => {
    const read = readJsonFile(fileOf(root), schema);
    return read.kind === 'read' ? read.value : null;
  };
  const write = (value: PageAddress): void => writeJsonFile(fileOf(root), value, 'not durable');
  return {
    address,
    keep: (at) => {
      const other = now();
      if (other !== null && other.run !== address.run && other.port !== at.port && isHeld(other)) return;
      write({ ...address, forwarded: undefined, ...at, holder: formatIdentity(processIdentity()) });
    },
    letGo: () => {
      const own = now();
      if (own?.run === address.run) write({ ...own, holder: undefined });
    },
  };
}

/** Tells whether the process that serves the page is not known to be gone. */
function isHeld({ holder }: PageAddress): boolean {
  const identity = holder === undefined ? null : parseIdentity(holder);
  return identity !== null && isAlive(identity) !== 'dead';
}

/** Returns the token of a data folder's HTTP API, whether it is served now or not. */
export function readApiToken(root: string): string {
  const known = readJsonFile(fileOf(root), schema);
  if (known.kind === 'read') return known.value.apiToken;
  const { address, keep, letGo } = openAddress(root);
  keep(address);
  letGo();
  return address.apiToken;
}

const PATIENCE_MS = 3_000;

/** Returns the page that is now served from a data folder; null when none is. */
export async function findServedPage(root: string): Promise<PageAddress | null> {
  const known = readJsonFile(fileOf(root), schema);
  return known.kind === 'read' && (await isServed(known.value)) ? known.value : null;
}

/** Sends no secret, since another process may listen there now. */
function isServed({ name, port }: PageAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { host: `${name}:${port}` };
    const at = { host: '127.0.0.1', port, path: '/sign-in', headers, agent: false, timeout: PATIENCE_MS } as const;
    const probe = request(at, (answer) => resolve(answer.resume().statusCode === 200));
    probe.once('timeout', () => probe.destroy(new Error('no answer')));
    probe.once('error', () => resolve(false)).end();
  });
}
