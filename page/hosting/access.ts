// Decides who may see the page and act on it: browsers that were let in. Another site's script, a
// rebound name and a guess get nothing. Cookies ignore ports, so each page of this machine has a
// host name of its own; and it uses no cookie, since browsers keep cookies in files.
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { PageAddress } from '../page-address.ts';
import { type Forwarder, isLoopbackName, nameAt } from './page-host.ts';
import { codeTaker, isPass, newPass, newShare, shareEnd, type TakenCode } from './passes.ts';
import { isOwnPeer, type Peer } from './peer-user.ts';
import { drawFor, mayDo, type Person, type Role } from './people.ts';

/** The owner of the data folder, who lets browsers in by codes signed with its key. */
type Owner = {
  readonly person: Person;
  readonly key: string;
  /** A good code works once. `isOwnUser` tells who sends it. */
  readonly spend: (code: string, isOwnUser: () => boolean) => TakenCode;
};

export type Access = {
  /** A name that no other page has, and the port. */
  readonly host: () => string;
  /** Names, besides those of loopback, under which a forwarder shows a page of this machine. */
  readonly forwarders?: readonly Forwarder[];
  readonly people: readonly Person[];
  /** Present on a page of this machine. */
  readonly owner?: Owner;
  /** The page has a section of agents. */
  readonly hasAgents?: boolean;
  /** The page is open to other machines, over TLS. */
  readonly hosted: boolean;
  /** The one address that may send requests, where a proxy terminates TLS. */
  readonly proxy?: string;
};

/** Makes the access for printed addresses, and for people with tokens of their own. */
export function ownAccess(
  { key, apiToken, run }: Pick<PageAddress, 'key' | 'apiToken' | 'run'>,
  host: () => string,
  { people = [], forwarders = [] }: Pick<Partial<Access>, 'people' | 'forwarders'> = {},
): Access {
  const person = { name: null, role: 'steer', token: apiToken } as const;
  return { host, people, forwarders, owner: { person, key, spend: codeTaker({ key, run }) }, hosted: false };
}

const ELSEWHERE =
  'this name is not one of the page: open it under localhost or the name that perdure printed, at any port, or see --page-forwarded and --page-host for others';
export const SIGN_IN = '/sign-in';
/** A browser requests it once with its pass and then sends the pass along with every request. */
export const ENTERED = '/entered';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

export function guardPage(access: Access): MiddlewareHandler {
  return async (context, next) => {
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    const { method } = context.req;
    if (!isFromProxy(context, access)) return context.text('only the proxy of this page may ask', 403);
    if (!isOwnHost(context, access)) return context.text(ELSEWHERE, 421);
    if (method !== 'GET' && method !== 'POST') return context.text('only GET and POST', 405, { Allow: 'GET, POST' });
    if (isForeignFetch(context, access)) return context.text('only this page itself may ask that', 403);
    const person = personIn(context, access);
    if (!person && !isOpen(context, access)) return refuse(context, access);
    if (method === 'POST') {
      const problem = foreignProblem(context, access) ?? (person && roleProblem(context, person));
      if (problem) return problem;
    }
    await (person ? drawFor(person, access.hasAgents ?? false, next) : next());
    return undefined;
  };
}

/** Returns the person who asks, or null for a stranger. */
export function personIn(context: Context, access: Access): Person | null {
  const pass = access.hosted ? (getCookie(context, COOKIE) ?? '') : passSent(context);
  const { owner, people } = access;
  if (owner && isPass(owner.key, pageName(access), pass)) return owner.person;
  return people.find(({ token }) => isPass(token, pageName(access), pass)) ?? null;
}

/** Reads the pass from HTTP authentication. */
function passSent(context: Context): string {
  const [, sent = ''] = /^Basic +([\w+/=-]+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
  return Buffer.from(sent, 'base64').toString().split(':')[1] ?? '';
}

/** Addresses below it show one session to whoever has them. */
export const SHARED = '/shared';

/** Makes the address of a session for others, signed with the key of the person who shares it. */
export function sharePath(access: Access, person: Person, session: string, hours: number): string {
  const key = person.name === null ? (access.owner?.key ?? person.token) : person.token;
  return `${SHARED}/${session}/${newShare({ key, name: pageName(access), session }, hours)}`;
}

/** Returns when a shared address, or its maker, ends: milliseconds since the epoch, or null. */
export function readShareEnd(access: Access, session: string, share: string): number | null {
  const keys = [...(access.owner ? [access.owner.key] : []), ...access.people.map(({ token }) => token)];
  const ends = keys.flatMap((key) => shareEnd({ key, name: pageName(access), session }, share) ?? []);
  return ends[0] ?? null;
}

const pageName = ({ host }: Access): string => nameIn(host());

/** Returns the code of a printed address. */
export function codeIn(context: Context, { owner }: Access): string | undefined {
  return owner && context.req.method === 'GET' ? context.req.query('code') : undefined;
}

/** Uses up a code that a browser sends; undefined where no codes let anybody in. */
export function spendCode(context: Context, { owner }: Access, code: string): TakenCode | undefined {
  return owner?.spend(code, () => isOwnPeer(socketOf(context)));
}

/** Tells whether a stranger may request this to sign in. */
function isOpen(context: Context, access: Access): boolean {
  const { path, method } = context.req;
  if (path.startsWith(`${SHARED}/`)) return method === 'GET';
  return path === SIGN_IN || path.startsWith('/static/') || codeIn(context, access) !== undefined;
}

/**
 * A browser sends its kept HTTP authentication whichever site makes it ask, but it names that site.
 * A link from elsewhere may still lead here.
 */
function isForeignFetch(context: Context, { hosted }: Access): boolean {
  const site = context.req.header('sec-fetch-site');
  const isLink = context.req.header('sec-fetch-dest') === 'document' && context.req.method === 'GET';
  return !hosted && (site === 'cross-site' || site === 'same-site') && !isLink;
}

type Incoming = { readonly incoming?: { readonly socket?: Peer } };

const socketOf = (context: Context): Peer | undefined => (context.env as Incoming | undefined)?.incoming?.socket;

/** Trusts only the named proxy that the browser came over TLS. */
export function isFromProxy(context: Context, { proxy }: Access): boolean {
  if (proxy === undefined) return true;
  const peer = socketOf(context)?.remoteAddress?.replace(/^::ffff:/, '');
  return peer === proxy && context.req.header('x-forwarded-proto') === 'https';
}

const nameIn = (host: string): string => host.replace(/:\d{1,5}$/, '');

/**
 * Under its own name and those of loopback the port may be any, as forwarders change it: no site
 * can make these names lead here.
 */
export function isOwnHost(context: Context, { host, hosted, forwarders = [] }: Access): boolean {
  const requested = context.req.header('host') ?? '';
  if (hosted) return requested === host();
  const name = nameIn(requested);
  return name === nameIn(host()) || isLoopbackName(name) || namesOf(forwarders, host()).includes(requested);
}

const namesOf = (forwarders: readonly Forwarder[], host: string): readonly string[] =>
  forwarders.map((forwarder) => nameAt(forwarder, portIn(host)));

/**
 * Tells whether a browser shows a page from here at this origin. A forwarder may end TLS, and may
 * replace the browser's name by its own end, `localhost` at our port.
 */
export function isOwnOrigin(context: Context, access: Access, origin: string): boolean {
  if (access.hosted) return origin === ownOrigin(access);
  const requested = context.req.header('host') ?? '';
  const port = portIn(access.host());
  const isForwarded = namesOf(access.forwarders ?? [], access.host()).includes(requested);
  const mayBeRewritten = isForwarded || requested === 'localhost' || requested === `localhost:${port}`;
  const own = [requested, ...(mayBeRewritten ? [`localhost:${port}`] : [])];
  return own.some((name) => origin === `http://${name}` || origin === `https://${name}`);
}

const portIn = (host: string): number => Number(host.split(':').at(-1));

/** Only our own page may post: another site sends no JSON, and its script shows its origin. */
function foreignProblem(context: Context, access: Access): Response | null {
  if (!isOwnOrigin(context, access, context.req.header('origin') ?? ''))
    return context.text('only this page itself may ask that', 403);
  return isJson(context) ? null : context.text('only application/json', 415);
}

const ownOrigin = ({ host, hosted }: Access): string => `${hosted ? 'https' : 'http'}://${host()}`;

export function isJson(context: Context): boolean {
  return context.req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

function roleProblem(context: Context, person: Person): Response | null {
  const { path } = context.req;
  const needed: Role =
    path === SIGN_IN
      ? 'look'
      : /^(?:\/sessions\/[^/]+\/(?:approve|deny|answer)|\/inbox\/allow)$/.test(path)
        ? 'decide'
        : 'steer';
  if (mayDo(person.role, needed)) return null;
  return context.html(
    `<p class="bad">That needs the role ${needed}, and yours is ${person.role}: nothing was done.</p>`,
    403,
  );
}

/** Browsers accept a cookie of this name only from the very host and over TLS. */
const COOKIE = '__Host-perdure';

/** `key` belongs to the person whom the pass is for. */
export function letIn(context: Context, access: Access, key: string): Response {
  const pass = newPass(key, pageName(access));
  if (!access.hosted) return context.json({ pass });
  setCookie(context, COOKIE, pass, { httpOnly: true, sameSite: 'Strict', path: '/', secure: true });
  return context.json({});
}

function refuse(context: Context, { hosted }: Access): Response {
  const { method, path } = context.req;
  if (path === ENTERED && !hosted) context.header('WWW-Authenticate', 'Basic realm="Perdure"');
  const isPage = method === 'GET' && (context.req.header('accept') ?? '').includes('text/html');
  if (isPage && path !== ENTERED) return context.redirect(SIGN_IN, 303);
  return context.text(
    hosted ? 'sign in first' : 'sign in first: `perdure page --address` prints an address for it',
    401,
  );
}
