// Checks cache_control as the API does: at most four, and of a known kind. The check of its block
// says where it may stand.
import { isObject, type Json } from './shape.ts';

const MOST = 4;

/**
 * Checks the breakpoints. It runs before the messages are known to be well formed, and passes over
 * malformed ones.
 */
export function breakpointsProblem(request: Json): string | undefined {
  const found: Json[] = [];
  const collect = (holder: unknown): void => {
    if (isObject(holder) && holder['cache_control'] !== undefined && holder['cache_control'] !== null)
      found.push(holder);
  };
  for (const tool of toList(request['tools'])) collect(tool);
  for (const block of toList(request['system'])) collect(block);
  for (const message of toList(request['messages'])) {
    for (const block of toList(isObject(message) ? message['content'] : undefined)) {
      collect(block);
      for (const part of toList(isObject(block) ? block['content'] : undefined)) collect(part);
    }
  }
  collect(request);
  if (found.length > MOST) {
    return `A maximum of ${MOST} blocks with cache_control may be provided. Found ${found.length}.`;
  }
  return kindProblem(found) ?? orderProblem(found);
}

function kindProblem(found: readonly Json[]): string | undefined {
  for (const { cache_control: control } of found) {
    if (!isObject(control)) return 'cache_control: Input should be a valid dictionary';
    if (control['type'] !== 'ephemeral') return "cache_control.type: Input should be 'ephemeral'";
    const ttl = control['ttl'];
    if (ttl !== undefined && ttl !== '5m' && ttl !== '1h')
      return "cache_control.ephemeral.ttl: Input should be '5m' or '1h'";
  }
  return undefined;
}

function orderProblem(found: readonly Json[]): string | undefined {
  const long = found.map((holder) => (holder['cache_control'] as Json)['ttl'] === '1h');
  const short = long.indexOf(false);
  if (short < 0 || !long.includes(true, short)) return undefined;
  return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.";
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
