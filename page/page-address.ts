// The address of the page of one data folder: its name, its port and its secrets are kept, so that
// a link or an open tab still leads to it after a restart. The file is as private as the folder:
// who reads it may steer.
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../system/json-file.ts';
import { newCode } from './hosting/passes.ts';

export type PageAddress = {
  /** Signs what lets a browser in, and is sent to nobody. */
  readonly key: string;
  /** Of the HTTP API; it opens no page. */
  readonly apiToken: string;
  /** A host name that no other page has: a browser sends a cookie to every port of a host. */
  readonly name: string;
  /** 0: a free one. */
  readonly port: number;
  /** The name under which its port was forwarded last, over TLS. */
  readonly forwarded?: string | undefined;
  /** Of the process that serves it, or did last: codes for one are none for another. */
  readonly run: string;
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
});

const newSecret = (): string => randomBytes(24).toString('base64url');

export function newAddress(): PageAddress {
  const name = `perdure-${randomBytes(8).toString('hex')}.localhost`;
  return { key: newSecret(), apiToken: newSecret(), name, port: 0, run: newSecret() };
}

/** Where a browser is let in, once. */
export function entranceOf(address: PageAddress): string {
  const { name, port, forwarded } = address;
  const origin = forwarded === undefined ? `http://${name}:${port}` : `https://${forwarded}`;
  return `${origin}/?code=${newCode(address)}`;
}

export type KeptAddress = {
  readonly address: PageAddress;
  /** Where it is served. */
  keep(at: Pick<PageAddress, 'port' | 'forwarded'>): void;
};

const fileOf = (root: string): string => join(root, 'page.json');

/**
 * `root`: the data folder. A file that is damaged is replaced: whoever was let in opens a printed
 * address again.
 */
export function keptAddress(root: string): KeptAddress {
  const known = readJsonFile(fileOf(root), schema);
  const address = known.kind === 'read' ? { ...known.value, run: newSecret() } : newAddress();
  return {
    address,
    keep: (at) => writeJsonFile(fileOf(root), { ...address, forwarded: undefined, ...at }, 'not durable'),
  };
}

/** The token of the HTTP API of a data folder, whether it is served now or not. */
export function keptApiToken(root: string): string {
  const known = readJsonFile(fileOf(root), schema);
  if (known.kind === 'read') return known.value.apiToken;
  const { address, keep } = keptAddress(root);
  keep(address);
  return address.apiToken;
}

const PATIENCE_MS = 3_000;

/** Where a browser is let in to the page that is served from a data folder. Null: none is. */
export async function entranceNow(root: string): Promise<string | null> {
  const known = readJsonFile(fileOf(root), schema);
  return known.kind === 'read' && (await isServed(known.value)) ? entranceOf(known.value) : null;
}

/** Nothing secret is sent: whoever listens there now may be another. */
function isServed({ name, port }: PageAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { host: `${name}:${port}` };
    const at = { host: '127.0.0.1', port, path: '/sign-in', headers, agent: false, timeout: PATIENCE_MS } as const;
    const asked = request(at, (answer) => resolve(answer.resume().statusCode === 200));
    asked.once('timeout', () => asked.destroy(new Error('no answer')));
    asked.once('error', () => resolve(false)).end();
  });
}
