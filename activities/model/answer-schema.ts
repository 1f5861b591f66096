// Whether a final answer satisfies the run's JSON schema (L53). Compiled by zod, which passes over what it does not understand: a
// schema that would be enforced in part only is refused when the run opens.
import { toUSVString } from 'node:util';
import { z } from 'zod';
import { deeperThan } from '../json.ts';
import { structuredOutput } from '../transcript/view/result.ts';
import { subschemas, unenforced } from './unenforced-schema.ts';
import type { JsonSchema } from '../configuration.ts';

/** What is wrong with the answer, a sentence for the model; undefined for one that will do. */
export type AnswerCheck = (text: string) => string | undefined;

/** Levels of a schema, and of an answer: both are walked by recursion. */
const MAX_DEPTH = 200;

/** Characters. */
const MOST_PROBLEM = 1_000;

/** A sentence when the schema cannot be held to, or undefined. */
export function schemaProblem(schema: JsonSchema | undefined): string | undefined {
  if (schema === undefined) return undefined;
  const say = (why: string): string => `the output schema cannot be used: ${why.slice(0, MOST_PROBLEM)}`;
  if (deeperThan(schema, MAX_DEPTH)) return say(`it is nested more than ${MAX_DEPTH} levels deep`);
  const loose = unenforced(schema);
  if (loose !== undefined) return say(loose);
  const loop = schemaLoop(schema);
  if (loop !== undefined) return say(`${loop} refers to itself and to nothing else: say what the value is`);
  try {
    compiled(schema);
    return undefined;
  } catch (error) {
    // Whatever zod says of a document that is not ours, it is the document that will not do.
    return say(error instanceof Error ? error.message : String(error));
  }
}

/** Compiles each schema once; the same object is the same schema. */
export function answerChecks(): (schema: JsonSchema | null) => AnswerCheck {
  const kept = new WeakMap<JsonSchema, z.ZodType>();
  return (schema) => (text) => {
    if (schema === null) return undefined;
    const checker = kept.get(schema) ?? compiled(schema);
    kept.set(schema, checker);
    return problemOf(checker, text);
  };
}

function compiled(schema: JsonSchema): z.ZodType {
  const own = JSON.parse(JSON.stringify(schema)) as Parameters<typeof z.fromJSONSchema>[0];
  // zod fills a missing property in from its default, and would call an answer without it complete.
  for (const { node } of subschemas(own)) delete (node as { default?: unknown }).default;
  return z.fromJSONSchema(own);
}

function problemOf(checker: z.ZodType, text: string): string | undefined {
  const output = structuredOutput(text);
  if (output.kind === 'none') return `The final answer must be one JSON value, and ${output.problem}`;
  if (deeperThan(output.value, MAX_DEPTH)) return `The final answer is nested more than ${MAX_DEPTH} levels deep`;
  const found = checker.safeParse(output.value);
  if (found.success) return undefined;
  const issues = found.error.issues.flatMap((issue) => sayIssue(issue));
  const sentence = `The final answer does not satisfy the schema: ${issues.join('; ')}`;
  return sentence.length <= MOST_PROBLEM ? sentence : `${toUSVString(sentence.slice(0, MOST_PROBLEM - 2))} …`;
}

type Issue = z.core.$ZodIssue;

/** Of alternatives, what the nearest one lacks: the one with the fewest complaints. */
function sayIssue(issue: Issue, at: readonly PropertyKey[] = []): string[] {
  const path = [...at, ...issue.path];
  if (issue.code === 'invalid_union') {
    const nearest = issue.errors.toSorted((a, b) => a.length - b.length)[0];
    if (nearest && nearest.length > 0) return nearest.flatMap((inner) => sayIssue(inner, path));
  }
  return [`${pathText(path)}: ${issue.message}`];
}

function pathText(path: readonly PropertyKey[]): string {
  return ['$', ...path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))].join('');
}

// A reference that leads back to itself without going into the value (L53): such a schema says nothing, and whoever checks an
// answer by it never comes to an end.

type Node = Readonly<Record<string, unknown>>;

/** Keywords whose schemas are about the same value. */
const SAME_VALUE = ['anyOf', 'oneOf', 'allOf'];

/** The path of a schema on such a loop, or undefined. `schema` must not be nested without end. */
function schemaLoop(schema: unknown): string | undefined {
  const clear = new Set<unknown>();
  for (const { path, node } of subschemas(schema)) if (loops(node, schema, new Set(), clear)) return path;
  return undefined;
}

function loops(node: unknown, root: unknown, above: ReadonlySet<unknown>, clear: Set<unknown>): boolean {
  if (typeof node !== 'object' || node === null || clear.has(node)) return false;
  if (above.has(node)) return true;
  const within = new Set([...above, node]);
  const found = sameValue(node as Node, root).some((next) => loops(next, root, within, clear));
  if (!found) clear.add(node);
  return found;
}

function sameValue(node: Node, root: unknown): readonly unknown[] {
  const listed = SAME_VALUE.flatMap((key) => node[key] ?? []);
  const { $ref, not } = node;
  return [...listed, not, typeof $ref === 'string' && $ref.startsWith('#') ? target($ref, root) : undefined];
}

/** What a JSON pointer leads to; undefined for nothing. */
function target(ref: string, root: unknown): unknown {
  const steps = ref.split('/').slice(1);
  return steps.reduce<unknown>((at, step) => {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Node)[key] : undefined;
  }, root);
}
