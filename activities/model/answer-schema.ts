// Checks whether a final answer satisfies the run's JSON schema (L53).
import { toUSVString } from 'node:util';
import type { ValidateFunction } from 'ajv';
import { isDeeperThan } from '../../system/json.ts';
import {
  compileSchema,
  DEEPEST_SCHEMA,
  type JsonSchema,
  LONGEST_PROBLEM,
  formatErrors,
} from '../../system/schema/json-schema.ts';
import { parseStructuredOutput } from '../../store/view/result.ts';

/**
 * Returns a sentence for the model that says why the answer fails; undefined for one that passes.
 */
export type AnswerCheck = (text: string) => string | undefined;

/** Compiles each schema once; the same object is the same schema. */
export function answerChecks(): (schema: JsonSchema | null) => AnswerCheck {
  const validators = new WeakMap<JsonSchema, ValidateFunction>();
  return (schema) => (text) => {
    if (schema === null) return undefined;
    const validate = validators.get(schema) ?? compileSchema(schema);
    validators.set(schema, validate);
    return answerProblem(validate, text);
  };
}

function answerProblem(validate: ValidateFunction, text: string): string | undefined {
  const output = parseStructuredOutput(text);
  if (output.kind === 'none') return `The final answer must be one JSON value, and ${output.problem}`;
  if (isDeeperThan(output.value, DEEPEST_SCHEMA))
    return `The final answer is nested more than ${DEEPEST_SCHEMA} levels deep`;
  if (validate(output.value)) return undefined;
  const sentence = `The final answer does not satisfy the schema: ${formatErrors(validate.errors, output.value)}`;
  return sentence.length <= LONGEST_PROBLEM ? sentence : `${toUSVString(sentence.slice(0, LONGEST_PROBLEM - 2))} …`;
}
