// Who may see the page: a browser on this machine that once had the token. Another site's script, a rebound name and a guess get
// nothing. Cookies do not know ports, so each page has a host name of its own.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { sessionIdProblem } from '../sessions/info.ts';

export type Access = {
  readonly token: string;
  /** The one Host that is answered: a name that no other page has, and the port. */
  readonly host: () => string;
};

const COOKIE = 'perdure';
const ELSEWHERE = 'the page is only at the address that perdure printed: open that one';

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
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
    if (context.req.header('host') !== access.host()) return context.text(ELSEWHERE, 421);
    if (context.req.method !== 'GET') return context.text('only GET', 405, { Allow: 'GET' });
    const given = context.req.query('token');
    if (given !== undefined) return same(given, access.token) ? admit(context, given) : refuse(context);
    if (!same(getCookie(context, COOKIE) ?? '', access.token)) return refuse(context);
    await next();
    return undefined;
  };
}

/** The token leaves the address bar and its history. */
function admit(context: Context, token: string): Response {
  setCookie(context, COOKIE, token, { httpOnly: true, sameSite: 'Strict', path: '/' });
  return context.redirect(ownPath(context.req.path), 303);
}

/** Only a path of ours: browsers read `//evil`, `/\evil` and the like, with tabs between, as another site. */
function ownPath(path: string): string {
  const session = /^\/sessions\/([^/]+)$/.exec(path)?.[1];
  return session !== undefined && sessionIdProblem(session) === undefined ? `/sessions/${session}` : '/';
}

function refuse(context: Context): Response {
  return context.text('open the address that perdure printed: it has the token', 401);
}

function same(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
