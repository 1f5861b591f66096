// Walks the schemas within a JSON schema, and bounds the cost of checking a value by them.

export type SchemaNode = Readonly<Record<string, unknown>>;
type Subschema = { readonly path: string; readonly node: SchemaNode };

const splitWords = (text: string): readonly string[] => text.split(' ');
const BY_NAME = splitWords('properties patternProperties $defs definitions dependentSchemas dependencies');
const LISTS = splitWords('anyOf oneOf allOf prefixItems items');
const SINGLE = splitWords(
  'items additionalItems additionalProperties propertyNames contains not if then else unevaluatedItems unevaluatedProperties',
);

/** Yields the schema and all within it. `schema` must not be nested without end. */
export function* walkSubschemas(schema: unknown, path = '$'): Generator<Subschema> {
  if (!isSchemaNode(schema)) return;
  yield { path, node: schema };
  for (const key of BY_NAME) {
    const named = schema[key];
    if (!isSchemaNode(named)) continue;
    for (const [name, inner] of Object.entries(named)) yield* walkSubschemas(inner, `${path}.${key}.${name}`);
  }
  for (const key of LISTS) {
    const listed = schema[key];
    if (!Array.isArray(listed)) continue;
    for (const [index, inner] of listed.entries()) yield* walkSubschemas(inner, `${path}.${key}[${index}]`);
  }
  for (const key of SINGLE) yield* walkSubschemas(schema[key], `${path}.${key}`);
}

export function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the path of a schema with a reference that leads back to it without going into the value
 * (L53), or undefined. Such a schema says nothing, and checking a value by it never ends. `schema`
 * must not be nested without end.
 */
export function findSchemaLoop(schema: unknown): string | undefined {
  const clear = new Set<unknown>();
  for (const { path, node } of walkSubschemas(schema)) if (leadsBack(node, schema, new Set(), clear)) return path;
  return undefined;
}

function leadsBack(node: unknown, root: unknown, above: ReadonlySet<unknown>, clear: Set<unknown>): boolean {
  if (!isSchemaNode(node) || clear.has(node)) return false;
  if (above.has(node)) return true;
  const within = new Set([...above, node]);
  const found = listSchemasOfSameValue(node, root).some((next) => leadsBack(next, root, within, clear));
  if (!found) clear.add(node);
  return found;
}

/**
 * Returns how many schemas a value is checked against at most, each as often as references lead to
 * it: the check takes that long. `schema` must have no loop, and not be nested without end.
 */
export function measureSchemaCost(schema: unknown): number {
  const known = new Map<unknown, number>();
  const cost = (node: unknown): number => {
    if (!isSchemaNode(node)) return 0;
    const before = known.get(node);
    if (before !== undefined) return before;
    const all = listSchemasOfSameValue(node, schema).reduce<number>((sum, next) => sum + cost(next), 1);
    known.set(node, all);
    return all;
  };
  return [...walkSubschemas(schema)].reduce((most, { node }) => Math.max(most, cost(node)), 0);
}

/**
 * Tells whether more than `most` schemas would be checked for the value and all in it, each as
 * often as others lead to it: definitions that refer to themselves twice for the same field double
 * with each level of a value. `value` must not be nested without end.
 */
export function isCostlierThan(schema: unknown, value: unknown, most: number): boolean {
  /** By schema, then by value: a value that has no parts is like any other. */
  const known = new Map<unknown, Map<unknown, number>>();
  let looked = 0;
  const cost = (node: unknown, at: unknown): number => {
    if (!isSchemaNode(node)) return 0;
    const part = typeof at === 'object' && at !== null ? at : null;
    const ofNode = known.get(node) ?? new Map<unknown, number>();
    known.set(node, ofNode);
    const before = ofNode.get(part);
    if (before !== undefined) return before;
    if ((looked += 1) > most) return Infinity;
    // A loop leads back here.
    ofNode.set(part, Infinity);
    let sum = 1;
    for (const next of listSchemasOfSameValue(node, schema)) sum += cost(next, at);
    for (const [next, child] of part === null ? [] : walkParts(node, part)) {
      if (sum > most) break;
      sum += cost(next, child);
    }
    ofNode.set(part, sum);
    return sum;
  };
  return cost(schema, value) > most;
}

/** Yields the schemas that are about the parts of a value, each with its part. */
function* walkParts(node: SchemaNode, value: object): Generator<readonly [unknown, unknown]> {
  if (Array.isArray(value)) {
    const { prefixItems, items } = node;
    const first: readonly unknown[] = [prefixItems, items].find(Array.isArray) ?? [];
    const others = Array.isArray(items) ? node['additionalItems'] : items;
    for (const [index, item] of value.entries()) {
      yield [index < first.length ? first[index] : others, item];
      yield [node['contains'], item];
      yield [node['unevaluatedItems'], item];
    }
    return;
  }
  const named = isSchemaNode(node['properties']) ? node['properties'] : {};
  for (const [name, field] of Object.entries(value)) {
    yield [Object.hasOwn(named, name) ? named[name] : node['additionalProperties'], field];
    yield [node['propertyNames'], name];
    yield [node['unevaluatedProperties'], field];
  }
}

/** Returns the schemas that are about the same value. */
function listSchemasOfSameValue(node: SchemaNode, root: unknown): readonly unknown[] {
  const listed = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => node[key] ?? []);
  const single = ['not', 'if', 'then', 'else'].map((key) => node[key]);
  const byName = ['dependentSchemas', 'dependencies'].flatMap((key) => Object.values(node[key] ?? {}));
  const references = [node['$ref'], node['$dynamicRef']].map((ref) => resolveReference(ref, root));
  return [...listed, ...single, ...byName, ...references];
}

/**
 * Returns the schema that a reference within the document leads to, undefined for any other
 * reference.
 */
export function resolveReference(ref: unknown, root: unknown): unknown {
  if (typeof ref !== 'string' || !/^(#|$)/.test(ref)) return undefined;
  const named = /^#([^/].*)$/.exec(ref)?.[1];
  if (named !== undefined) {
    return [...walkSubschemas(root)].find(({ node }) => node['$anchor'] === named || node['$dynamicAnchor'] === named)
      ?.node;
  }
  const steps = ref.split('/').slice(1);
  return steps.reduce<unknown>((at, step) => {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as SchemaNode)[key] : undefined;
  }, root);
}
