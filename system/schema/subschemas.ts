// The schemas within a JSON schema, and references among them that lead back to themselves.

export type SchemaNode = Readonly<Record<string, unknown>>;
type Subschema = { readonly path: string; readonly node: SchemaNode };

const words = (text: string): readonly string[] => text.split(' ');
const BY_NAME = words('properties patternProperties $defs definitions dependentSchemas dependencies');
const LISTS = words('anyOf oneOf allOf prefixItems items');
const SINGLE = words(
  'items additionalItems additionalProperties propertyNames contains not if then else unevaluatedItems unevaluatedProperties',
);

/** The schema and all within it. `schema` must not be nested without end. */
export function* subschemas(schema: unknown, path = '$'): Generator<Subschema> {
  if (!isNode(schema)) return;
  yield { path, node: schema };
  for (const key of BY_NAME) {
    const named = schema[key];
    if (!isNode(named)) continue;
    for (const [name, inner] of Object.entries(named)) yield* subschemas(inner, `${path}.${key}.${name}`);
  }
  for (const key of LISTS) {
    const listed = schema[key];
    if (!Array.isArray(listed)) continue;
    for (const [index, inner] of listed.entries()) yield* subschemas(inner, `${path}.${key}[${index}]`);
  }
  for (const key of SINGLE) yield* subschemas(schema[key], `${path}.${key}`);
}

export function isNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The path of a schema with a reference that leads back to it without going into the value (L53),
 * or undefined. Such a schema says nothing, and whoever checks an answer by it never comes to an
 * end. `schema` must not be nested without end.
 */
export function schemaLoop(schema: unknown): string | undefined {
  const clear = new Set<unknown>();
  for (const { path, node } of subschemas(schema)) if (loops(node, schema, new Set(), clear)) return path;
  return undefined;
}

function loops(node: unknown, root: unknown, above: ReadonlySet<unknown>, clear: Set<unknown>): boolean {
  if (!isNode(node) || clear.has(node)) return false;
  if (above.has(node)) return true;
  const within = new Set([...above, node]);
  const found = sameValue(node, root).some((next) => loops(next, root, within, clear));
  if (!found) clear.add(node);
  return found;
}

/**
 * How many schemas a value is held to at most, each as often as references lead to it: so long
 * takes whoever checks one. `schema` must have no loop, and not be nested without end.
 */
export function schemaCost(schema: unknown): number {
  const known = new Map<unknown, number>();
  const cost = (node: unknown): number => {
    if (!isNode(node)) return 0;
    const before = known.get(node);
    if (before !== undefined) return before;
    const all = sameValue(node, schema).reduce<number>((sum, next) => sum + cost(next), 1);
    known.set(node, all);
    return all;
  };
  return [...subschemas(schema)].reduce((most, { node }) => Math.max(most, cost(node)), 0);
}

/**
 * Whether more than `most` schemas would be held to the value and what is in it, each as often as
 * others lead to it: definitions that refer to themselves twice for the same field double with each
 * level of a value. `value` must not be nested without end.
 */
export function costsMore(schema: unknown, value: unknown, most: number): boolean {
  /** By schema, then by value: a value that has no parts is like any other. */
  const known = new Map<unknown, Map<unknown, number>>();
  let looked = 0;
  const cost = (node: unknown, at: unknown): number => {
    if (!isNode(node)) return 0;
    const part = typeof at === 'object' && at !== null ? at : null;
    const ofNode = known.get(node) ?? new Map<unknown, number>();
    known.set(node, ofNode);
    const before = ofNode.get(part);
    if (before !== undefined) return before;
    if ((looked += 1) > most) return Infinity;
    // A loop leads back here.
    ofNode.set(part, Infinity);
    let sum = 1;
    for (const next of sameValue(node, schema)) sum += cost(next, at);
    for (const [next, child] of part === null ? [] : ofParts(node, part)) {
      if (sum > most) break;
      sum += cost(next, child);
    }
    ofNode.set(part, sum);
    return sum;
  };
  return cost(schema, value) > most;
}

/** Schemas that are about the parts of a value, with the part. */
function* ofParts(node: SchemaNode, value: object): Generator<readonly [unknown, unknown]> {
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
  const named = isNode(node['properties']) ? node['properties'] : {};
  for (const [name, field] of Object.entries(value)) {
    yield [Object.hasOwn(named, name) ? named[name] : node['additionalProperties'], field];
    yield [node['propertyNames'], name];
    yield [node['unevaluatedProperties'], field];
  }
}

/** Schemas that are about the same value. */
function sameValue(node: SchemaNode, root: unknown): readonly unknown[] {
  const listed = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => node[key] ?? []);
  const single = ['not', 'if', 'then', 'else'].map((key) => node[key]);
  const byName = ['dependentSchemas', 'dependencies'].flatMap((key) => Object.values(node[key] ?? {}));
  const references = [node['$ref'], node['$dynamicRef']].map((ref) => referenced(ref, root));
  return [...listed, ...single, ...byName, ...references];
}

/** The schema that a reference within the document leads to; undefined for any other. */
export function referenced(ref: unknown, root: unknown): unknown {
  if (typeof ref !== 'string' || !/^(#|$)/.test(ref)) return undefined;
  const named = /^#([^/].*)$/.exec(ref)?.[1];
  if (named !== undefined) {
    return [...subschemas(root)].find(({ node }) => node['$anchor'] === named || node['$dynamicAnchor'] === named)
      ?.node;
  }
  const steps = ref.split('/').slice(1);
  return steps.reduce<unknown>((at, step) => {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as SchemaNode)[key] : undefined;
  }, root);
}
