// Translates between our names of tools and those that the model sees (L89), which may be the ones
// that existing programs and prompts use. The store, rules, views and recovery use our names: only
// a request on its way out and a reply on its way in are translated.
import type { Tool, ToolUseBlock } from '@anthropic-ai/sdk/resources/messages';
import type { FieldNames, SentNames, ToolNames } from '../configuration.ts';
import { isBrokenInput } from '../../system/json.ts';
import { joinQuestions } from './question-lists.ts';

/**
 * Returns the names to send, also for tools that are not offered now. `own` lists the existing
 * tools: one that has such a name already keeps it. Undefined when all tools go by our names.
 */
export function namesToSend(
  names: ToolNames | undefined,
  own: readonly { readonly name: string }[],
): SentNames | undefined {
  if (names === undefined) return undefined;
  const used = new Set(own.map(({ name }) => name));
  const sent = Object.entries(names).flatMap(([name, { name: other }]) => (used.has(other) ? [] : [[name, other]]));
  return sent.length === 0 ? undefined : (Object.fromEntries(sent) as SentNames);
}

export function renameTool(tool: Tool, sent: SentNames): Tool {
  const { description } = tool;
  return {
    ...tool,
    name: nameToSend(sent, tool.name),
    ...(description !== undefined && { description: inSentNames(description, sent) }),
  };
}

export function nameToSend(sent: SentNames | undefined, name: string): string {
  return (sent && ownEntry(sent, name)) ?? name;
}

/** Translates the names of tools in backticks within a text of ours. */
export function inSentNames(text: string, sent: SentNames | undefined): string {
  return sent ? text.replaceAll(/`([a-z_]+)`/g, (_, name: string) => `\`${nameToSend(sent, name)}\``) : text;
}

/**
 * Translates a call to our names, whichever the model used. `isOwn` tells whether a tool has this
 * very name.
 */
export function inOwnNames(
  names: ToolNames | undefined,
  block: ToolUseBlock,
  isOwn: (name: string) => boolean,
): ToolUseBlock {
  if (names === undefined) return block;
  const name = isOwn(block.name) ? block.name : ownName(names, block.name);
  const input = isBrokenInput(block.input) ? block.input : inwardInput(names, name, block.input);
  return name === block.name && input === block.input ? block : { ...block, name, input };
}

/** Returns the input of the tool `name` with our names of its fields. */
export function inwardInput(names: ToolNames, name: string, input: unknown): unknown {
  const { fields, ignored, questions } = ownEntry(names, name) ?? {};
  if (fields === undefined && ignored === undefined && questions === undefined) return input;
  const normalized = questions === undefined ? input : withOneQuestion(input, questions);
  return inwardFields(normalized, fields ?? {}, ignored);
}

/** The tool's own question goes before a list of them. */
function withOneQuestion(input: unknown, field: string): unknown {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, field)) return input;
  const { [field]: list, ...own } = input as Fields;
  if (Object.hasOwn(own, 'question')) return own;
  const joined = joinQuestions(list);
  return joined === null ? input : { ...own, ...joined };
}

export function ownName(names: ToolNames, name: string): string {
  const found = Object.entries(names).find(([, { name: other, also = [] }]) => other === name || also.includes(name));
  return found?.[0] ?? name;
}

/** Renames fields of an input, and the words in them that have another name; others stay. */
export function outwardFields(value: unknown, fields: FieldNames): unknown {
  return eachObject(value, (object) =>
    Object.entries(object).map(([key, inner]) => {
      const field = fieldOf(fields, key);
      return [field.name, outwardValue(inner, field)];
    }),
  );
}

function outwardValue(value: unknown, { fields, values }: Field): unknown {
  if (values && typeof value === 'string') return ownEntry(values, value) ?? value;
  return fields ? outwardFields(value, fields) : value;
}

/** Prefers a field under our name to the same one under another. */
function inwardFields(value: unknown, fields: FieldNames, ignored: readonly string[] = []): unknown {
  const ownNames = new Map(
    Object.keys(fields).flatMap((key) => {
      const { name, also = [] } = fieldOf(fields, key);
      return [name, ...also].map((alias) => [alias, key] as const);
    }),
  );
  return eachObject(value, (object) =>
    Object.entries(object).flatMap(([key, inner]): [string, unknown][] => {
      const own = ownNames.get(key) ?? key;
      if (ignored.includes(key) || (own !== key && Object.hasOwn(object, own))) return [];
      return [[own, inwardValue(inner, fieldOf(fields, own))]];
    }),
  );
}

function inwardValue(value: unknown, { fields, values, ignored }: Field): unknown {
  if (values && typeof value === 'string')
    return Object.entries(values).find(([, alias]) => alias === value)?.[0] ?? value;
  return fields ? inwardFields(value, fields, ignored) : value;
}

type Field = Exclude<FieldNames[string], string>;

function fieldOf(fields: FieldNames, key: string): Field {
  const field = ownEntry(fields, key) ?? key;
  return typeof field === 'string' ? { name: field } : field;
}

type Fields = Readonly<Record<string, unknown>>;

/** Changes an object, or each object of a list. */
function eachObject(value: unknown, changed: (object: Fields) => readonly (readonly [string, unknown])[]): unknown {
  if (Array.isArray(value)) return value.map((each) => eachObject(each, changed));
  return typeof value === 'object' && value !== null ? Object.fromEntries(changed(value as Fields)) : value;
}

function ownEntry<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
