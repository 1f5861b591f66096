// Who may see the page, and act on it: a browser that once had a token. Another site's script, a rebound name and a guess get nothing.
// Cookies do not know ports, so each page has a host name of its own.
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
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
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
    const { method } = context.req;
    if (context.req.header('host') !== access.host()) return context.text(ELSEWHERE, 421);
    if (method !== 'GET' && method !== 'POST') return context.text('only GET and POST', 405, { Allow: 'GET, POST' });
    const given = context.req.query('token');
    if (given !== undefined && method === 'GET')
      return same(given, access.token) ? admit(context, given) : refuse(context);
    if (!same(getCookie(context, COOKIE) ?? '', access.token)) return refuse(context);
    const problem = method === 'POST' ? foreignProblem(context, access.host()) : null;
    if (problem !== null) return problem;
    await next();
    return undefined;
  };
}

/** Only our own page posts here: another site's form cannot send JSON, and its script is known by its origin. */
function foreignProblem(context: Context, host: string): Response | null {
  const origin = context.req.header('origin');
  if (origin !== `http://${host}`) return context.text('only this page itself may ask that', 403);
  const type = context.req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  return type === 'application/json' ? null : context.text('only application/json', 415);
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
