// The schema of an input as a model may be shown it: the API takes an object whose fields stand at
// its top, and no alternatives there. What the branches say of fields is folded into the top, and
// which fields go together is said in words; inputs are held to the schema as it was.
import type { JsonSchema } from './json-schema.ts';
import { isNode, referenced, type SchemaNode } from './subschemas.ts';

const BRANCHES = ['allOf', 'anyOf', 'oneOf'] as const;
/** Branches within branches, and references that are followed. */
const DEEPEST_BRANCH = 8;
/** Branches that are told apart in words. */
const MOST_TOLD = 12;

/** What is said of each field, by all that say something of it. */
type Fields = {
  readonly properties: ReadonlyMap<string, ReadonlySet<unknown>>;
  readonly required: ReadonlySet<string>;
};

const folded = remembered<JsonSchema>();

/** The same schema where it has no branches at its top, or is not about objects alone. */
export function foldBranches(schema: JsonSchema): JsonSchema {
  return folded(schema, schema, 0, () => fold(schema));
}

function fold(schema: JsonSchema): JsonSchema {
  const types = typesOf(schema, schema, 0);
  const isObject = types?.size === 1 && types.has('object');
  if (!isObject || !BRANCHES.some((key) => schema[key] !== undefined)) return schema;
  const { allOf: _all, anyOf: _any, oneOf: _one, ...top } = schema;
  const { properties, required } = fieldsOf(schema, schema);
  const all = [...properties].map(([name, said]) => [name, said.length === 1 ? said[0] : { anyOf: said }] as const);
  const words = [top['description'], ...alternatives(schema)].filter((text) => typeof text === 'string');
  return {
    ...top,
    type: 'object',
    properties: Object.fromEntries(all),
    ...(required.size > 0 ? { required: [...required] } : {}),
    ...(words.length > 0 && { description: words.join(' ') }),
  };
}

type ToldFields = {
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  readonly required: ReadonlySet<string>;
};

const told = remembered<ToldFields>();

/**
 * Fields of an object with those of all its branches; needed are those that it needs in any case.
 * The same is said of a field once.
 */
export function fieldsOf(node: unknown, root: JsonSchema): ToldFields {
  return told(root, node, 0, () => {
    const { properties, required } = collected(node, root, 0);
    return { properties: new Map([...properties].map(([name, said]) => [name, distinct(said)])), required };
  });
}

function distinct(said: ReadonlySet<unknown>): readonly unknown[] {
  if (said.size === 1) return [...said];
  return [...new Map([...said].toReversed().map((each) => [JSON.stringify(each), each])).values()].toReversed();
}

const found = remembered<Fields>();

function collected(node: unknown, root: JsonSchema, depth: number): Fields {
  if (!isNode(node) || depth > DEEPEST_BRANCH) return NONE;
  return found(root, node, depth, () => {
    const own: Fields = {
      properties: new Map(
        Object.entries(isNode(node['properties']) ? node['properties'] : {}).map(([name, said]) => [
          name,
          new Set([said]),
        ]),
      ),
      required: new Set(textsIn(node['required'])),
    };
    const within = (each: unknown): Fields => collected(each, root, depth + 1);
    const ref = typeof node['$ref'] === 'string' ? [referenced(node['$ref'], root)] : [];
    const all = [...listIn(node['allOf']), ...ref].map(within);
    const some = [node['anyOf'], node['oneOf']].map((list) => listIn(list).map(within));
    return both([own, ...all, ...some.filter(({ length }) => length > 0).map(either)]);
  });
}

const NONE: Fields = { properties: new Map(), required: new Set() };

function both(parts: readonly Fields[]): Fields {
  return { properties: joined(parts), required: new Set(parts.flatMap(({ required }) => [...required])) };
}

function either(branches: readonly Fields[]): Fields {
  const [first = NONE, ...rest] = branches;
  const required = [...first.required].filter((name) => rest.every((branch) => branch.required.has(name)));
  return { properties: joined(branches), required: new Set(required) };
}

/** What only one says is not copied: most branches share most of their fields. */
function joined(branches: readonly Fields[]): ReadonlyMap<string, ReadonlySet<unknown>> {
  const all = new Map<string, ReadonlySet<unknown>>();
  const own = new Map<string, Set<unknown>>();
  for (const { properties } of new Set(branches)) {
    for (const [name, said] of properties) {
      const known = all.get(name);
      if (known === undefined) all.set(name, said);
      else if (known !== said) {
        const more = own.get(name) ?? new Set(known);
        said.forEach((each) => more.add(each));
        own.set(name, more);
        all.set(name, more);
      }
    }
  }
  return all;
}

function alternatives(schema: JsonSchema): readonly string[] {
  return (['oneOf', 'anyOf'] as const).flatMap((key) => {
    const branches = listIn(schema[key]).map((branch) => [...collected(branch, schema, 1).required]);
    const named = branches.filter(({ length }) => length > 0).map((names) => names.join(' and '));
    if (named.length < 2 || named.length > MOST_TOLD) return [];
    return [`${key === 'oneOf' ? 'Give exactly one of' : 'Give at least one of'}: ${named.join('; ')}.`];
  });
}

const typed = remembered<ReadonlySet<string> | null>();

/** The types that a value may have; null where the schema does not say. */
export function typesOf(node: unknown, root: JsonSchema, depth: number): ReadonlySet<string> | null {
  if (!isNode(node) || depth > DEEPEST_BRANCH) return null;
  return typed(root, node, depth, () => findTypes(node, root, depth));
}

function findTypes(node: SchemaNode, root: JsonSchema, depth: number): ReadonlySet<string> | null {
  if (typeof node['$ref'] === 'string') return typesOf(referenced(node['$ref'], root), root, depth + 1);
  const { type } = node;
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(textsIn(type));
  const values = 'const' in node ? [node['const']] : listIn(node['enum']);
  if (values.length > 0) return new Set(values.map(typeOf));
  const together = listIn(node['allOf']).map((each) => typesOf(each, root, depth + 1));
  const named = together.find((each) => each !== null);
  if (named) return named;
  const branches = [...listIn(node['anyOf']), ...listIn(node['oneOf'])].map((each) => typesOf(each, root, depth + 1));
  if (branches.length === 0 || branches.includes(null)) return null;
  return new Set(branches.flatMap((each) => [...(each ?? [])]));
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);
const textsIn = (value: unknown): readonly string[] => listIn(value).filter((each) => typeof each === 'string');

// What was found out about a part of a schema, kept as long as the schema: a hostile one leads to
// the same part by so many ways that walking each would never end, and an input asks once for each
// of its parts.

/** Asks `find` once for each schema, part and depth. Parts that are no objects are not kept. */
function remembered<Found>(): (root: object, part: unknown, depth: number, find: () => Found) => Found {
  const known = new WeakMap<object, WeakMap<object, Map<number, Found>>>();
  return (root, part, depth, find) => {
    if (typeof part !== 'object' || part === null) return find();
    const ofRoot = known.get(root) ?? new WeakMap<object, Map<number, Found>>();
    known.set(root, ofRoot);
    const ofPart = ofRoot.get(part) ?? new Map<number, Found>();
    ofRoot.set(part, ofPart);
    if (!ofPart.has(depth)) ofPart.set(depth, find());
    return ofPart.get(depth) as Found;
  };
}
