// Folds the branches of an input schema into its top, for the model: the API takes an object whose
// fields stand at its top, without alternatives there. The description says which fields go
// together; inputs are still checked against the original schema.
import { present } from '../../workflows/contract/present.ts';
import type { JsonSchema } from './json-schema.ts';
import { isSchemaNode, resolveReference, type SchemaNode } from './subschemas.ts';

const BRANCHES = ['allOf', 'anyOf', 'oneOf'] as const;
/** Levels of branches within branches, and of references, that are followed. */
const DEEPEST_BRANCH = 8;
/** More branches than these are not described in words. */
const MOST_DESCRIBED = 12;

/** All schemas that apply to each field. */
type FieldSets = {
  readonly properties: ReadonlyMap<string, ReadonlySet<unknown>>;
  readonly required: ReadonlySet<string>;
};

const foldedSchemas = createSchemaCache<JsonSchema>();

/** Returns the same schema when it has no branches at its top, or is not about objects alone. */
export function foldBranches(schema: JsonSchema): JsonSchema {
  return foldedSchemas(schema, schema, 0, () => foldIntoTop(schema));
}

function foldIntoTop(schema: JsonSchema): JsonSchema {
  const types = typesOf(schema, schema, 0);
  const isObject = types?.size === 1 && types.has('object');
  if (!isObject || !BRANCHES.some((key) => schema[key] !== undefined)) return schema;
  const { allOf: _all, anyOf: _any, oneOf: _one, ...top } = schema;
  const { properties, required } = fieldsOf(schema, schema);
  const all = [...properties].map(
    ([name, schemas]) => [name, schemas.length === 1 ? schemas[0] : { anyOf: schemas }] as const,
  );
  const words = [top['description'], ...describeAlternatives(schema)].filter((text) => typeof text === 'string');
  return {
    ...top,
    type: 'object',
    properties: Object.fromEntries(all),
    ...present({
      required: required.size > 0 ? [...required] : undefined,
      description: words.length > 0 ? words.join(' ') : undefined,
    }),
  };
}

type FieldSchemas = {
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  readonly required: ReadonlySet<string>;
};

const distinctFields = createSchemaCache<FieldSchemas>();

/**
 * Returns the fields of an object with those of all its branches, each schema of a field once.
 * `required` are those that it needs in any case.
 */
export function fieldsOf(node: unknown, root: JsonSchema): FieldSchemas {
  return distinctFields(root, node, 0, () => {
    const { properties, required } = collectFields(node, root, 0);
    return { properties: new Map([...properties].map(([name, schemas]) => [name, listDistinct(schemas)])), required };
  });
}

function listDistinct(schemas: ReadonlySet<unknown>): readonly unknown[] {
  if (schemas.size === 1) return [...schemas];
  return [...new Map([...schemas].toReversed().map((each) => [JSON.stringify(each), each])).values()].toReversed();
}

const collectedFields = createSchemaCache<FieldSets>();

function collectFields(node: unknown, root: JsonSchema, depth: number): FieldSets {
  if (!isSchemaNode(node) || depth > DEEPEST_BRANCH) return NONE;
  return collectedFields(root, node, depth, () => {
    const own: FieldSets = {
      properties: new Map(
        Object.entries(isSchemaNode(node['properties']) ? node['properties'] : {}).map(([name, schema]) => [
          name,
          new Set([schema]),
        ]),
      ),
      required: new Set(textsIn(node['required'])),
    };
    const within = (each: unknown): FieldSets => collectFields(each, root, depth + 1);
    const ref = typeof node['$ref'] === 'string' ? [resolveReference(node['$ref'], root)] : [];
    const all = [...listIn(node['allOf']), ...ref].map(within);
    const some = [node['anyOf'], node['oneOf']].map((list) => listIn(list).map(within));
    return combineAll([own, ...all, ...some.filter(({ length }) => length > 0).map(combineAlternatives)]);
  });
}

const NONE: FieldSets = { properties: new Map(), required: new Set() };

function combineAll(parts: readonly FieldSets[]): FieldSets {
  return { properties: mergeProperties(parts), required: new Set(parts.flatMap(({ required }) => [...required])) };
}

function combineAlternatives(branches: readonly FieldSets[]): FieldSets {
  const [first = NONE, ...rest] = branches;
  const required = [...first.required].filter((name) => rest.every((branch) => branch.required.has(name)));
  return { properties: mergeProperties(branches), required: new Set(required) };
}

/** A set that only one branch has is not copied: most branches share most of their fields. */
function mergeProperties(branches: readonly FieldSets[]): ReadonlyMap<string, ReadonlySet<unknown>> {
  const all = new Map<string, ReadonlySet<unknown>>();
  const own = new Map<string, Set<unknown>>();
  for (const { properties } of new Set(branches)) {
    for (const [name, schemas] of properties) {
      const known = all.get(name);
      if (known === undefined) all.set(name, schemas);
      else if (known !== schemas) {
        const more = own.get(name) ?? new Set(known);
        schemas.forEach((each) => more.add(each));
        own.set(name, more);
        all.set(name, more);
      }
    }
  }
  return all;
}

function describeAlternatives(schema: JsonSchema): readonly string[] {
  return (['oneOf', 'anyOf'] as const).flatMap((key) => {
    const branches = listIn(schema[key]).map((branch) => [...collectFields(branch, schema, 1).required]);
    const named = branches.filter(({ length }) => length > 0).map((names) => names.join(' and '));
    if (named.length < 2 || named.length > MOST_DESCRIBED) return [];
    return [`${key === 'oneOf' ? 'Give exactly one of' : 'Give at least one of'}: ${named.join('; ')}.`];
  });
}

const foundTypes = createSchemaCache<ReadonlySet<string> | null>();

/** Returns the types that a value may have; null where the schema does not say. */
export function typesOf(node: unknown, root: JsonSchema, depth: number): ReadonlySet<string> | null {
  if (!isSchemaNode(node) || depth > DEEPEST_BRANCH) return null;
  return foundTypes(root, node, depth, () => findTypes(node, root, depth));
}

function findTypes(node: SchemaNode, root: JsonSchema, depth: number): ReadonlySet<string> | null {
  if (typeof node['$ref'] === 'string') return typesOf(resolveReference(node['$ref'], root), root, depth + 1);
  const { type } = node;
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(textsIn(type));
  const values = 'const' in node ? [node['const']] : listIn(node['enum']);
  if (values.length > 0) return new Set(values.map(jsonTypeOf));
  const together = listIn(node['allOf']).map((each) => typesOf(each, root, depth + 1));
  const named = together.find((each) => each !== null);
  if (named) return named;
  const branches = [...listIn(node['anyOf']), ...listIn(node['oneOf'])].map((each) => typesOf(each, root, depth + 1));
  if (branches.length === 0 || branches.includes(null)) return null;
  return new Set(branches.flatMap((each) => [...(each ?? [])]));
}

export function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);
const textsIn = (value: unknown): readonly string[] => listIn(value).filter((each) => typeof each === 'string');

/**
 * Caches findings about parts of a schema for as long as the schema lives: a hostile schema leads
 * to the same part by so many ways that walking each would never end, and an input asks once for
 * each of its parts. Parts that are not objects are not cached.
 */
function createSchemaCache<Found>(): (root: object, part: unknown, depth: number, find: () => Found) => Found {
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
