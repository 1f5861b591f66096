// Callers and their rights (G19, G55): people by role, self-hosted workers only within their
// environment or lease.
import type { Context } from 'hono';
import { itemOf, refuseLease, type WorkQueues } from '../client/faces/work-items.ts';
import { type Access, isFromProxy, isOwnHost, isOwnOrigin } from '../page/hosting/access.ts';
import { mayDo, OWNER, type Person, personWith, type Role } from '../page/hosting/people.ts';
import { ManagedError } from './errors.ts';
import type { ManagedStore } from './log/stored.ts';
import type { ServedRoute } from './surface.ts';
import { environmentOfKey, leaseOfToken, type SessionLease } from './work/credentials.ts';

export type Caller =
  | { readonly kind: 'person'; readonly person: Person }
  | { readonly kind: 'environment key'; readonly environment: string }
  | { readonly kind: 'session token'; readonly lease: SessionLease };

type CallerParts = { readonly stored: ManagedStore; readonly queues: WorkQueues };
type Params = Readonly<Record<string, string>>;

/**
 * Lets a request in by its token, never by a browser's cookie (G19, G20): `Authorization: Bearer`
 * goes before `x-api-key`, as helpers of the SDKs send both. Throws ManagedError.
 */
export async function authenticate(
  context: Context,
  access: Access,
  { stored }: Pick<CallerParts, 'stored'>,
): Promise<Caller> {
  const origin = context.req.header('origin');
  if (!isFromProxy(context, access)) throw new ManagedError(403, 'Only the proxy of this server may ask');
  if (!isOwnHost(context, access)) throw new ManagedError(421, 'This is another host than the one that is served here');
  if (origin !== undefined && !isOwnOrigin(context, access, origin))
    throw new ManagedError(403, 'Pages of other sites may not ask');
  const header = context.req.header('authorization') ?? '';
  const bearer = /^Bearer /i.test(header) ? header.slice('Bearer '.length).trim() : undefined;
  const { owner, people } = access;
  const token = bearer ?? context.req.header('x-api-key') ?? '';
  const person = personWith(owner ? [owner.person, ...people] : people, token);
  if (person !== null) return { kind: 'person', person };
  const environment = await environmentOfKey(stored, token);
  if (environment !== null) return { kind: 'environment key', environment };
  const lease = leaseOfToken(await stored.secret(), token);
  if (lease !== null) return { kind: 'session token', lease };
  throw new ManagedError(401, 'invalid x-api-key: `perdure serve --token` prints the token of this server');
}

export const nameOf = (caller: Caller): string => {
  if (caller.kind === 'person') return caller.person.name ?? OWNER;
  return caller.kind === 'environment key' ? `environment ${caller.environment}` : `work ${caller.lease.work}`;
};

/** Returns the lease that a worker acts for on a session's path. Throws ManagedError 403. */
export async function authorize(
  parts: CallerParts,
  caller: Caller,
  { name, role, workers }: ServedRoute,
  params: Params,
): Promise<SessionLease | undefined> {
  if (caller.kind === 'person') {
    if (role === null) throw new ManagedError(403, 'This is for workers: use an environment key');
    requireRole(caller, role);
    return undefined;
  }
  if (!(workers as readonly string[]).includes(caller.kind))
    throw new ManagedError(403, `This is not for ${caller.kind === 'environment key' ? 'an' : 'a'} ${caller.kind}`);
  const {
    environment_id: environment,
    session_id: session,
    work_id: work,
    memory_store_id: memoryStore,
    skill_id: skill,
  } = params;
  if (caller.kind === 'environment key') {
    if (environment !== undefined && environment !== caller.environment) throw new ManagedError(403, ELSEWHERE);
    return session === undefined ? undefined : liveLease(parts, caller.environment, session);
  }
  const { lease } = caller;
  const isElsewhere =
    (environment !== undefined && environment !== lease.environment) ||
    (session !== undefined && session !== lease.session) ||
    (work !== undefined && work !== lease.work);
  if (isElsewhere) throw new ManagedError(403, ELSEWHERE);
  // A result that comes too late is looked at before it is refused (G50).
  if ((session ?? memoryStore ?? skill) !== undefined && name !== 'sessions.events.send')
    await requireCounting(parts, lease);
  return lease;
}

const ELSEWHERE = 'This credential is for another environment, session or work item';

/** Checks people only: roles don't apply to workers. Throws ManagedError 403. */
export function requireRole(caller: Caller, needed: Role): void {
  if (caller.kind !== 'person' || mayDo(caller.person.role, needed)) return;
  throw new ManagedError(403, `That needs the role ${needed}, and yours is ${caller.person.role}: nothing was done`);
}

/** An environment key acts for the lease that the session has there. */
async function liveLease({ queues }: CallerParts, environment: string, session: string): Promise<SessionLease> {
  const [work, item] = itemOf(await queues.of(environment).items(), session) ?? [];
  if (work === undefined || item?.lease?.ackedAt === undefined)
    throw new ManagedError(403, 'No worker of this environment has a lease on this session');
  return { environment, session, work, g: item.lease.g };
}

/**
 * A lapsed lease counts until its calls are concluded, so that results under way arrive. Throws
 * ManagedError 403.
 */
export async function requireCounting(
  { queues }: Pick<CallerParts, 'queues'>,
  { environment, work, g }: SessionLease,
): Promise<void> {
  const item = (await queues.of(environment).items()).get(work);
  const refusal = item ? refuseLease(item, g) : 'stopped';
  if (refusal !== null && refusal !== 'lapsed')
    throw new ManagedError(403, `The lease of this token is ${refusal}: nothing was done`);
}
