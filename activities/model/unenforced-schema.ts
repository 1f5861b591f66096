// The parts of a JSON schema that zod would pass over in silence, so that an answer could break them unseen (L53).
type Node = Readonly<Record<string, unknown>>;

export type Subschema = { readonly path: string; readonly node: Node };

/** Keywords by what they hold: schemas by name, lists of schemas, one schema. */
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions'];
const LISTED = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items'];
const SINGLE = ['items', 'additionalItems', 'additionalProperties', 'propertyNames', 'contains', 'not'];

/** Keywords that zod reads only beside a `type` that has them. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: 'properties required additionalProperties patternProperties propertyNames minProperties maxProperties'.split(
    ' ',
  ),
  array: 'items prefixItems additionalItems minItems maxItems uniqueItems contains'.split(' '),
  string: 'minLength maxLength pattern'.split(' '),
  number: 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf'.split(' '),
};

/** Beside a `$ref`, zod reads nothing; these say nothing either. */
const BESIDE_REF = new Set('$ref $schema $id $comment $defs definitions title description default examples'.split(' '));

/** The schema and all within it. `schema` must not be nested without end. */
export function* subschemas(schema: unknown, path = '$'): Generator<Subschema> {
  if (!isNode(schema)) return;
  yield { path, node: schema };
  for (const key of NAMED) {
    const named = schema[key];
    if (!isNode(named)) continue;
    for (const [name, inner] of Object.entries(named)) yield* subschemas(inner, `${path}.${key}.${name}`);
  }
  for (const key of LISTED) {
    const listed = schema[key];
    if (!Array.isArray(listed)) continue;
    for (const [index, inner] of listed.entries()) yield* subschemas(inner, `${path}.${key}[${index}]`);
  }
  for (const key of SINGLE) yield* subschemas(schema[key], `${path}.${key}`);
}

/** A sentence that says where and what to do, or undefined. */
export function unenforced(schema: unknown): string | undefined {
  for (const { path, node } of subschemas(schema)) {
    const problem = typeProblem(node) ?? requiredProblem(node) ?? refProblem(node);
    if (problem !== undefined) return `${path} ${problem}`;
  }
  return undefined;
}

function typeProblem(node: Node): string | undefined {
  const types = [node['type']].flat().map((type) => (type === 'integer' ? 'number' : String(type)));
  for (const [type, keywords] of Object.entries(OF_TYPE)) {
    const keyword = keywords.find((each) => node[each] !== undefined);
    if (keyword !== undefined && !types.includes(type)) return `has ${keyword} without "type": "${type}": add it`;
  }
  return undefined;
}

function requiredProblem({ required, properties }: Node): string | undefined {
  if (properties !== undefined && !isNode(properties))
    return 'has properties that are no object: name each with a schema';
  if (required === undefined) return undefined;
  if (!Array.isArray(required)) return 'has required that is no list: give a list of names';
  const missing = required.find((name) => typeof name !== 'string' || !Object.hasOwn(properties ?? {}, name));
  return missing === undefined
    ? undefined
    : `requires ${JSON.stringify(missing)}, which is not in its properties: add it`;
}

function refProblem(node: Node): string | undefined {
  if (node['$ref'] === undefined) return undefined;
  const beside = Object.keys(node).find((key) => !BESIDE_REF.has(key));
  return beside === undefined ? undefined : `has ${beside} beside a $ref: put both in allOf`;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
