// An input that misses its schema by how a value is written: a list or a number as a JSON text,
// null for a field that is absent. It is taken where the schema leaves no doubt of what is meant.
import { fieldsOf, foldBranches, typeOf, typesOf } from './fold-branches.ts';
import type { JsonSchema } from './json-schema.ts';
import { isNode, referenced, type SchemaNode } from './subschemas.ts';

/** The input as it was meant, as far as that is certain: the same value where nothing is. */
export function mendInput(schema: JsonSchema, input: unknown): unknown {
  return mended(schema, input, foldBranches(schema), 0);
}

/** Levels of an input that are looked into. */
const DEEPEST_MENDED = 20;

function mended(root: JsonSchema, value: unknown, node: unknown, depth: number): unknown {
  const schema = isNode(node) && typeof node['$ref'] === 'string' ? referenced(node['$ref'], root) : node;
  if (!isNode(schema) || depth > DEEPEST_MENDED) return value;
  const types = typesOf(schema, root, 0);
  const meant = typeof value === 'string' && types !== null && !types.has('string') ? fromText(value, types) : value;
  if (Array.isArray(meant)) {
    const items = meant.map((item) => mended(root, item, schema['items'], depth + 1));
    return items.every((item, at) => item === meant[at]) ? meant : items;
  }
  return isNode(meant) ? mendedObject(root, meant, schema, depth) : meant;
}

function mendedObject(root: JsonSchema, value: SchemaNode, schema: SchemaNode, depth: number): SchemaNode {
  const { properties, required } = fieldsOf(schema, root);
  let isSame = true;
  const entries = Object.entries(value).flatMap(([name, given]) => {
    const [said, ...others] = properties.get(name) ?? [];
    if (said === undefined || others.length > 0) return [[name, given] as const];
    if (given === null && !required.has(name) && typesOf(said, root, 0)?.has('null') === false) {
      isSame = false;
      return [];
    }
    const meant = mended(root, given, said, depth + 1);
    isSame &&= meant === given;
    return [[name, meant] as const];
  });
  return isSame ? value : Object.fromEntries(entries);
}

/** The value that a text says as JSON, where it is of one of these types; else the text. */
function fromText(text: string, types: ReadonlySet<string>): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  // A number that would not be written so again is another one.
  if (typeof value === 'number' && String(value) !== text.trim()) return text;
  const type = typeOf(value);
  const isMeant = types.has(type) || (type === 'number' && types.has('integer') && Number.isSafeInteger(value));
  return isMeant && value !== null ? value : text;
}
