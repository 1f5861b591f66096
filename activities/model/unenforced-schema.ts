// Every keyword of a JSON schema that is read, by what it has to hold (L53). zod passes over any other, and over one that holds
// something else: a slip in a letter would leave the answer unchecked.
type SchemaNode = Readonly<Record<string, unknown>>;

const BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SINGLE = ['additionalItems', 'additionalProperties', 'propertyNames', 'contains', 'not'];

/** They say nothing of the answer, or what another keyword beside them says. */
const ANNOTATIONS =
  '$schema $id id $anchor $comment title description markdownDescription default example examples deprecated readOnly writeOnly discriminator externalDocs xml contentEncoding contentMediaType'.split(
    ' ',
  );
/** Of a vendor. */
const EXTENSION = /^x-/;

type Shape = { readonly is: string; readonly fits: (value: unknown) => boolean; readonly keywords: readonly string[] };

const shapes: readonly Shape[] = [
  { is: 'anything', fits: () => true, keywords: ANNOTATIONS },
  { is: 'an object with a schema for each name', fits: isByName, keywords: BY_NAME },
  { is: 'a list of schemas', fits: isList, keywords: LISTS },
  { is: 'a schema', fits: isSchema, keywords: SINGLE },
  { is: 'a schema or a list of schemas', fits: (value) => isSchema(value) || isList(value), keywords: ['items'] },
  { is: 'a type or a list of types', fits: isTypes, keywords: ['type'] },
  { is: 'a list of names', fits: (value) => Array.isArray(value) && value.every(isText), keywords: ['required'] },
  { is: 'a list', fits: Array.isArray, keywords: ['enum'] },
  { is: 'a value', fits: () => true, keywords: ['const'] },
  { is: 'a text', fits: isText, keywords: ['$ref', 'pattern', 'format'] },
  { is: 'true or false', fits: isFlag, keywords: ['uniqueItems'] },
  {
    is: 'a number',
    fits: isNumber,
    keywords:
      'minProperties maxProperties minItems maxItems minContains maxContains minLength maxLength minimum maximum multipleOf'.split(
        ' ',
      ),
  },
  {
    is: 'a number',
    fits: (value) => isNumber(value) || isFlag(value),
    keywords: ['exclusiveMinimum', 'exclusiveMaximum'],
  },
];

const known = new Map(shapes.flatMap((shape) => shape.keywords.map((keyword) => [keyword, shape] as const)));

/** What is to be said after the place, or undefined. */
function keywordProblem(node: SchemaNode): string | undefined {
  for (const [keyword, value] of Object.entries(node)) {
    if (EXTENSION.test(keyword)) continue;
    const shape = known.get(keyword);
    if (shape === undefined) return `has ${JSON.stringify(keyword)}, which is not enforced: correct it or leave it out`;
    if (!shape.fits(value)) return `has ${keyword} that does not hold ${shape.is}: give one`;
  }
  return undefined;
}

function isNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): boolean {
  return isFlag(value) || isNode(value);
}

function isByName(value: unknown): boolean {
  return isNode(value) && Object.values(value).every(isSchema);
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isSchema);
}

function isTypes(value: unknown): boolean {
  const types: readonly unknown[] = Array.isArray(value) ? value : [value];
  return types.length > 0 && types.every((type) => isText(type) && type !== '');
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isFlag(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

// The parts of a JSON schema that zod would pass over in silence, so that an answer could break them unseen (L53).

type Subschema = { readonly path: string; readonly node: SchemaNode };

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
