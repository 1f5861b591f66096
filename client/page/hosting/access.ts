// Who may see the page, and act on it: a browser that once had a token. Another site's script, a rebound name and a guess get nothing.
// Cookies do not know ports, so each page of this machine has a host name of its own.
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { sessionIdProblem } from '../../sessions/info.ts';
import { mayDo, type Person, personWith, type Role } from './people.ts';

export type Access = {
  /** The one Host that is answered: a name that no other page has. */
  readonly host: () => string;
  readonly people: readonly Person[];
  /** It is open to other machines, over TLS: people sign in on a page, and no token is in an address. */
  readonly hosted: boolean;
  /** The one address that may ask, where a proxy ends TLS. */
  readonly proxy?: string;
};

/** For whoever was given the page's address, with its token, and for others of this machine with tokens of their own. */
export function ownAccess(token: string, host: () => string, others: readonly Person[] = []): Access {
  return { host, people: [{ name: null, role: 'steer', token }, ...others], hosted: false };
}

const ELSEWHERE =
  'the page is only under the name that perdure printed, at any port that is forwarded to it: open that one, or see --page-host for others';
export const SIGN_IN = '/sign-in';

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

export function guard(access: Access): MiddlewareHandler {
  return async (context, next) => {
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    const { method, path } = context.req;
    if (!isFromProxy(context, access)) return context.text('only the proxy of this page may ask', 403);
    if (!isOwnHost(context, access)) return context.text(ELSEWHERE, 421);
    if (method !== 'GET' && method !== 'POST') return context.text('only GET and POST', 405, { Allow: 'GET, POST' });
    const given = access.hosted ? undefined : context.req.query('token');
    if (given !== undefined && method === 'GET')
      return personWith(access.people, given) ? admit(context, access, given) : refuse(context, access);
    const person = personIn(context, access);
    const open = access.hosted && (path === SIGN_IN || path.startsWith('/static/'));
    if (!person && !open) return refuse(context, access);
    if (method === 'POST') {
      const problem = foreignProblem(context, access) ?? (person && roleProblem(context, person));
      if (problem) return problem;
    }
    await next();
    return undefined;
  };
}

/** Who asks. Null: nobody who is known. */
export function personIn(context: Context, access: Access): Person | null {
  return personWith(access.people, getCookie(context, cookieName(access)) ?? '');
}

type Incoming = { readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } } };

/** Its word that the browser came over TLS is taken; nobody else's is. */
export function isFromProxy(context: Context, { proxy }: Access): boolean {
  if (proxy === undefined) return true;
  const peer = (context.env as Incoming | undefined)?.incoming?.socket?.remoteAddress?.replace(/^::ffff:/, '');
  return peer === proxy && context.req.header('x-forwarded-proto') === 'https';
}

const nameIn = (host: string): string => host.replace(/:\d{1,5}$/, '');

/** Under a name that no other page has, a forwarded port may be any. */
function isOwnHost(context: Context, { host, hosted }: Access): boolean {
  const asked = context.req.header('host') ?? '';
  return asked === host() || (!hosted && nameIn(asked) === nameIn(host()));
}

/** Only our own page posts here: another site's form cannot send JSON, and its script is known by its origin. */
function foreignProblem(context: Context, access: Access): Response | null {
  // As the browser sees it, through whatever port.
  const own = access.hosted ? ownOrigin(access) : `http://${context.req.header('host') ?? ''}`;
  if (context.req.header('origin') !== own) return context.text('only this page itself may ask that', 403);
  return isJson(context) ? null : context.text('only application/json', 415);
}

export const ownOrigin = ({ host, hosted }: Access): string => `${hosted ? 'https' : 'http'}://${host()}`;

export function isJson(context: Context): boolean {
  return context.req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

function roleProblem(context: Context, person: Person): Response | null {
  const { path } = context.req;
  const needed: Role =
    path === SIGN_IN ? 'look' : /^\/sessions\/[^/]+\/(?:approve|deny|answer)$/.test(path) ? 'decide' : 'steer';
  if (mayDo(person, needed)) return null;
  return context.html(
    `<p class="bad">That needs the role ${needed}, and yours is ${person.role}: nothing was done.</p>`,
    403,
  );
}

/** A cookie of the first name is taken from the very host alone, and over TLS. */
const cookieName = ({ hosted }: Access): string => (hosted ? '__Host-perdure' : 'perdure');

export function setToken(context: Context, access: Access, token: string): void {
  const secure = access.hosted ? { secure: true } : {};
  setCookie(context, cookieName(access), token, { httpOnly: true, sameSite: 'Strict', path: '/', ...secure });
}

/** The token leaves the address bar and its history. */
function admit(context: Context, access: Access, token: string): Response {
  setToken(context, access, token);
  return context.redirect(ownPath(context.req.path), 303);
}

/** Only a path of ours: browsers read `//evil`, `/\evil` and the like, with tabs between, as another site. */
function ownPath(path: string): string {
  const session = /^\/sessions\/([^/]+)$/.exec(path)?.[1];
  return session !== undefined && sessionIdProblem(session) === undefined ? `/sessions/${session}` : '/';
}

function refuse(context: Context, { hosted }: Access): Response {
  if (!hosted) return context.text('open the address that perdure printed: it has the token', 401);
  const isPage = context.req.method === 'GET' && (context.req.header('accept') ?? '').includes('text/html');
  return isPage ? context.redirect(SIGN_IN, 303) : context.text('sign in first', 401);
}
