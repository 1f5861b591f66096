// Credentials of self-hosted workers (G19): an environment's key, stored only as a hash, and the
// token of one lease, valid as long as the lease. Both are signed, so a forged one costs no read of
// the store.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { LeaseName } from '../../client/faces/types.ts';
import { invalid } from '../errors.ts';
import type { ManagedStore } from '../log/stored.ts';

const KEY = /^pdr-env-(env_[0-9a-z]{26})-([\w-]{43})$/;
const TOKEN_PREFIX = 'pdr-ses-';
const MOST_KEYS = 20;

/** A lease of a session's item. */
export type SessionLease = LeaseName & { readonly environment: string; readonly session: string };

const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex');

/** Bytes of a key that are drawn, and of their signature. */
const HALF = 16;

const signHalf = (secret: Uint8Array, environment: string, half: Uint8Array): Buffer =>
  createHmac('sha256', secret).update(`environment key ${environment} `).update(half).digest().subarray(0, HALF);

function newKey(secret: Uint8Array, environment: string): string {
  const half = randomBytes(HALF);
  return `pdr-env-${environment}-${Buffer.concat([half, signHalf(secret, environment, half)]).toString('base64url')}`;
}

/** Returns the environment of a key that was made here, whether or not it counts; else null. */
function verifyKey(secret: Uint8Array, token: string): string | null {
  const [, environment, text] = KEY.exec(token) ?? [];
  if (environment === undefined || text === undefined) return null;
  const bytes = Buffer.from(text, 'base64url');
  const isSigned = timingSafeEqual(bytes.subarray(HALF), signHalf(secret, environment, bytes.subarray(0, HALF)));
  return isSigned ? environment : null;
}

/** Makes a key of an environment. `only`: the keys before it end. Throws ManagedError. */
export async function makeEnvironmentKey(
  stored: ManagedStore,
  environment: string,
  { by, only }: { readonly by: string; readonly only: boolean },
): Promise<string> {
  const key = newKey(await stored.secret(), environment);
  await stored.environmentKeys.append(by, (all) => {
    const before = only ? [] : (all.get(environment)?.hashes ?? []);
    if (before.length >= MOST_KEYS)
      throw invalid(`environment ${environment} has ${MOST_KEYS} keys: make one that replaces them (only)`, 'only');
    return { id: environment, item: { hashes: [...before, hashKey(key)] } };
  });
  return key;
}

/** Milliseconds for which a key that was replaced may be taken. */
const KEYS_AGE_MS = 1_000;

/** Returns the environment whose key this is, or null. Throws StoreError. */
export async function environmentOfKey(stored: ManagedStore, token: string): Promise<string | null> {
  if (!KEY.test(token)) return null;
  const environment = verifyKey(await stored.secret(), token);
  if (environment === null) return null;
  const { environmentKeys } = stored;
  const isKept = (hashes: readonly string[]): boolean => hashes.some((hash) => isSame(hash, hashKey(token)));
  const known = (await environmentKeys.read(KEYS_AGE_MS)).get(environment);
  if (known && isKept(known.hashes)) return environment;
  const newest = (await environmentKeys.read()).get(environment);
  return newest && isKept(newest.hashes) ? environment : null;
}

const bodyShape = z.tuple([z.string(), z.string(), z.string(), z.int()]);

const sign = (secret: Uint8Array, body: string): string =>
  createHmac('sha256', secret).update(`session token ${body}`).digest('base64url');

/** Makes the token of a lease. `secret` is the store's own. */
export function sessionToken(secret: Uint8Array, { environment, session, work, g }: SessionLease): string {
  const body = Buffer.from(JSON.stringify([environment, session, work, g])).toString('base64url');
  return `${TOKEN_PREFIX}${body}.${sign(secret, body)}`;
}

/** Returns the lease whose token this is, or null. Whether it is over, its item tells. */
export function leaseOfToken(secret: Uint8Array, token: string): SessionLease | null {
  if (!token.startsWith(TOKEN_PREFIX)) return null;
  const [body = '', signature = ''] = token.slice(TOKEN_PREFIX.length).split('.');
  if (!isSame(signature, sign(secret, body))) return null;
  const [environment, session, work, g] = bodyShape.parse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  return { environment, session, work, g };
}

/** Returns the secret that a poll adds to its item: the SDK's BetaWorkSecret. */
export const workSecret = (sessions_token: string, api_base_url: string): string =>
  Buffer.from(JSON.stringify({ sessions_token, api_base_url })).toString('base64url');

function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
