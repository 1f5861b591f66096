// The parts of a JSON schema that zod would pass over in silence, so that an answer could break them unseen (L53).
import { ANNOTATIONS, BY_NAME, isNode, keywordProblem, LISTS, type SchemaNode, SINGLE } from './schema-keywords.ts';

export type Subschema = { readonly path: string; readonly node: SchemaNode };

/** Keywords that zod reads only beside a `type` that has them. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: 'properties required additionalProperties patternProperties propertyNames minProperties maxProperties'.split(
    ' ',
  ),
  array: 'items prefixItems additionalItems minItems maxItems uniqueItems contains minContains maxContains'.split(' '),
  string: 'minLength maxLength pattern'.split(' '),
  number: 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf'.split(' '),
};

/** Beside a `$ref`, zod reads nothing; these say nothing either. */
const BESIDE_REF = new Set([...ANNOTATIONS, '$ref', '$defs', 'definitions']);

/** What zod finds: the schema itself, and a definition by its name. */
const REFERENCE = /^#(\/(\$defs|definitions)\/[^/]+)?$/;

/** The schema and all within it. `schema` must not be nested without end. */
export function* subschemas(schema: unknown, path = '$'): Generator<Subschema> {
  if (!isNode(schema)) return;
  yield { path, node: schema };
  for (const key of BY_NAME) {
    const named = schema[key];
    if (!isNode(named)) continue;
    for (const [name, inner] of Object.entries(named)) yield* subschemas(inner, `${path}.${key}.${name}`);
  }
  for (const key of [...LISTS, 'items']) {
    const listed = schema[key];
    if (!Array.isArray(listed)) continue;
    for (const [index, inner] of listed.entries()) yield* subschemas(inner, `${path}.${key}[${index}]`);
  }
  for (const key of [...SINGLE, 'items']) yield* subschemas(schema[key], `${path}.${key}`);
}

const problems = [
  keywordProblem,
  typeProblem,
  requiredProblem,
  refProblem,
  valueProblem,
  besideValuesProblem,
  besideProblem,
  countProblem,
] as const;

/** A sentence that says where and what to do, or undefined. */
export function unenforced(schema: unknown): string | undefined {
  for (const { path, node } of subschemas(schema)) {
    const problem = problems.map((problemOf) => problemOf(node)).find((each) => each !== undefined);
    if (problem !== undefined) return `${path} ${problem}`;
  }
  return undefined;
}

function typeProblem(node: SchemaNode): string | undefined {
  const types = [node['type']].flat().map((type) => (type === 'integer' ? 'number' : String(type)));
  for (const [type, keywords] of Object.entries(OF_TYPE)) {
    const keyword = keywords.find((each) => node[each] !== undefined);
    if (keyword !== undefined && !types.includes(type)) return `has ${keyword} without "type": "${type}": add it`;
  }
  return undefined;
}

/** Without it, zod counts nothing. */
function countProblem(node: SchemaNode): string | undefined {
  const counted = ['minItems', 'maxItems'].find((each) => node[each] !== undefined);
  if (counted === undefined || node['items'] !== undefined || node['prefixItems'] !== undefined) return undefined;
  return `has ${counted} without items: add them, {} for any`;
}

function requiredProblem({ required, properties }: SchemaNode): string | undefined {
  if (!Array.isArray(required)) return undefined;
  const missing = required.find((name) => !Object.hasOwn(properties ?? {}, String(name)));
  return missing === undefined
    ? undefined
    : `requires ${JSON.stringify(missing)}, which is not in its properties: add it`;
}

function refProblem(node: SchemaNode): string | undefined {
  const { $ref } = node;
  if (typeof $ref !== 'string') return undefined;
  if (!REFERENCE.test($ref)) return `has the $ref ${JSON.stringify($ref)}: refer to "#" or to "#/$defs/name"`;
  const beside = Object.keys(node).find((key) => !BESIDE_REF.has(key));
  return beside === undefined ? undefined : `has ${beside} beside a $ref: put both in allOf`;
}

/** zod compares with `===`, which is never true of two objects. */
function valueProblem({ const: only, enum: listed }: SchemaNode): string | undefined {
  const instead = 'describe it by its type, with properties and required, or with prefixItems and minItems';
  if (isComposed(only)) return `has an object or a list in const: ${instead}`;
  if (!Array.isArray(listed) || !listed.some(isComposed)) return undefined;
  return `has an object or a list in enum: write anyOf with a schema for each value, and ${instead}`;
}

function isComposed(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** Beside values, zod reads neither their type nor what else is asked of them. */
function besideValuesProblem(node: SchemaNode): string | undefined {
  const { const: only, enum: listed = [only] } = node;
  if (only === undefined && node['enum'] === undefined) return undefined;
  const keyword = Object.values(OF_TYPE)
    .flat()
    .find((each) => node[each] !== undefined);
  if (keyword !== undefined) return `has ${keyword} beside values: leave it out, and keep to the values that will do`;
  const isSame = Array.isArray(listed) && listed.length === 1 && listed[0] === only;
  if (only !== undefined && node['enum'] !== undefined && !isSame)
    return 'has const beside enum: leave one of them out';
  const types = [node['type'] ?? []].flat();
  const stray = [listed].flat().find((value) => types.length > 0 && !types.some((type) => isOfType(value, type)));
  return stray === undefined
    ? undefined
    : `has the value ${JSON.stringify(stray)}, which is not of its type: correct it`;
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return value === null ? type === 'null' : typeof value === type;
}

/** Of some that stand together, zod reads one. */
function besideProblem(node: SchemaNode): string | undefined {
  const [first, second] = ['anyOf', 'oneOf', 'allOf'].filter((each) => node[each] !== undefined);
  const typed = ['type', 'enum', 'const'].some((each) => node[each] !== undefined);
  if (second !== undefined && !typed) return `has ${second} beside ${first}: put both in one allOf`;
  if (isNode(node['additionalProperties']) && node['patternProperties'] !== undefined)
    return 'has a schema in additionalProperties beside patternProperties: give one of them, or "additionalProperties": false';
  return undefined;
}
