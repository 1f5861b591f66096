// The HTTP API without a port: asked as a program asks it, with the token of whoever has the page's
// address unless it says otherwise.
import { expect } from 'vitest';
import { type Access, ownAccess } from '../../../page/hosting/access.ts';
import { problem } from '../../../page/api/schemas.ts';
import type { PagePorts } from '../../../page/ports.ts';
import { PAGE_HOST, SECRETS, stagedPage, type Staged } from '../../support/page-ports.ts';

export const token = (role: string): string => `${role}-`.padEnd(40, '0');
export const others = (['look', 'decide', 'steer'] as const).map((role) => ({
  name: `${role}er`,
  role,
  token: token(role),
}));
export const access = ownAccess(SECRETS, () => PAGE_HOST, { people: others });

type More = { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown; readonly method?: string };

export async function stagedApi(staged: Staged = {}, to: Access = access) {
  const { page, done, ports } = await stagedPage(staged, to);
  const ask = (path: string, { headers = {}, body, method = body === undefined ? 'GET' : 'POST' }: More = {}) =>
    page.app.request(`/api/v1${path}`, {
      method,
      headers: {
        host: '127.0.0.1:4567',
        authorization: 'Bearer secret',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return { ask, done, ports, page };
}

/** What each method of a client was called with. */
export function recording(methods: Readonly<Record<string, unknown>>) {
  const calls: unknown[][] = [];
  const ports = Object.fromEntries(
    Object.entries(methods).map(([name, value]) => [
      name,
      (...args: unknown[]) => {
        const plain = args.map((one) => (one && typeof one === 'object' ? { ...one, signal: undefined } : one));
        calls.push([name, ...plain]);
        return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
      },
    ]),
  ) as Partial<PagePorts>;
  return { calls, ports };
}

export async function problemFrom(answer: Response | Promise<Response>) {
  const response = await answer;
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const read = problem.parse(await response.json());
  expect(read.detail).toMatch(/^[^\n]+$/);
  expect(read.status).toBe(response.status);
  return { status: read.status, kind: read.kind, detail: read.detail };
}
