// Who may see the page: a browser on this machine that once had the token. Another site's script, a rebound name and a guess get
// nothing. Cookies do not know ports, so the cookie's name has the port: two pages do not log each other out.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

export type Access = {
  readonly token: string;
  /** The one Host that is answered: 127.0.0.1 and the port. */
  readonly host: () => string;
};

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
    if (context.req.header('host') !== access.host()) return context.text('wrong host', 421);
    if (context.req.method !== 'GET') return context.text('only GET', 405, { Allow: 'GET' });
    const cookie = `perdure_${access.host().split(':')[1]}`;
    const given = context.req.query('token');
    if (given !== undefined) return same(given, access.token) ? admit(context, cookie, given) : refuse(context);
    if (!same(getCookie(context, cookie) ?? '', access.token)) return refuse(context);
    await next();
    return undefined;
  };
}

/** The token leaves the address bar and its history. */
function admit(context: Context, cookie: string, token: string): Response {
  setCookie(context, cookie, token, { httpOnly: true, sameSite: 'Strict', path: '/' });
  // Never `//elsewhere`, which a browser takes for another site.
  return context.redirect(`/${context.req.path.replace(/^[/\\]+/, '')}`, 303);
}

function refuse(context: Context): Response {
  return context.text('open the address that perdure printed: it has the token', 401);
}

function same(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
