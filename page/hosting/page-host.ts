// Configures a page that people open from other machines: under one name, over TLS of its own or
// behind one named proxy, for people with tokens of their own. A missing or wrong setting is
// refused with one sentence before anything listens.
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Env } from '../../connection/data-folder.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf } from '../../system/text.ts';
import { type Person, readPeople } from './people.ts';

/** Flags of the command line. */
export type HostFlags = {
  readonly pageHost?: string;
  readonly pageCert?: string;
  readonly pageKey?: string;
  readonly pageProxy?: string;
  readonly pageListen?: string;
  readonly pageTokens?: string;
  /** For a page of this machine. */
  readonly pageForwarded?: string;
};

export type PageHost = {
  /** The Host header that browsers send, with the port unless it is 443. */
  readonly name: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly people: readonly Person[];
  readonly by:
    | { readonly kind: 'tls'; readonly cert: string; readonly key: string }
    /** The address of the proxy that ends TLS; other clients get no answer. */
    | { readonly kind: 'proxy'; readonly address: string };
};

const HTTPS = 443;
const NEEDS = 'a page that is open to other machines';

/** Returns null when no host is given. Throws SetupProblem. */
export function readPageHost(flags: HostFlags): PageHost | null {
  const { pageHost, pageTokens } = flags;
  if (pageHost === undefined) {
    const alone = Object.keys(flags).find(
      (key) =>
        key.startsWith('page') &&
        key !== 'pageTokens' &&
        key !== 'pageForwarded' &&
        flags[key as keyof HostFlags] !== undefined,
    );
    if (alone !== undefined)
      throw new SetupProblem(`${optionName(alone)} means nothing without --page-host: give both or none`);
    return null;
  }
  const { host, port } = hostOf(pageHost);
  const by = readTermination(flags);
  if (pageTokens === undefined)
    throw new SetupProblem(`${NEEDS} needs people who may see it: name a file of their tokens with --page-tokens`);
  return {
    name: port === HTTPS ? host : `${host}:${port}`,
    listen: listenOf(flags, by, port),
    people: readPeople(pageTokens),
    by,
  };
}

const optionName = (key: string): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function hostOf(address: string): { readonly host: string; readonly port: number } {
  const [, host = '', digits = String(HTTPS)] =
    /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?$/.exec(address) ?? [];
  const port = Number(digits);
  if (host !== '' && port >= 1 && port <= 65_535) return { host, port };
  throw new SetupProblem(
    `--page-host is ${JSON.stringify(address.slice(0, 80))}: give the name that people open, in small letters, as in ops.example or ops.example:8443`,
  );
}

function readTermination({ pageCert, pageKey, pageProxy }: HostFlags): PageHost['by'] {
  const tls = pageCert !== undefined || pageKey !== undefined;
  if (tls === (pageProxy !== undefined))
    throw new SetupProblem(
      `${NEEDS} needs TLS: give --page-cert and --page-key, or the address of the one proxy that has it with --page-proxy`,
    );
  if (pageProxy !== undefined) {
    if (isIP(pageProxy) !== 0) return { kind: 'proxy', address: pageProxy };
    throw new SetupProblem(`--page-proxy is ${JSON.stringify(pageProxy.slice(0, 80))}: give the proxy's IP address`);
  }
  if (pageCert === undefined || pageKey === undefined)
    throw new SetupProblem('--page-cert and --page-key belong together: give both');
  return { kind: 'tls', ...readCertificate({ cert: pageCert, key: pageKey }, ['--page-cert', '--page-key']) };
}

type Certificate = { readonly cert: string; readonly key: string };

/** Reads a certificate and its key, in PEM, from the files of two options. Throws SetupProblem. */
export function readCertificate(
  files: Certificate,
  [certOption, keyOption]: readonly [cert: string, key: string],
): Certificate {
  const [cert, key] = [readPem(files.cert, certOption), readPem(files.key, keyOption)];
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new SetupProblem(`${certOption} and ${keyOption} are no certificate and its key (${reasonOf(error)})`, {
      cause: error,
    });
  }
  return { cert, key };
}

function readPem(path: string, option: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new SetupProblem(`${option} cannot be read (${reasonOf(error)})`, { cause: error });
  }
}

/**
 * With TLS of its own the page listens on the port of its name; behind a proxy the address must be
 * given.
 */
function listenOf({ pageListen }: HostFlags, by: PageHost['by'], port: number): PageHost['listen'] {
  if (pageListen === undefined) {
    if (by.kind === 'tls') return { host: '::', port };
    throw new SetupProblem(
      'behind a proxy the page needs to know where to listen: give --page-listen, as in 127.0.0.1:8080',
    );
  }
  return parseListen(pageListen, '--page-listen');
}

/** Reads `host:port` of an option. Throws SetupProblem. */
export function parseListen(text: string, option: string): PageHost['listen'] {
  const [, ipv6, host, digits = ''] = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text) ?? [];
  const at = { host: ipv6 ?? host ?? '', port: Number(digits) };
  if (at.host !== '' && at.port <= 65_535) return at;
  throw new SetupProblem(`${option} is ${JSON.stringify(text.slice(0, 80))}: give host:port as in 127.0.0.1:8080`);
}

// Names under which a forwarder of ports shows a page of this machine: loopback names, those that a
// cloud workspace has in its environment, and those that the user names. A name is never taken from
// a request, since any site can make a name lead here.
/** A host name in which `PORT` stands for the page's port. */
export type Forwarder = string;

const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})+$`);

/** Reads the names of GitHub Codespaces, Gitpod and Google Cloud Shell from the environment. */
export function forwardersOf(env: Env): readonly Forwarder[] {
  const { CODESPACES: isCodespace, CODESPACE_NAME: codespace = '', GITPOD_WORKSPACE_URL: gitpod = '', WEB_HOST } = env;
  const domain = env['GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN'] ?? '';
  const names = [
    isCodespace === 'true' ? `${codespace}-PORT.${domain}` : '',
    `PORT-${/^https:\/\/([^/]+)\/?$/.exec(gitpod)?.[1] ?? ''}`,
    env['CLOUD_SHELL'] === 'true' ? `PORT-${WEB_HOST ?? ''}` : '',
  ];
  return names.filter((name) => NAME.test(nameAt(name, 1)));
}

/** Throws SetupProblem for a text that cannot be such a name. */
export function parseForwarder(text: string): Forwarder {
  if (NAME.test(nameAt(text, 1))) return text;
  throw new SetupProblem(
    `--page-forwarded is ${JSON.stringify(text.slice(0, 80))}: give the name alone under which the page is forwarded, in small letters, with PORT for the page's port, as in PORT-me.example`,
  );
}

export const nameAt = (forwarder: Forwarder, port: number): string => forwarder.replace('PORT', String(port));

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

export const isLoopbackName = (name: string): boolean => LOOPBACK.has(name);
