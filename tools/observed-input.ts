// Copies a call's input for observers (L18), perhaps enriched by the tool. The stored input, which
// the API gets, is never touched, and an observer that changes its copy changes nothing else.
import { checkInput } from '../system/schema/input-schema.ts';
import type { Tool } from './tool.ts';

/**
 * Returns JSON. Never throws: where the tool fails, or the input does not fit it, returns a copy of
 * the input itself.
 */
export function copyForObservers(tool: Tool | undefined, input: unknown): unknown {
  return enrichInput(tool, input) ?? copyJson(input) ?? null;
}

function enrichInput(tool: Tool | undefined, input: unknown): unknown {
  if (tool?.backfillObservableInput === undefined) return undefined;
  try {
    const checked = checkInput(tool.inputSchema, structuredClone(input));
    return checked.ok ? copyJson(tool.backfillObservableInput(checked.value)) : undefined;
  } catch {
    // This is the tool's own code: whatever it throws, its call goes on, and observers see the
    // plain input.
    return undefined;
  }
}

/** Returns undefined for a value that is not JSON, or too deep to be walked. */
function copyJson(value: unknown): unknown {
  try {
    const json = JSON.stringify(value) as string | undefined;
    return json === undefined ? undefined : (JSON.parse(json) as unknown);
  } catch {
    return undefined;
  }
}
