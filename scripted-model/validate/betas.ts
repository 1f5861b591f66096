// Fields that the API takes only with a value of the anthropic-beta header, each with its own.
import { extraKey, firstProblem, isObject, type Json } from './shape.ts';

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

/** Any value of the header whose name begins so admits the field: these have had several. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  compaction: [BETAS.compaction],
  context_management: [BETAS.contextManagement, BETAS.thresholdCompaction],
  fallbacks: ['server-side-fallback-'],
  fallback_credit_token: ['fallback-credit-', 'server-side-fallback-'],
  mcp_servers: ['mcp-client-'],
  thread: ['message-threads-'],
  output_format: ['structured-outputs-'],
  billing_policy: [''],
};

/** The fields of the top level that these values of the header admit. */
export function betaFields(betas: readonly string[]): readonly string[] {
  return Object.entries(FIELDS).flatMap(([field, starts]) =>
    starts.some((start) => betas.some((beta) => beta.startsWith(start))) ? [field] : [],
  );
}

// Context editing and compaction at a threshold: which edits, in which order, with which header.
// They are taken, and do nothing here.

const EDITS: Readonly<Record<string, string>> = {
  clear_thinking_20251015: BETAS.contextManagement,
  clear_tool_uses_20250919: BETAS.contextManagement,
  compact_20260112: BETAS.thresholdCompaction,
};
const LEAST_TRIGGER = 50_000;

export function contextManagementProblem(management: unknown, betas: readonly string[]): string | undefined {
  if (management === undefined || management === null) return undefined;
  if (!isObject(management)) return 'context_management: Input should be a valid dictionary';
  const extra = extraKey(management, new Set(['edits']), 'context_management');
  const { edits = [] } = management;
  if (extra !== undefined || !Array.isArray(edits))
    return extra ?? 'context_management.edits: Input should be a valid list';
  const list = edits as readonly unknown[];
  return (
    firstProblem(list, (edit, index) => editProblem(edit, index, betas)) ?? editOrderProblem(list as readonly Json[])
  );
}

function editProblem(edit: unknown, index: number, betas: readonly string[]): string | undefined {
  const path = `context_management.edits.${index}`;
  if (!isObject(edit)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
  const type = String(edit['type']);
  // The header of compaction at a threshold admits the other edits as well.
  const known = Object.keys(EDITS).filter(
    (name) => betas.includes(BETAS.thresholdCompaction) || EDITS[name] === BETAS.contextManagement,
  );
  if (!known.includes(type)) {
    const tags = known.map((name) => `'${name}'`).join(', ');
    return `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags}`;
  }
  const { trigger } = edit;
  const low = type === 'compact_20260112' && isObject(trigger) && Number(trigger['value']) < LEAST_TRIGGER;
  return low ? `${path}.${type}: trigger.value must be at least ${LEAST_TRIGGER}` : undefined;
}

function editOrderProblem(edits: readonly Json[]): string | undefined {
  const at = edits.findIndex(({ type }) => type === 'clear_thinking_20251015');
  if (at <= 0) return undefined;
  return 'context_management: `clear_thinking_20251015` must be the first strategy in `context_management.edits` when provided';
}
