// Tells whether an access token of an OpenID provider may decode: signed by the issuer's keys, for
// this audience, not expired, and of somebody who is named. Providers of many companies sign tokens
// for all of them, so that issuer and audience alone say nothing.
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTPayload } from 'jose';
import { z } from 'zod';
import { type Network, whyFetchFailed } from '../../system/network.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf } from '../../system/text.ts';

export type OidcSettings = {
  /** The issuer's address, to the letter as its tokens say it. */
  readonly issuer: string;
  readonly audience: string;
  /** Claims and values, of which a token has to have one: a text, or one of a list. */
  readonly allowed: readonly (readonly [claim: string, value: string])[];
};

/** Says why a token may not decode; null for one that may. */
export type JudgeToken = (token: string) => Promise<string | null>;

/** Signatures with a key of the issuer's alone: none that the public key could make. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** Seconds that two clocks may differ. */
const SKEW_S = 10;
const DISCOVERY_MS = 10_000;
const discoverySchema = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** Reads where the issuer's keys are. Throws SetupProblem. */
export async function openOidc({ issuer, audience, allowed }: OidcSettings, network: Network): Promise<JudgeToken> {
  const address = await discoverKeys(issuer, network);
  const keys = createRemoteJWKSet(address, { [customFetch]: (url, options) => network.fetch(url, options) });
  const checks = { issuer, audience, algorithms: ALGORITHMS, requiredClaims: ['exp'], clockTolerance: SKEW_S };
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, checks);
      return isNamed(payload, allowed) ? null : 'nobody named by --oidc-allow has that token';
    } catch (error) {
      if (error instanceof errors.JOSEError) return reasonOf(error);
      return `the keys of the issuer cannot be read (${whyFetchFailed(error)})`;
    }
  };
}

/** An address counts only if the provider has verified it: anyone can claim another. */
function isNamed(payload: JWTPayload, allowed: OidcSettings['allowed']): boolean {
  const isUnverified = ![undefined, true, 'true'].includes(payload['email_verified'] as string | boolean | undefined);
  return allowed.some(([claim, value]) => {
    if (claim === 'email' && isUnverified) return false;
    const found = payload[claim];
    return found === value || (Array.isArray(found) && found.includes(value));
  });
}

async function discoverKeys(issuer: string, network: Network): Promise<URL> {
  const url = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  requireSafe(url, issuer);
  const found = discoverySchema.safeParse(await readJson(url, network));
  if (!found.success) throw new SetupProblem(`${url.href} is no discovery document: correct --oidc-issuer`);
  if (found.data.issuer !== issuer)
    throw new SetupProblem(
      `--oidc-issuer is ${issuer}, and its discovery document names ${JSON.stringify(found.data.issuer.slice(0, 200))}: give that, to the letter`,
    );
  const keys = new URL(found.data.jwks_uri);
  requireSafe(keys, found.data.jwks_uri);
  return keys;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Keys that come over plain HTTP can be anybody's. */
function requireSafe(url: URL, address: string): void {
  if (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname))) return;
  throw new SetupProblem(`the issuer's address ${JSON.stringify(address.slice(0, 200))} isn't https: give one that is`);
}

async function readJson(url: URL, network: Network): Promise<unknown> {
  try {
    const answer = await network.fetch(url, { signal: AbortSignal.timeout(DISCOVERY_MS), redirect: 'error' });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return await answer.json();
  } catch (error) {
    throw new SetupProblem(`${url.href} cannot be read (${whyFetchFailed(error)}): correct --oidc-issuer`, {
      cause: error,
    });
  }
}
