// A reference that leads back to itself without going into the value (L53): such a schema says nothing, and whoever checks an
// answer by it never comes to an end.
import { subschemas } from './unenforced-schema.ts';

type Node = Readonly<Record<string, unknown>>;

/** Keywords whose schemas are about the same value. */
const SAME_VALUE = ['anyOf', 'oneOf', 'allOf'];

/** The path of a schema on such a loop, or undefined. `schema` must not be nested without end. */
export function schemaLoop(schema: unknown): string | undefined {
  const clear = new Set<unknown>();
  for (const { path, node } of subschemas(schema)) if (loops(node, schema, new Set(), clear)) return path;
  return undefined;
}

function loops(node: unknown, root: unknown, above: ReadonlySet<unknown>, clear: Set<unknown>): boolean {
  if (typeof node !== 'object' || node === null || clear.has(node)) return false;
  if (above.has(node)) return true;
  const within = new Set([...above, node]);
  const found = sameValue(node as Node, root).some((next) => loops(next, root, within, clear));
  if (!found) clear.add(node);
  return found;
}

function sameValue(node: Node, root: unknown): readonly unknown[] {
  const listed = SAME_VALUE.flatMap((key) => node[key] ?? []);
  const { $ref, not } = node;
  return [...listed, not, typeof $ref === 'string' && $ref.startsWith('#') ? target($ref, root) : undefined];
}

/** What a JSON pointer leads to; undefined for nothing. */
function target(ref: string, root: unknown): unknown {
  const steps = ref.split('/').slice(1);
  return steps.reduce<unknown>((at, step) => {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Node)[key] : undefined;
  }, root);
}
