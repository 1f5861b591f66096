// Checks a request's headers in the order in which the API looks at them, and the fields that the
// API takes only with a value of the anthropic-beta header.
import type { IncomingHttpHeaders } from 'node:http';
import { buildApiError, buildInvalidRequest, type ApiError } from '../api-error.ts';

export const BETAS = {
  bindingControls: 'thinking-binding-controls-2026-08-01',
  clearAt: 'mid-conversation-system-clear-at-2026-08-21',
  messageEffort: 'mid-conversation-output-config-2026-07-01',
  inlineTools: 'inline-tools-2026-09-15',
  toolChanges: 'mid-conversation-tool-changes-2026-07-01',
  mcpClient: 'mcp-client-2026-09-15',
  compaction: 'compact-2026-09-04',
  thresholdCompaction: 'compact-2026-01-12',
  contextManagement: 'context-management-2025-06-27',
  fallbacks: 'server-side-fallback-2026-07-01',
  taskBudgets: 'task-budgets-2026-03-13',
  displayUpdates: 'thinking-display-updates-2026-08-18',
  tokenCount: 'thinking-token-count-2026-05-13',
} as const;

/** Beginnings of header values that admit the field: some fields have had several. */
const BETA_FIELDS: Readonly<Record<string, readonly string[]>> = {
  compaction: [BETAS.compaction],
  context_management: [BETAS.contextManagement, BETAS.thresholdCompaction],
  fallbacks: ['server-side-fallback-'],
  fallback_credit_token: ['fallback-credit-', 'server-side-fallback-'],
  mcp_servers: ['mcp-client-'],
  thread: ['message-threads-'],
  output_format: ['structured-outputs-'],
  billing_policy: [''],
};

/** Lists the fields of the top level that these values of the header admit. */
export function listBetaFields(betas: readonly string[]): readonly string[] {
  return Object.entries(BETA_FIELDS).flatMap(([field, starts]) =>
    starts.some((start) => betas.some((beta) => beta.startsWith(start))) ? [field] : [],
  );
}

/** A key that is always refused, for tests. */
const BAD_KEY = 'bad-key';

/** The version that took temperature, top_p and top_k; the next one refuses them. */
export const SAMPLING_VERSION = '2023-06-01';

const VERSIONS: readonly unknown[] = [SAMPLING_VERSION, '2026-10-21'];

export function headerProblem(headers: IncomingHttpHeaders): ApiError | undefined {
  const key = headers['x-api-key'];
  const bearer = headers.authorization;
  if (key === undefined && bearer === undefined) return buildApiError(401, 'x-api-key header is required');
  if (key === BAD_KEY || key === '') return buildApiError(401, 'invalid x-api-key');
  if (bearer !== undefined && !/^Bearer \S+$/.test(bearer)) return buildApiError(401, 'Invalid bearer token');
  if (bearer === `Bearer ${BAD_KEY}`) return buildApiError(401, 'Invalid bearer token');
  if (headers['anthropic-version'] === undefined) return buildInvalidRequest('anthropic-version: header is required');
  if (!VERSIONS.includes(headers['anthropic-version'])) {
    return buildInvalidRequest(`anthropic-version: "${String(headers['anthropic-version'])}" is not a valid version`);
  }
  return undefined;
}

export function contentTypeProblem(headers: IncomingHttpHeaders): ApiError | undefined {
  const type = headers['content-type'] ?? '';
  if (/^application\/json\s*(;|$)/i.test(type)) return undefined;
  return { ...buildInvalidRequest('content-type: must be application/json'), status: 415 };
}
