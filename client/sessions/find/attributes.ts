// Checks the search attributes of a namespace and registers missing ones (O1). A server refuses a
// workflow with an attribute that it does not know, so sessions carry all of them or none.
import { AsyncResource } from 'node:async_hooks';
import type { Connection } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { GRPC, readGrpcFailure } from '../../../connection/grpc-failure.ts';
import { ATTRIBUTES, type AttributeType } from '../../../workflows/contract/visibility.ts';
import { impatient } from '../persist.ts';

/** `other_type`: a foreign attribute has the name. */
export type AttributeState = 'there' | 'added' | 'missing' | 'other_type';

export type AttributeCheck = { readonly name: string; readonly type: AttributeType; readonly state: AttributeState };

export type AttributesFound = {
  readonly checks: readonly AttributeCheck[];
  /** True when every attribute exists and can be queried. */
  readonly usable: boolean;
  /** The server's answer that explains why they are not usable. */
  readonly why?: string;
};

/**
 * Answers of servers where a client may not add an attribute, or cannot add one that way (as in
 * Temporal Cloud).
 */
const refusals: ReadonlySet<number | undefined> = new Set([
  GRPC.permissionDenied,
  GRPC.unauthenticated,
  GRPC.unimplemented,
  GRPC.failedPrecondition,
  GRPC.invalidArgument,
  GRPC.resourceExhausted,
]);

const wanted = Object.values(ATTRIBUTES);

/**
 * Adds missing attributes. A refusal is an answer; a server that does not answer makes it throw.
 */
export async function ensureAttributes(connection: Connection, namespace: string): Promise<AttributesFound> {
  let checks: readonly AttributeCheck[] = wanted.map((each) => ({ ...each, state: 'missing' }));
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    checks = wanted.map((each) => ({ ...each, state: stateOf(customAttributes[each.name], each.type) }));
    const missing = checks.filter(({ state }) => state === 'missing');
    if (missing.length > 0) {
      const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, encodeType(type)]));
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
      checks = checks.map((each) => (each.state === 'missing' ? { ...each, state: 'added' } : each));
    }
    if (checks.some(({ state }) => state === 'other_type')) return { checks, usable: false };
    await askForAll(connection, namespace);
    return { checks, usable: true };
  } catch (error) {
    const { code, why } = readGrpcFailure(error);
    if (refusals.has(code)) return { checks, usable: false, why };
    throw error;
  }
}

/**
 * A cluster's frontends learn of a new attribute within a minute. Until then they refuse it, and
 * sessions go without.
 */
async function askForAll({ workflowService }: Connection, namespace: string): Promise<void> {
  const query = wanted.map(({ name }) => `${name} IS NULL`).join(' AND ');
  await workflowService.countWorkflowExecutions({ namespace, query });
}

function stateOf(type: number | null | undefined, needed: AttributeType): AttributeState {
  if (type === undefined || type === null) return 'missing';
  return type === encodeType(needed) ? 'there' : 'other_type';
}

function encodeType(type: AttributeType): number {
  const value = encodeSearchAttributeIndexedValueType(type);
  if (value === undefined) throw new Error(`Temporal's SDK does not know attributes of type ${type}`);
  return value;
}

type KeptAnswer = { readonly found: Promise<boolean>; readonly until: number };

const knownAnswers = new WeakMap<Connection, Map<string, KeptAnswer>>();

/**
 * Milliseconds for which a bad answer is kept, since someone may register them while a page or a
 * program runs.
 */
const ASK_AGAIN_MS = 60_000;

/** Bound, so that a caller who gives up does not abort what others wait for. */
const askInTime = AsyncResource.bind(async (connection: Connection, namespace: string): Promise<boolean> => {
  const deadline = Date.now() + impatient.total;
  const { usable } = await connection.withDeadline(deadline, () => ensureAttributes(connection, namespace));
  return usable;
});

/**
 * Tells whether sessions may carry the attributes. A good answer is kept for the connection, a bad
 * one for a minute; a failed call throws.
 */
export async function canUseAttributes(connection: Connection, namespace: string): Promise<boolean> {
  const answers = knownAnswers.get(connection) ?? new Map<string, KeptAnswer>();
  knownAnswers.set(connection, answers);
  const known = answers.get(namespace);
  if (known !== undefined && ((await known.found) || known.until > Date.now())) return known.found;
  const found = askInTime(connection, namespace);
  answers.set(namespace, { found, until: Date.now() + ASK_AGAIN_MS });
  found.catch(() => answers.delete(namespace));
  return found;
}
