// A call's input as observers see it (L18): a copy that the tool may have enriched. The stored
// input, which the API gets, is never touched, and an observer that changes what it got changes
// only its copy.
import { checkInput } from '../system/schema/input-schema.ts';
import type { Tool } from './tool.ts';

/**
 * JSON. Never throws: where the tool fails, or the input does not fit it, a copy of the input
 * itself.
 */
export function copyForObservers(tool: Tool | undefined, input: unknown): unknown {
  return enriched(tool, input) ?? copy(input) ?? null;
}

function enriched(tool: Tool | undefined, input: unknown): unknown {
  if (tool?.backfillObservableInput === undefined) return undefined;
  try {
    const checked = checkInput(tool.inputSchema, structuredClone(input));
    return checked.ok ? copy(tool.backfillObservableInput(checked.value)) : undefined;
  } catch {
    // The tool's own code: whatever it throws, its call goes on, and observers see the plain input.
    return undefined;
  }
}

/** Undefined for what is no JSON, or too deep to be walked. */
function copy(value: unknown): unknown {
  try {
    const json = JSON.stringify(value) as string | undefined;
    return json === undefined ? undefined : (JSON.parse(json) as unknown);
  } catch {
    return undefined;
  }
}
