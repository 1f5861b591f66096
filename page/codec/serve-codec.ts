// Checks the options of a codec server and serves it: on this machine alone, or over TLS on an
// address that others reach.
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { serve } from '@hono/node-server';
import { type Env, openDataFolder, openPayloadKeys, refuseReadable } from '../../connection/data-folder.ts';
import { openNetwork } from '../../connection/network/network.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { reasonOf } from '../../system/text.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { NAMESPACE } from '../../client/faces/servers.ts';
import { isLoopbackName, parseListen, readCertificate } from '../hosting/page-host.ts';
import { type Person, readPeople } from '../hosting/people.ts';
import { readApiToken } from '../page-address.ts';
import { codecApp, type CodecSettings } from './codec-app.ts';
import { type JudgeToken, openOidc, type OidcSettings } from './oidc.ts';

export type CodecFlags = {
  readonly listen?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly tokens?: string;
  readonly origin?: readonly string[];
  readonly oidcIssuer?: string;
  readonly oidcAudience?: string;
  readonly oidcAllow?: readonly string[];
  readonly encode?: boolean;
};

type ServedCodec = {
  readonly url: string;
  readonly namespace: string;
  close(): Promise<void>;
};

type Place = {
  readonly cwd: () => string;
  readonly env: Env;
  /** Writes a line to the server's log. */
  readonly say?: (line: string) => void;
};

const DEFAULT_LISTEN = '127.0.0.1:8081';

/** Throws SetupProblem with one line before anything listens. */
export async function serveCodec(place: Place, flags: CodecFlags): Promise<ServedCodec> {
  const { oidc, listen, tls, ...checked } = checkFlags(place, flags);
  const network = openNetwork(place.env);
  try {
    const judge: JudgeToken | undefined = oidc ? await openOidc(oidc, network) : undefined;
    const server = await start({ ...checked, judge, log: place.say }, listen, tls);
    const { port } = server.address() as AddressInfo;
    const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
    const close = async (): Promise<void> => {
      await closeServer(server);
      await network.close();
    };
    return { url: `${tls ? 'https' : 'http'}://${host}:${port}`, namespace: checked.namespace, close };
  } catch (error) {
    await network.close();
    throw error;
  }
}

function checkFlags(place: Place, flags: CodecFlags) {
  const listen = parseListen(flags.listen ?? DEFAULT_LISTEN, '--listen');
  const isLoopback = isLoopbackName(listen.host.includes(':') ? `[${listen.host}]` : listen.host);
  const tls = readTls(place, flags, isLoopback);
  const oidc = oidcOf(flags);
  const people = readThose(place, flags, isLoopback);
  if (people.length === 0 && oidc === null)
    throw new SetupProblem(
      'a codec server that others reach needs people who may decode: name them with --tokens or --oidc-issuer',
    );
  const target = resolveConnection(place.env);
  if (target.kind === 'external' && !target.keys)
    throw new SetupProblem(`payloads on ${target.address} are not sealed here: set PERDURE_CODEC_KEYS to their keys`);
  const namespace = target.kind === 'external' ? target.namespace : NAMESPACE;
  const origins = (flags.origin ?? []).map(originOf);
  const keys = openPayloadKeys(place.env);
  return { listen, tls, oidc, people, namespace, origins, keys, encodes: flags.encode ?? false };
}

type Tls = ReturnType<typeof readCertificate> | null;

function readTls({ cwd, env }: Place, { cert, key, listen }: CodecFlags, isLoopback: boolean): Tls {
  if (cert === undefined && key === undefined) {
    if (isLoopback) return null;
    throw new SetupProblem(`--listen ${listen} is open to other machines and needs TLS: give --cert and --key`);
  }
  if (cert === undefined || key === undefined) throw new SetupProblem('--cert and --key belong together: give both');
  const files = { cert: resolve(cwd(), cert), key: resolve(cwd(), key) };
  refuseReadable(env, files.key, '--key');
  return readCertificate(files, ['--cert', '--key']);
}

/** On this machine the owner of the data folder may decode, with the token of its API. */
function readThose({ cwd, env }: Place, { tokens }: CodecFlags, isLoopback: boolean): readonly Person[] {
  const owner: readonly Person[] = isLoopback
    ? [{ name: null, role: 'steer', token: readApiToken(openDataFolder(env).root) }]
    : [];
  if (tokens === undefined) return owner;
  const path = resolve(cwd(), tokens);
  refuseReadable(env, path, '--tokens');
  return [...owner, ...readPeople(path, '--tokens')];
}

function oidcOf({ oidcIssuer, oidcAudience, oidcAllow = [] }: CodecFlags): OidcSettings | null {
  if (oidcIssuer === undefined && oidcAudience === undefined && oidcAllow.length === 0) return null;
  if (oidcIssuer === undefined || oidcAudience === undefined || oidcAllow.length === 0)
    throw new SetupProblem(
      '--oidc-issuer, --oidc-audience and --oidc-allow belong together: whoever has an account with the issuer would decode everything',
    );
  if (!URL.canParse(oidcIssuer)) throw new SetupProblem(`--oidc-issuer ${JSON.stringify(oidcIssuer)} is no address`);
  return { issuer: oidcIssuer, audience: oidcAudience, allowed: oidcAllow.map(claimOf) };
}

/** The name of a claim may be an address, which may contain "=". */
function claimOf(text: string): readonly [claim: string, value: string] {
  const at = text.lastIndexOf('=');
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)];
  throw new SetupProblem(`--oidc-allow is ${JSON.stringify(text)}: give claim=value, as in email=ana@example.com`);
}

function originOf(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  throw new SetupProblem(
    `--origin is ${JSON.stringify(text)}: give scheme and host alone, as in https://cloud.temporal.io`,
  );
}

type Server = ReturnType<typeof serve>;

function start(settings: CodecSettings, { host: hostname, port }: { host: string; port: number }, tls: Tls) {
  const { fetch } = codecApp(settings);
  const secure = tls ? { createServer: createHttps, serverOptions: tls } : {};
  return new Promise<Server>((started, failed) => {
    const server = serve({ fetch, hostname, port, ...secure }, () => started(server));
    server.once('error', (error) =>
      failed(
        new SetupProblem(`the codec server cannot listen on ${hostname}:${port} (${reasonOf(error)}): see --listen`),
      ),
    );
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((closed) => {
    server.close(() => closed());
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
}
