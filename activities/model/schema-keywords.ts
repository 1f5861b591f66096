// Every keyword of a JSON schema that is read, by what it has to hold (L53). zod passes over any other, and over one that holds
// something else: a slip in a letter would leave the answer unchecked.
export type SchemaNode = Readonly<Record<string, unknown>>;

export const BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions'];
export const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
export const SINGLE = ['additionalItems', 'additionalProperties', 'propertyNames', 'contains', 'not'];

/** They say nothing of the answer, or what another keyword beside them says. */
export const ANNOTATIONS =
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
export function keywordProblem(node: SchemaNode): string | undefined {
  for (const [keyword, value] of Object.entries(node)) {
    if (EXTENSION.test(keyword)) continue;
    const shape = known.get(keyword);
    if (shape === undefined) return `has ${JSON.stringify(keyword)}, which is not enforced: correct it or leave it out`;
    if (!shape.fits(value)) return `has ${keyword} that does not hold ${shape.is}: give one`;
  }
  return undefined;
}

export function isNode(value: unknown): value is SchemaNode {
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
