// Mends an input that misses its schema only by how a value is written: a list or a number as a
// JSON text, null for a field that is absent. A value is mended where the schema leaves no doubt of
// what is meant.
import { fieldsOf, foldBranches, jsonTypeOf, typesOf } from './fold-branches.ts';
import type { JsonSchema } from './json-schema.ts';
import { isSchemaNode, resolveReference, type SchemaNode } from './subschemas.ts';

/**
 * Returns the input as it was meant, as far as that is certain, and the same value where nothing
 * is.
 */
export function mendInput(schema: JsonSchema, input: unknown): unknown {
  return mendValue(schema, input, foldBranches(schema), 0);
}

/** Levels of an input that are mended. */
const DEEPEST_MENDED = 20;

function mendValue(root: JsonSchema, value: unknown, node: unknown, depth: number): unknown {
  const schema = isSchemaNode(node) && typeof node['$ref'] === 'string' ? resolveReference(node['$ref'], root) : node;
  if (!isSchemaNode(schema) || depth > DEEPEST_MENDED) return value;
  const types = typesOf(schema, root, 0);
  const meant =
    typeof value === 'string' && types !== null && !types.has('string') ? parseMeantValue(value, types) : value;
  if (Array.isArray(meant)) {
    const items = meant.map((item) => mendValue(root, item, schema['items'], depth + 1));
    return items.every((item, at) => item === meant[at]) ? meant : items;
  }
  return isSchemaNode(meant) ? mendObject(root, meant, schema, depth) : meant;
}

function mendObject(root: JsonSchema, value: SchemaNode, schema: SchemaNode, depth: number): SchemaNode {
  const { properties, required } = fieldsOf(schema, root);
  let isSame = true;
  const entries = Object.entries(value).flatMap(([name, given]) => {
    const [said, ...others] = properties.get(name) ?? [];
    if (said === undefined || others.length > 0) return [[name, given] as const];
    if (given === null && !required.has(name) && typesOf(said, root, 0)?.has('null') === false) {
      isSame = false;
      return [];
    }
    const meant = mendValue(root, given, said, depth + 1);
    isSame &&= meant === given;
    return [[name, meant] as const];
  });
  return isSame ? value : Object.fromEntries(entries);
}

/** Returns the value that a text encodes as JSON when it has one of these types, else the text. */
function parseMeantValue(text: string, types: ReadonlySet<string>): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  // A number that would be written differently is another number.
  if (typeof value === 'number' && String(value) !== text.trim()) return text;
  const type = jsonTypeOf(value);
  const isMeant = types.has(type) || (type === 'number' && types.has('integer') && Number.isSafeInteger(value));
  return isMeant && value !== null ? value : text;
}
