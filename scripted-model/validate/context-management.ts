// Checks context editing and compaction at a threshold: which edits, in which order, with which
// header. They are accepted, and do nothing here.
import { extraKeyProblem, firstProblem, isObject, type Json } from './shape.ts';
import { BETAS } from './betas.ts';

const EDITS: Readonly<Record<string, string>> = {
  clear_thinking_20251015: BETAS.contextManagement,
  clear_tool_uses_20250919: BETAS.contextManagement,
  compact_20260112: BETAS.thresholdCompaction,
};
const LEAST_TRIGGER = 50_000;

export function contextManagementProblem(management: unknown, betas: readonly string[]): string | undefined {
  if (management === undefined || management === null) return undefined;
  if (!isObject(management)) return 'context_management: Input should be a valid dictionary';
  const extra = extraKeyProblem(management, new Set(['edits']), 'context_management');
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
